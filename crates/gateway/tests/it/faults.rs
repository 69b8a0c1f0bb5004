//! The store fails at any one call, or whoever speaks for the session is gone there, and the session goes on by itself.
//!
//! Each story is played again and again: the first time it happens at its first call of the store, then at its second,
//! until a story ends before its fault comes. The agent and the person are played; the person repeats what was not taken, as
//! every client does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_agents::{AgentEvent, Outgoing, Reasks, Resolution, TurnEnd};
use holdstead_core::is_unfinished;
use holdstead_gateway::{
    Dialled, Gateway, GatewayConfig, GatewayError, Interaction, InteractionError, Runner, Tool, ToolCall,
    ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody,
};
use holdstead_protocol::api::{Respond, SendMessage};
use holdstead_protocol::{
    AgentState, AskState, Delivery, EventBody, Hold, HoldThen, InteractionId, ResponseDraft, RunnerId, Seq,
    SessionId, StopReason, ToolCallId,
};
use holdstead_store::faulty::{Broken, Call, FaultyJournal};
use holdstead_store::{AskFilter, AskQuery, Journal, SqliteJournal};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::actor::{Actor, ActorDriver, TestClock, approval, question};
use crate::runners::wires;
use crate::world::{PATIENCE, Talk, ada, answer, approve, config, deny, opening, owner};

/// At which calls of the store something happens, and what.
#[derive(Debug, Clone, Copy)]
struct Faults {
    first: usize,
    count: usize,
    how: Fault,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The store fails.
    Store(Broken),
    /// The gateway speaks for nobody any more, in the middle of it. Another one takes its place; agents go on.
    HandsOver,
    /// Another gateway takes its place, and this one does not know: both speak.
    SpeaksOn,
    /// The agent runs on another machine, whose connection is cut. It dials again.
    Cut,
    /// The same, and it dials another gateway. The first one stays, and does not speak for it any more.
    DialsAnother,
}

impl Fault {
    fn runs_afar(self) -> bool {
        matches!(self, Self::Cut | Self::DialsAnother)
    }
}

/// Which gateway speaks for sessions.
#[derive(Debug, Default)]
struct Speaking {
    now: Mutex<Option<Gateway>>,
    over: tokio::sync::Notify,
}

impl Speaking {
    fn hand_over(&self, how: Fault) {
        let spoke = self.now.lock().unwrap().take();
        if let Some(gateway) = spoke {
            match how {
                Fault::HandsOver => gateway.stop_speaking(),
                Fault::Cut => *self.now.lock().unwrap() = Some(gateway),
                Fault::Store(_) | Fault::SpeaksOn | Fault::DialsAnother => {}
            }
            self.over.notify_one();
        }
    }
}

/// Dials whichever gateway there is, again and again.
async fn dial(
    runner: Arc<Runner>,
    journal: Arc<dyn Journal>,
    speaking: Arc<Speaking>,
    gateway: Arc<tokio::sync::RwLock<Gateway>>,
) {
    loop {
        if speaking.now.lock().unwrap().is_none() {
            let mut gateway = gateway.write().await;
            *gateway = Play::host(&journal, &nobody_here()).await;
            *speaking.now.lock().unwrap() = Some(gateway.clone());
        }
        let to = speaking.now.lock().unwrap().clone().expect("a gateway");
        let (ours, theirs) = wires();
        let hosting = tokio::spawn(async move { to.host_runner(elsewhere(), theirs).await });
        tokio::select! {
            ended = runner.attend(uuid::Uuid::nil(), "http://gateway", ours, |_| {}) => {
                panic!("{ended}: {}", hosting.await.expect("it ends with its connection"));
            }
            () = speaking.over.notified() => {}
        }
        hosting.await.expect("it ends with its connection");
    }
}

fn elsewhere() -> Dialled {
    let id = RunnerId::from_uuid(uuid::Uuid::from_u128(7));
    Dialled { id, name: "elsewhere".to_owned(), owner: owner("ada") }
}

