//! What a gateway does with the sessions that an earlier one left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use holdstead_agents::{Agent, AgentSide, Driver, DriverCapabilities, Launch, Reasks, StartError, TurnEnds};
use holdstead_core::{Command, Confirmed, Listener, Message, Output, Respond, Together};
use holdstead_gateway::{Gateway, GatewayConfig};
use holdstead_protocol::api::{self, SendMessage};
use holdstead_protocol::{
    AgentState, Capabilities, MessageId, SessionId, SessionOpened, Surface, TextDelta, TurnId, UserMessage,
};
use holdstead_store::faulty::{Broken, Call, FaultyJournal};
use holdstead_store::{Journal, SqliteJournal};
use tokio::sync::{Semaphore, mpsc};

use crate::actor::{Stage, TestClock};
use crate::world::{PATIENCE, ada, answer, config, opening, owner, respond};

/// Agents that take their time to start.
#[derive(Debug)]
struct SlowDriver {
    /// How many may go on.
    go_on: Arc<Semaphore>,
    starting: Arc<AtomicUsize>,
    lives: mpsc::UnboundedSender<(Launch, AgentSide)>,
}

#[async_trait]
impl Driver for SlowDriver {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: true, reasks: Reasks::Any, ends: TurnEnds::Told }
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        self.starting.fetch_add(1, Ordering::SeqCst);
        self.go_on.acquire().await.unwrap().forget();
        self.starting.fetch_sub(1, Ordering::SeqCst);
        let (agent, side) = Agent::in_process();
        // The test may be over.
        drop(self.lives.send((launch, side)));
        Ok(agent)
    }
}

struct Slow {
    gateway: Gateway,
    go_on: Arc<Semaphore>,
    starting: Arc<AtomicUsize>,
    lives: mpsc::UnboundedReceiver<(Launch, AgentSide)>,
}