/// What a gateway knows of agents that it does not run.
fn nobody_here() -> Arc<Runner> {
    Arc::new(Runner::new(vec![Arc::new(ActorDriver::new(Reasks::Any).0)]))
}

struct Play {
    /// Locked while another takes its place.
    gateway: Arc<tokio::sync::RwLock<Gateway>>,
    /// The same journal, without faults: for what the test itself wants to know.
    sound: Arc<dyn Journal>,
    faulty: Arc<dyn Journal>,
    calls: Arc<AtomicUsize>,
    lives: mpsc::UnboundedReceiver<(holdstead_agents::Launch, holdstead_agents::AgentSide)>,
    reasks: Reasks,
    session: SessionId,
    /// Makes one gateway speak for the session.
    going_on: JoinHandle<()>,
}

impl Play {
    /// A session whose agent was given its first message. Unlike on the usual stage, time passes by itself when nothing
    /// happens.
    async fn begin(faults: Faults, reasks: Reasks) -> (Self, Actor) {
        let clock = Arc::new(TestClock::new());
        let sound: Arc<dyn Journal> =
            Arc::new(SqliteJournal::open_with_clock("sqlite::memory:", clock).await.unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let speaking = Arc::new(Speaking::default());
        let told = Arc::clone(&speaking);
        let plan = move |call| {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            let fails = (faults.first..faults.first + faults.count).contains(&number);
            match (fails, faults.how, call) {
                (false, _, _) => None,
                (true, Fault::Store(how), Call::Append) => Some(how),
                (true, Fault::Store(_), Call::Read(_)) => Some(Broken::Before),
                (true, Fault::HandsOver | Fault::SpeaksOn | Fault::Cut | Fault::DialsAnother, _) => {
                    told.hand_over(faults.how);
                    None
                }
            }
        };
        let faulty: Arc<dyn Journal> = Arc::new(FaultyJournal::new(Arc::clone(&sound), plan));
        let (driver, lives) = ActorDriver::new(reasks);
        let runner = Arc::new(Runner::new(vec![Arc::new(driver)]));
        let gateway = match faults.how.runs_afar() {
            true => Self::host(&faulty, &nobody_here()).await,
            false => Self::host(&faulty, &runner).await,
        };
        *speaking.now.lock().unwrap() = Some(gateway.clone());
        let shared = Arc::new(tokio::sync::RwLock::new(gateway.clone()));
        let going_on = (Arc::clone(&faulty), speaking, Arc::clone(&shared));
        let going_on = match faults.how.runs_afar() {
            true => tokio::spawn(dial(runner, going_on.0, going_on.1, going_on.2)),
            false => tokio::spawn(take_over(going_on.0, runner, going_on.1, going_on.2)),
        };
        let runner = faults.how.runs_afar().then(|| elsewhere().name);
        let open = holdstead_protocol::api::OpenSession { runner, ..opening("actor") };
        let session =
            persist(async || shared.read().await.open_session(&ada(), open.clone()).await).await.session_id;
        let mut play = Self { gateway: shared, sound, faulty, calls, lives, reasks, session, going_on };
        play.say("go").await;
        let mut actor = play.life().await;
        assert_eq!(actor.hears().await, Outgoing::Message { text: "go".to_owned() });
        (play, actor)
    }

    async fn host(journal: &Arc<dyn Journal>, runner: &Arc<Runner>) -> Gateway {
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Echo)];
        let config = GatewayConfig { tools, ..config(GatewayConfig::DEFAULT_HOLD) };
        Gateway::start_with(Arc::clone(journal), Arc::clone(runner), config).await.unwrap()
    }

    /// Another gateway takes over, and starts agents of its own.
    async fn restart(&mut self) {
        let mut gateway = self.gateway.write().await;
        gateway.stop().await;
        let (driver, lives) = ActorDriver::new(self.reasks);
        *gateway = Self::host(&self.faulty, &Arc::new(Runner::new(vec![Arc::new(driver)]))).await;
        self.lives = lives;
    }

    async fn say(&self, text: &str) {
        let message = SendMessage::new(text);
        persist(async || {
            self.gateway.read().await.message(&ada(), self.session, message.clone()).await.map(drop)
        })
        .await;
    }

    async fn life(&mut self) -> Actor {
        let next = tokio::time::timeout(PATIENCE, self.lives.recv()).await;
        let (launch, side) = next.expect("a process is started").unwrap();
        let actor = Actor { launch, side };
        // A start whose record failed is dropped, and tried again.
        if actor.side.events.send(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await.is_err() {
            return Box::pin(self.life()).await;
        }
        // Its first word is taken when its start is on record.
        let events = actor.side.events.clone();
        let is_settled =
            async || (events.is_closed() || events.capacity() == events.max_capacity()).then_some(());
        until("its first word is heard", is_settled).await;
        if events.is_closed() { Box::pin(self.life()).await } else { actor }
    }

    /// The open ask of this call.
    async fn ask(&self, call: &str) -> holdstead_store::AskRecord {
        let query = AskQuery {
            owner: owner("ada"),
            session: Some(self.session),
            only: AskFilter::Live,
            after: None,
            limit: 100,
        };
        let of_call = |ask: &holdstead_store::AskRecord| {
            ask.request.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call)
        };
        until("the ask is shown", async || {
            self.sound.asks(query.clone()).await.unwrap().into_iter().find(of_call)
        })
        .await
    }

    async fn respond(&self, call: &str, response: ResponseDraft) -> InteractionId {
        let ask = self.ask(call).await;
        let body = Respond { prompt_id: ask.ask.prompt_id, idempotency_key: call.to_owned(), response };
        persist(async || self.gateway.read().await.respond(&ada(), ask.id, body.clone()).await).await;
        ask.id
    }

    async fn comes_to(&self, ask: InteractionId, wanted: Delivery) {
        until("the delivery is recorded", async || {
            let record = self.sound.ask(ask).await.unwrap().unwrap();
            (record.ask.delivery.as_ref() == Some(&wanted)).then_some(())
        })
        .await;
    }

    async fn agent_is(&self, wanted: holdstead_protocol::AgentState) {
        until("the agent's state is recorded", async || {
            (self.sound.session(self.session).await.unwrap().unwrap().state.agent == wanted).then_some(())
        })
        .await;
    }

    /// What was said in the session, in order, without words about the store.
    async fn words(&self) -> Vec<String> {
        let events = self.sound.read(self.session, Seq(0), 100_000).await.unwrap();
        let texts = events.into_iter().filter_map(|event| match event.body {
            EventBody::TextDelta(delta) => Some(delta.text),
            EventBody::ToolResult(result) => Some(result.output.to_string()),
            EventBody::Error(error) => panic!("a short fault is not worth words: {error:?}"),
            _ => None,
        });
        texts.collect()
    }

    /// The session is over, with nothing left to do. Says whether the fault came.
    async fn end(self, faults: Faults, actor: Actor) -> bool {
        persist(async || self.gateway.read().await.end(&ada(), self.session).await).await;
        tokio::time::timeout(PATIENCE, actor.side.kill.notified()).await.expect("the agent is ended");
        actor.exits(false).await;
        until("nothing is unfinished", async || {
            let record = self.sound.session(self.session).await.unwrap().unwrap();
            (!is_unfinished(&record.state)).then_some(())
        })
        .await;
        // A connection that ends with its gateway is none that was lost.
        self.going_on.abort();
        self.gateway.read().await.stop().await;
        self.calls.load(Ordering::SeqCst) > faults.first
    }
}

/// What nobody speaks for any more is spoken for by the next gateway, with the same agents.
async fn take_over(
    journal: Arc<dyn Journal>,
    runner: Arc<Runner>,
    speaking: Arc<Speaking>,
    gateway: Arc<tokio::sync::RwLock<Gateway>>,
) {
    loop {
        speaking.over.notified().await;
        let mut gateway = gateway.write().await;
        *gateway = Play::host(&journal, &runner).await;
        *speaking.now.lock().unwrap() = Some(gateway.clone());
    }
}

/// Repeats what failed for want of the store, as a client does.
async fn persist<T>(mut call: impl AsyncFnMut() -> Result<T, GatewayError>) -> T {
    for _ in 0..100 {
        match call().await {
            Ok(value) => return value,
            Err(GatewayError::Store(_) | GatewayError::UnknownRunner { .. } | GatewayError::Runner(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the store stays away");
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..2_000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// A tool that gives back what a person says, in this process or in another.
#[derive(Debug)]
struct Echo;

#[async_trait]
impl Tool for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn description(&self) -> &str {
        "Asks"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let holdstead_protocol::AskBody::Question { questions } = question("x").body else { unreachable!() };
        context.request_durable(Interaction::questions(questions), input, None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::Complete(json!(response.response)))
    }
}

fn echo(session: SessionId, call: &str) -> ToolCall {
    ToolCall {
        owner: owner("ada"),
        session,
        turn: None,
        tool_call_id: ToolCallId::new(call).unwrap(),
        name: "echo".to_owned(),
        input: json!({}),
        when_nobody: WhenNobody::Wait,
    }
}

/// A caller that was refused calls again, with the same id. Nothing, when the gateway goes away.
async fn call_echo(gateway: Gateway, session: SessionId, call: &str) -> Option<Value> {
    for _ in 0..100 {
        match gateway.call_tool(echo(session, call)).await {
            Ok(made) => return Some(made),
            Err(InteractionError::Gateway(GatewayError::Closing)) => return None,
            Err(InteractionError::Gateway(GatewayError::Store(_))) => {}
            Err(error) => panic!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the store stays away");
}

fn text(words: &str) -> AgentEvent {
    AgentEvent::Text { text: words.to_owned(), parents: Vec::new() }
}

fn result(call: &str, output: &str) -> AgentEvent {
    AgentEvent::ToolResult { tool_call_id: id(call), output: json!(output), is_error: false }
}

fn id(call: &str) -> ToolCallId {
    ToolCallId::new(call).unwrap()
}

async fn asks(actor: &Actor, ask: holdstead_agents::Ask) {
    actor.says(AgentEvent::Ask(Box::new(ask))).await;
}

async fn is_told(actor: &mut Actor, call: &str) -> Resolution {
    let told = actor.is_told(call).await;
    actor.says(AgentEvent::Acknowledged { tool_call_id: id(call) }).await;
    told
}

/// Open, answer, deliver, acknowledge; park, answer, resume; queue, late answer; withdraw; end.
async fn life_of_an_ask(faults: Faults) -> bool {
    let (mut play, mut actor) = Play::begin(faults, Reasks::Any).await;
    actor.says(text("one")).await;
    actor.says(AgentEvent::MessageEnd).await;
    asks(&actor, question("call_1")).await;
    let first = play.respond("call_1", answer(json!({ "store": "SQLite" }))).await;
    assert!(matches!(is_told(&mut actor, "call_1").await, Resolution::Settled { .. }));
    actor.says(result("call_1", "two")).await;
    play.comes_to(first, Delivery::Acknowledged).await;

    let hold = Some(Hold { after_ms: 1_000, then: HoldThen::Park });
    asks(&actor, holdstead_agents::Ask { hold, ..approval("call_2", "ls") }).await;
    play.ask("call_2").await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: id("call_2") });
    actor.exits(true).await;
    play.agent_is(holdstead_protocol::AgentState::Parked).await;
    let second = play.respond("call_2", approve()).await;
    let mut actor = play.life().await;
    asks(&actor, approval("call_2", "ls")).await;
    assert!(matches!(is_told(&mut actor, "call_2").await, Resolution::Settled { .. }));
    actor.says(result("call_2", "three")).await;
    play.comes_to(second, Delivery::Acknowledged).await;

    let hold = Some(Hold { after_ms: 1_000, then: HoldThen::Defer });
    asks(&actor, holdstead_agents::Ask { hold, ..question("call_3") }).await;
    assert!(matches!(actor.is_told("call_3").await, Resolution::Queued { .. }));
    asks(&actor, approval("call_4", "rm")).await;
    let withdrawn = play.ask("call_4").await;
    actor.says(AgentEvent::AskWithdrawn { tool_call_id: id("call_4") }).await;
    until("the ask is withdrawn", async || {
        matches!(play.sound.ask(withdrawn.id).await.unwrap().unwrap().ask.state, AskState::Closed { .. })
            .then_some(())
    })
    .await;
    actor.ends_turn().await;
    play.respond("call_3", answer(json!({ "store": "PostgreSQL" }))).await;
    let late = "Late answer to your question:\n> Where do the orders go?\nPostgreSQL".to_owned();
    assert_eq!(actor.hears().await, Outgoing::Message { text: late });
    actor.says(text("four")).await;
    actor.ends_turn().await;
    play.agent_is(holdstead_protocol::AgentState::Idle).await;
    assert_eq!(play.words().await, ["one", "\"two\"", "\"three\"", "four"]);
    assert!(actor.hears_nothing());
    play.end(faults, actor).await
}

/// A turn is stopped; another one is kept from ending by a rule; a message comes while nobody listens.
async fn turns_that_are_stopped(faults: Faults) -> bool {
    let (play, mut actor) = Play::begin(faults, Reasks::Any).await;
    actor.says(text("one")).await;
    asks(&actor, question("call_1")).await;
    play.ask("call_1").await;
    persist(async || play.gateway.read().await.interrupt(&ada(), play.session).await).await;
    assert_eq!(actor.hears().await, Outgoing::Interrupt);
    play.say("again").await;
    actor.says(AgentEvent::TurnDone { reason: StopReason::Interrupted, usage: None }).await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "again".to_owned() });
    actor.says(text("two")).await;
    actor.says(AgentEvent::TurnEnding).await;
    assert_eq!(actor.hears().await, Outgoing::TurnEnd(TurnEnd::Ends));
    actor.ends_turn().await;
    play.agent_is(holdstead_protocol::AgentState::Idle).await;
    assert_eq!(play.words().await, ["one", "two"]);
    assert!(actor.hears_nothing());
    play.end(faults, actor).await
}

/// An agent that forgets its calls is told in words; a tool's ask is answered while its caller waits, and after a
/// restart when nobody does.
async fn losses_and_tools(faults: Faults) -> bool {
    let (mut play, actor) = Play::begin(faults, Reasks::Parked).await;
    asks(&actor, question("call_1")).await;
    asks(&actor, approval("call_2", "ls")).await;
    play.ask("call_1").await;
    play.ask("call_2").await;
    actor.exits(false).await;
    play.agent_is(holdstead_protocol::AgentState::Detached).await;
    let first = play.respond("call_1", answer(json!({ "store": "SQLite" }))).await;
    let second = play.respond("call_2", deny("not here")).await;
    let mut actor = play.life().await;
    let Outgoing::Message { text: words } = actor.hears().await else { panic!("words") };
    assert!(words.contains("SQLite") && words.contains("not here"), "{words}");
    actor.says(text("one")).await;
    play.comes_to(first, Delivery::Acknowledged).await;
    play.comes_to(second, Delivery::Acknowledged).await;
    actor.ends_turn().await;
    play.agent_is(holdstead_protocol::AgentState::Idle).await;

    actor.exits(false).await;
    until("the process is gone", async || {
        play.sound.session(play.session).await.unwrap().unwrap().state.alive.is_none().then_some(())
    })
    .await;
    let calling = tokio::spawn(call_echo(play.gateway.read().await.clone(), play.session, "tool_1"));
    play.respond("tool_1", answer(json!({ "store": "SQLite" }))).await;
    let made = tokio::time::timeout(PATIENCE, calling).await.expect("the tool goes on").unwrap();
    let made = made.expect("the gateway is there");
    assert!(made.to_string().contains("SQLite"), "{made}");

    let calling = tokio::spawn(call_echo(play.gateway.read().await.clone(), play.session, "tool_2"));
    play.ask("tool_2").await;
    play.gateway.read().await.stop().await;
    calling.await.unwrap();
    play.restart().await;
    let ask = play.respond("tool_2", answer(json!({ "store": "SQLite" }))).await;
    until("the tool goes on", async || {
        let record = play.sound.ask(ask).await.unwrap().unwrap();
        matches!(record.ask.state, AskState::Settled { .. }).then_some(())
    })
    .await;
    play.say("again").await;
    let mut actor = play.life().await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "again".to_owned() });
    actor.ends_turn().await;
    play.agent_is(holdstead_protocol::AgentState::Idle).await;
    play.end(faults, actor).await
}