impl Slow {
    async fn on(journal: &Arc<dyn Journal>) -> Self {
        let (go_on, starting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (sender, lives) = mpsc::unbounded_channel();
        let driver = SlowDriver { go_on: Arc::clone(&go_on), starting: Arc::clone(&starting), lives: sender };
        let config = config(GatewayConfig::DEFAULT_HOLD);
        let gateway = Gateway::start(Arc::clone(journal), vec![Arc::new(driver)], config).await.unwrap();
        Self { gateway, go_on, starting, lives }
    }

    /// How many are on their way when nothing else happens any more.
    async fn starting(&self) -> usize {
        // Time is paused: it moves on when everybody waits.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        self.starting.load(Ordering::SeqCst)
    }
}

async fn memory() -> Arc<dyn Journal> {
    let clock = Arc::new(TestClock::new());
    Arc::new(SqliteJournal::open_with_clock("sqlite::memory:", clock).await.unwrap())
}

/// A session whose message waits for an agent, left by a gateway that is gone.
async fn left_behind(journal: &Arc<dyn Journal>) -> SessionId {
    let session = SessionId::generate(&owner("ada"));
    let message = UserMessage {
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
        text: "go".to_owned(),
        from: "Ada".to_owned(),
        actor: None,
    };
    let opened = SessionOpened::new(owner("ada"), "slow");
    for command in [
        Command::Open(Box::new(opened)),
        Command::Message(Box::new(Message { said: message, listener: Listener::Here })),
    ] {
        journal.append(session, command).await.unwrap();
    }
    session
}

#[tokio::test(start_paused = true)]
async fn agents_are_started_a_few_at_a_time_and_whoever_acts_does_not_wait_for_them() {
    let journal = memory().await;
    let mut last = left_behind(&journal).await;
    for _ in 1..150 {
        last = left_behind(&journal).await;
    }
    let mut gateway = Slow::on(&journal).await;
    assert_eq!(gateway.starting().await, 16);
    // Somebody speaks in the last one, which was far from its turn.
    gateway.gateway.message(&ada(), last, SendMessage::new("hurry")).await.unwrap();
    assert_eq!(gateway.starting().await, 17);
    // One after the other, all are taken up.
    gateway.go_on.add_permits(150);
    let mut lives = Vec::new();
    for _ in 0..150 {
        lives.push(tokio::time::timeout(PATIENCE, gateway.lives.recv()).await.unwrap().unwrap());
    }
    assert_eq!(gateway.starting().await, 0);
    drop(lives);
    gateway.gateway.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_session_that_cannot_be_read_keeps_no_gateway_from_starting() {
    let journal = memory().await;
    let before = Slow::on(&journal).await;
    let asked = crate::callers::ask_secretly(&before.gateway).await;
    respond(&before.gateway, &asked.request, answer(serde_json::json!({ "pin": "4711-x" }))).await.unwrap();
    before.gateway.stop().await;
    let spoiled = Arc::new(AtomicBool::new(true));
    let spoils = Arc::clone(&spoiled);
    let unreadable: Arc<dyn Journal> = Arc::new(FaultyJournal::new(Arc::clone(&journal), move |call| {
        (spoils.load(Ordering::SeqCst) && call == Call::Read("ask")).then_some(Broken::Unreadable)
    }));
    let after = Slow::on(&unreadable).await;
    assert_eq!(journal.secrets().await.unwrap().len(), 1, "a secret that may be needed is kept");
    let session = after.gateway.open_session(&ada(), opening("slow")).await.unwrap();
    assert_eq!(session.state, AgentState::Idle);
    spoiled.store(false, Ordering::SeqCst);
    let found = after.gateway.interaction(&owner("ada"), asked.request.interaction_id).await.unwrap();
    let fetched = after.gateway.fetched(found).await.unwrap();
    let given = serde_json::to_string(&fetched.response).unwrap();
    assert!(given.contains("4711-x"), "{given}");
    after.gateway.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_erasure_that_was_cut_off_goes_on() {
    let journal = memory().await;
    let session = left_behind(&journal).await;
    let words = (0..1_000).map(|_| {
        let (turn_id, message_id) = (TurnId::generate(), MessageId::generate());
        Output::Text(TextDelta { turn_id, message_id, text: "word".to_owned(), parents: Vec::new() })
    });
    journal.append(session, Command::Record(words.collect())).await.unwrap();
    journal.append(session, Command::End { name: "Ada".to_owned() }).await.unwrap();
    let begun = async {
        while journal.session(session).await.unwrap().unwrap().erased.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        erased = journal.erase(session, "Ada") => panic!("{erased:?} at once"),
        () = begun => {}
    }
    assert_eq!(journal.unfinished(None, 10).await.unwrap().len(), 1);
    let after = Slow::on(&journal).await;
    assert_eq!(after.starting().await, 0, "there is no agent to start");
    assert_eq!(journal.unfinished(None, 10).await.unwrap(), []);
    after.gateway.stop().await;
}

/// PostgreSQL may finish what a gateway that was killed had sent it when the next one has looked at what is left.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_written_behind_our_back_is_told_when_it_is_given_again() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.exits(false).await;
    talk.status(AgentState::Detached).await;
    let given = api::Respond {
        prompt_id: ask.prompt_id,
        idempotency_key: "once".to_owned(),
        response: answer(serde_json::json!({ "store": "SQLite" })),
    };
    let written = Command::Respond(Box::new(Respond {
        interaction_id: ask.interaction_id,
        prompt_id: given.prompt_id,
        idempotency_key: given.idempotency_key.clone(),
        response: given.response.clone(),
        secrets_mac: None,
        name: "Ada".to_owned(),
        surface: Surface::Api,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    }));
    stage.gateway.journal().append(talk.session, written).await.unwrap();
    assert!(stage.nothing_was_started());
    stage.gateway.respond(&ada(), ask.interaction_id, given).await.unwrap();
    let mut actor = stage.life().await;
    actor.asks("call_1").await;
    actor.is_told("call_1").await;
    actor.ends_turn().await;
    talk.completed().await;
}