#[tokio::test(start_paused = true)]
async fn a_long_absence_of_the_store_is_told_once() {
    let (play, mut actor) = Play::begin(NEVER, Reasks::Any).await;
    asks(&actor, question("call_1")).await;
    play.respond("call_1", answer(json!({ "store": "SQLite" }))).await;
    actor.is_told("call_1").await;
    play.calls.store(AWAY, Ordering::SeqCst);
    actor.says(AgentEvent::Acknowledged { tool_call_id: id("call_1") }).await;
    actor.says(text("one")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    play.calls.store(0, Ordering::SeqCst);
    actor.ends_turn().await;
    play.agent_is(holdstead_protocol::AgentState::Idle).await;
    let events = play.sound.read(play.session, Seq(0), 1_000).await.unwrap();
    let words: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Error(error) => Some(error.message.as_str()),
            EventBody::TextDelta(delta) => Some(delta.text.as_str()),
            _ => None,
        })
        .collect();
    assert!(words.contains(&"one") && words.len() == 2, "{words:?}");
    assert!(words.iter().any(|words| words.starts_with("Holdstead's database did not answer")), "{words:?}");
    play.end(NEVER, actor).await;
}

/// As many calls as no story makes.
const AWAY: usize = 1_000_000;
const NEVER: Faults = Faults { first: AWAY, count: AWAY, how: Fault::Store(Broken::Before) };

/// Plays a story with a fault at each of its calls in turn. Each has a runtime of its own, with paused time: the gateways
/// that a story leaves behind go with it, and do not slow down the next one.
fn with_each<Story: Future<Output = bool>>(count: usize, how: Fault, story: impl Fn(Faults) -> Story) {
    let comes = |first| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(story(Faults { first, count, how }))
    };
    let calls = (0..).take_while(|first| comes(*first)).count();
    assert!(calls > 50, "{calls} calls of the store are too few to be the story");
}

#[test]
fn a_failing_call_never_stops_the_life_of_an_ask() {
    with_each(1, Fault::Store(Broken::Before), life_of_an_ask);
}

#[test]
fn a_lost_reply_never_stops_the_life_of_an_ask() {
    with_each(1, Fault::Store(Broken::After), life_of_an_ask);
}

#[test]
fn five_failing_calls_in_a_row_never_stop_the_life_of_an_ask() {
    with_each(5, Fault::Store(Broken::Before), life_of_an_ask);
}

#[test]
fn a_failing_call_never_loses_what_lost_calls_and_tools_wait_for() {
    with_each(1, Fault::Store(Broken::Before), losses_and_tools);
}

#[test]
fn a_lost_reply_never_loses_what_lost_calls_and_tools_wait_for() {
    with_each(1, Fault::Store(Broken::After), losses_and_tools);
}

#[test]
fn a_failing_call_never_keeps_a_turn_from_being_stopped() {
    with_each(1, Fault::Store(Broken::Before), turns_that_are_stopped);
}

#[test]
fn whoever_speaks_next_goes_on_with_the_life_of_an_ask() {
    with_each(1, Fault::HandsOver, life_of_an_ask);
}

#[test]
fn whoever_speaks_next_goes_on_also_when_they_are_gone_soon() {
    with_each(7, Fault::HandsOver, life_of_an_ask);
}

#[test]
fn whoever_speaks_next_stops_the_turn() {
    with_each(1, Fault::HandsOver, turns_that_are_stopped);
}

#[test]
fn two_who_both_speak_tell_the_agent_once() {
    with_each(1, Fault::SpeaksOn, life_of_an_ask);
}

#[test]
fn two_who_both_speak_stop_a_turn_once() {
    with_each(1, Fault::SpeaksOn, turns_that_are_stopped);
}

#[test]
fn a_runner_that_dials_again_goes_on_with_the_life_of_an_ask() {
    with_each(1, Fault::Cut, life_of_an_ask);
}

#[test]
fn a_runner_that_is_cut_off_again_and_again_goes_on_with_the_life_of_an_ask() {
    with_each(7, Fault::Cut, life_of_an_ask);
}

#[test]
fn a_runner_that_dials_another_gateway_goes_on_with_the_life_of_an_ask() {
    with_each(1, Fault::DialsAnother, life_of_an_ask);
}

#[test]
fn a_turn_is_stopped_over_another_gateway() {
    with_each(1, Fault::DialsAnother, turns_that_are_stopped);
}

#[tokio::test]
async fn a_call_that_was_told_before_its_speaker_went_is_not_asked_again() {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let (driver, mut lives) = ActorDriver::new(Reasks::Any);
    let runner = Arc::new(Runner::new(vec![Arc::new(driver)]));
    let first = Play::host(&journal, &runner).await;
    let mut talk = Talk::open(&first, opening("actor")).await;
    talk.say("go").await;
    let life = async |lives: &mut mpsc::UnboundedReceiver<_>| {
        let (launch, side) = lives.recv().await.expect("a process is started");
        let actor = Actor { launch, side };
        actor.says(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await;
        actor
    };
    let actor = life(&mut lives).await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.exits(false).await;
    talk.status(AgentState::Detached).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let mut actor = life(&mut lives).await;
    actor.asks("call_1").await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));

    // It has heard the call, and nothing in the journal says so.
    first.stop_speaking();
    let second = Play::host(&journal, &runner).await;
    actor.says(AgentEvent::Acknowledged { tool_call_id: ToolCallId::new("call_1").unwrap() }).await;
    actor.ends_turn().await;
    let mut talk = Talk::watch(&second, talk.session, Seq::START).await;
    talk.completed().await;
    let asks = talk.seen.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_)));
    assert_eq!(asks.count(), 1, "{:#?}", talk.seen);
}

/// A machine dials in, and stays until either is gone.
async fn dials(runner: &Arc<Runner>, gateway: &Gateway) {
    let (ours, theirs) = wires();
    let (hosts, runner) = (gateway.clone(), Arc::clone(runner));
    tokio::spawn(async move { hosts.host_runner(elsewhere(), theirs).await });
    tokio::spawn(async move { runner.attend(uuid::Uuid::nil(), "http://gateway", ours, |_| {}).await });
    let known = async || gateway.connected_runners(&owner("ada")).await.unwrap();
    while !known().await.iter().any(|runner| runner.name == elsewhere().name) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_an_agent_elsewhere_says_while_its_gateway_stops_is_written_once() {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let (driver, mut lives) = ActorDriver::new(Reasks::Any);
    let runner = Arc::new(Runner::new(vec![Arc::new(driver)]));
    let first = Play::host(&journal, &nobody_here()).await;
    dials(&runner, &first).await;
    let open = holdstead_protocol::api::OpenSession { runner: Some(elsewhere().name), ..opening("actor") };
    let talk = Talk::open(&first, open).await;
    talk.say("go").await;
    let (launch, side) = lives.recv().await.expect("a process is started");
    let mut actor = Actor { launch, side };
    actor.says(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "go".to_owned() });
    let mut said = String::new();
    for number in 0..60 {
        let text = format!("{number} ");
        said.push_str(&text);
        actor.says(AgentEvent::Text { text, parents: Vec::new() }).await;
        if number == 30 {
            let going = first.clone();
            tokio::spawn(async move { going.stop().await });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.stop().await;
    let second = Play::host(&journal, &nobody_here()).await;
    dials(&runner, &second).await;
    actor.ends_turn().await;
    let mut talk = Talk::watch(&second, talk.session, Seq::START).await;
    talk.completed().await;
    let words = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    assert_eq!(words.collect::<String>(), said);
}
