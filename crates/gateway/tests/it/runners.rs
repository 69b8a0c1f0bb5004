//! Machines that dial in: to one of two gateways on a PostgreSQL, or to the only one.

use std::sync::{Arc, Mutex};

use holdstead_agents::{AgentEvent, AgentSide, Ask, Launch, Reasks};
use holdstead_core::handle_of;
use holdstead_core::policy::rule::RuleFile;
use holdstead_gateway::{
    Dialled, Ended, Gateway, GatewayConfig, GatewayError, Person, PolicyConfig, Runner, Stopped, Wire,
};
use holdstead_protocol::api::{OpenSession, Role};
use holdstead_protocol::{AgentState, AskChange, Delivery, EventBody, PersonId, Seq};
use holdstead_store::faulty::{Call, FaultyJournal};
use holdstead_store::{PasskeyRule, PersonRecord};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use uuid::Uuid;

use crate::actor::{Actor, ActorDriver, approval};
use crate::deployment::{By, Deployment};
use crate::world::{PATIENCE, Talk, World, ada, approve, config, opening, owner, respond, scripted};

/// Two ends of one connection.
pub(crate) fn wires() -> (Wire, Wire) {
    let pipe = || {
        let (send, mut sent) = mpsc::unbounded_channel();
        let (taken, receive) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Some(text) = sent.recv().await {
                if taken.send(text).await.is_err() {
                    return;
                }
            }
        });
        (send, receive)
    };
    let ((to_gateway, at_gateway), (to_runner, at_runner)) = (pipe(), pipe());
    (Wire { send: to_gateway, receive: at_runner }, Wire { send: to_runner, receive: at_gateway })
}

fn laptop() -> Dialled {
    let id = PersonId::from_uuid(Uuid::from_u128(9)).into();
    Dialled { id, name: "laptop".to_owned(), owner: owner("ada") }
}

/// A machine with the scripted agent.
struct Laptop {
    runner: Arc<Runner>,
    folder: TempDir,
    instance: Uuid,
}

/// Until it is cut.
struct Connection {
    hosting: JoinHandle<Ended>,
    attending: JoinHandle<Ended>,
}

impl Laptop {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let runner = Arc::new(Runner::new(vec![Arc::new(scripted(&folder))]));
        Self { runner, folder, instance: Uuid::now_v7() }
    }

    fn dial(&self, gateway: &Gateway) -> Connection {
        let (ours, theirs) = wires();
        let (gateway, runner, instance) = (gateway.clone(), Arc::clone(&self.runner), self.instance);
        Connection {
            hosting: tokio::spawn(async move { gateway.host_runner(laptop(), theirs).await }),
            attending: tokio::spawn(
                async move { runner.attend(instance, "http://gateway", ours, |_| {}).await },
            ),
        }
    }

    fn opening(&self) -> OpenSession {
        self.opening_of("scripted")
    }

    fn opening_of(&self, agent: &str) -> OpenSession {
        let cwd = Some(self.folder.path().display().to_string());
        OpenSession { cwd, runner: Some("laptop".to_owned()), ..opening(agent) }
    }
}

/// A machine with an agent that the test plays.
fn played_laptop() -> (Laptop, mpsc::UnboundedReceiver<(Launch, AgentSide)>) {
    let (driver, lives) = ActorDriver::new(Reasks::Any);
    let runner = Arc::new(Runner::new(vec![Arc::new(driver)]));
    (Laptop { runner, folder: TempDir::new().unwrap(), instance: Uuid::now_v7() }, lives)
}

/// That machine, connected, with its agent in the turn that a message began.
async fn at_work(gateway: &Gateway) -> (Laptop, Connection, Talk, Actor) {
    let (laptop, mut lives) = played_laptop();
    let connection = laptop.dial(gateway);
    known(gateway).await;
    let talk = Talk::open(gateway, laptop.opening_of("actor")).await;
    talk.say("go").await;
    let (launch, side) = lives.recv().await.unwrap();
    let mut actor = Actor { launch, side };
    actor.says(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await;
    actor.hears().await;
    (laptop, connection, talk, actor)
}

impl Connection {
    async fn cut(self) {
        self.attending.abort();
        self.hosting.await.unwrap();
    }
}

/// Waits until this gateway knows the machine; says which node speaks for it.
async fn known(gateway: &Gateway) -> Option<String> {
    let look = async {
        loop {
            let listed = gateway.connected_runners(&owner("ada")).await.unwrap();
            if let Some(found) = listed.into_iter().find(|runner| runner.name == "laptop") {
                return found.node;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("it is known in time")
}

/// Waits until this gateway knows of no connection to the machine.
async fn gone(gateway: &Gateway) {
    let look = async {
        while gateway.connected_runners(&owner("ada")).await.unwrap().iter().any(|one| one.name == "laptop") {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("nobody speaks for it any more");
}

#[tokio::test]
async fn a_session_is_opened_on_any_node_for_a_machine_of_any_other() {
    let schema = Deployment::new(By::Notify).await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let machine = Laptop::new();
    let connection = machine.dial(&first);
    assert_eq!(known(&first).await, None);
    assert!(known(&second).await.is_some(), "it says which node speaks for it");

    let session = second.open_session(&ada(), machine.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    respond(&second, &request, approve()).await.unwrap();
    talk.completed().await;

    // It dials the other one: that one speaks for it from now on, and the first lets go.
    connection.cut().await;
    let connection = machine.dial(&second);
    assert_eq!(known(&second).await, None);
    assert!(known(&first).await.is_some());
    talk.say("say again").await;
    talk.completed().await;
    let (journal, _) = first.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    assert_eq!(talk.seen, journal[..talk.seen.len()], "no gap and no double");
    connection.cut().await;
    schema.end([first, second]).await;
}

#[tokio::test]
async fn an_agent_of_whose_words_the_journal_lacks_some_is_not_listened_to() {
    let schema = Deployment::new(By::Notify).await;
    let (first, machine) = (schema.node("first").await, Laptop::new());
    let connection = machine.dial(&first);
    known(&first).await;
    let mut talk = Talk::open(&first, machine.opening()).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    let tables = ["sessions", "events", "asks", "search"];
    let keep = tables.map(|table| format!("CREATE TABLE kept_{table} AS TABLE {table};"));
    schema.run(keep.concat()).await;
    respond(&first, &request, approve()).await.unwrap();
    talk.completed().await;
    connection.cut().await;
    first.stop().await;
    first.journal().close().await;

    // All gateways are restarted on an earlier copy, and the machine is as it was.
    let go_back = tables.map(|table| format!("DELETE FROM {table}; INSERT INTO {table} TABLE kept_{table};"));
    schema.run(go_back.concat()).await;
    let second = schema.node("second").await;
    let connection = machine.dial(&second);
    let mut talk = Talk::watch(&second, talk.session, Seq(0)).await;
    let lacks = |body: &EventBody| {
        let EventBody::Error(error) = body else { return None };
        error.message.contains("the journal lacks what this agent said").then_some(())
    };
    talk.until(lacks).await;
    let told = talk.seen.len();
    // Nothing that it says is taken, and nothing is handed to it: it may have been told before.
    respond(&second, &request, approve()).await.unwrap();
    talk.say("say more").await;
    let message = |body: &EventBody| matches!(body, EventBody::UserMessage(_)).then_some(());
    talk.until(message).await;
    let (journal, _) = second.read(&owner("ada"), talk.session, Seq(0), 1_000).await.unwrap();
    for event in &journal[told..] {
        assert_eq!(event.heard, None, "it was listened to: {event:?}");
    }
    let ask = second.interaction(&owner("ada"), request.interaction_id).await.unwrap();
    assert!(!matches!(ask.delivery, Some(Delivery::Delivered { .. } | Delivery::Acknowledged)), "{ask:?}");
    connection.cut().await;
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told_in_the_session() {
    let schema = Deployment::new(By::Notify).await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let machine = Laptop::new();
    let connection = machine.dial(&first);
    known(&second).await;
    let nowhere = OpenSession { cwd: Some("/nowhere".to_owned()), ..machine.opening() };
    let refused = first.open_session(&ada(), nowhere.clone()).await;
    assert!(matches!(refused, Err(GatewayError::NoFolder { .. })), "{refused:?}");
    let session = second.open_session(&ada(), nowhere).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("say hello").await;
    let words = talk.error().await;
    assert!(words.contains("the folder `/nowhere` is not there on this machine"), "{words}");
    connection.cut().await;
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_second_process_with_a_machines_token_is_refused_on_every_node() {
    let schema = Deployment::new(By::Notify).await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let machine = Laptop::new();
    let connection = machine.dial(&first);
    known(&second).await;
    for (node, place) in [(&first, "is connected:"), (&second, "is connected to the node `")] {
        let copy = Laptop { instance: Uuid::now_v7(), ..Laptop::new() };
        let refused = copy.dial(node);
        let Ended::Refused(why) = refused.attending.await.unwrap() else { panic!("it was not refused") };
        assert!(why.contains(place), "{why}");
    }
    // The first one is where it was.
    assert_eq!(known(&first).await, None);
    connection.cut().await;
    // It is gone: another process may come, anywhere.
    let connection = Laptop::new().dial(&second);
    assert_eq!(known(&second).await, None);
    connection.cut().await;
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_machine_that_is_put_out_is_let_go_for_all_nodes() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let connection = Laptop::new().dial(&first);
    assert!(known(&second).await.is_some());
    // As for a token that was taken back: nobody waits for its connection any more.
    connection.hosting.abort();
    gone(&second).await;
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn a_machine_that_is_put_out_while_the_nodes_are_told_of_it_is_let_go_too() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    // What says so is written, and its end is held up until nobody waits for the connection any more.
    let mut held = deployment.hold_commits_to("runners").await;
    let connection = Laptop::new().dial(&first);
    held.somebody_waits().await;
    connection.hosting.abort();
    assert!(connection.hosting.await.unwrap_err().is_cancelled());
    held.release().await;
    gone(&second).await;
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn a_removed_machine_ends_its_sessions_and_what_was_not_handed_over_is_undeliverable() {
    let world = World::new().await;
    let journal = world.gateway.journal();
    let record = PersonRecord {
        id: PersonId::from_uuid(Uuid::from_u128(9)),
        owner: owner("ada"),
        name: "laptop".to_owned(),
        handle: handle_of("laptop"),
        role: Role::Runner,
        passkey_rule: PasskeyRule::NotRequired,
        created_at: journal.now().await.unwrap(),
        removed_at: None,
    };
    journal.add_person(record).await.unwrap();
    let machine = Laptop::new();
    let connection = machine.dial(&world.gateway);
    known(&world.gateway).await;
    let session = world.gateway.open_session(&ada(), machine.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&world.gateway, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    connection.cut().await;
    talk.respond(&request, approve()).await;
    assert_eq!(talk.delivery(&request).await, Some(Delivery::Accepted));

    let guest = Person { manages: holdstead_core::Manages::Own, ..ada() };
    let refused = world.gateway.remove_runner(&guest, "laptop").await;
    assert!(matches!(refused, Err(GatewayError::MayNotRemoveRunner)), "{refused:?}");
    let unknown = world.gateway.remove_runner(&ada(), "gateway").await;
    assert!(matches!(unknown, Err(GatewayError::NoSuchRunner { .. })), "{unknown:?}");

    let removed = world.gateway.remove_runner(&ada(), "Laptop").await.unwrap();
    assert_eq!(removed.sessions, 1);
    let ended = talk.status(AgentState::Ended).await;
    assert_eq!(ended.message.as_deref(), Some("Its machine `laptop` was removed."));
    assert_eq!(talk.delivery(&request).await, Some(Delivery::NOWHERE));
    let unfinished = journal.unfinished(None, 10).await.unwrap();
    assert!(unfinished.is_empty(), "nothing waits for a machine that never comes back: {unfinished:?}");
    let again = world.gateway.remove_runner(&ada(), "laptop").await.unwrap();
    assert_eq!(again.sessions, 0, "what ended, ended once");
}

/// The gateway writes that an answer arrived before it decides the next call by a rule. The connection goes in the middle of that.
#[tokio::test]
async fn a_machine_that_is_cut_off_while_an_arrival_is_written_goes_on_when_it_is_back() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("journal.db").display());
    let sound = holdstead_store::open(&url).await.unwrap();
    let cut: Arc<Mutex<Option<AbortHandle>>> = Arc::default();
    let at_append = Arc::clone(&cut);
    let plan = move |call| {
        if call == Call::Append
            && let Some(connection) = at_append.lock().unwrap().take()
        {
            connection.abort();
        }
        None
    };
    let journal = Arc::new(FaultyJournal::new(sound, plan));
    let policy = PolicyConfig { rules: RuleFile::parse("allow Deploy").unwrap(), marked_words: Vec::new() };
    let config = GatewayConfig { policy, ..config(GatewayConfig::DEFAULT_HOLD) };
    let (driver_here, _) = ActorDriver::new(Reasks::Any);
    let gateway = Gateway::start(journal, vec![Arc::new(driver_here)], config).await.unwrap();
    let (laptop, connection, mut talk, mut actor) = at_work(&gateway).await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "touch x")))).await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    actor.is_told("call_1").await;
    *cut.lock().unwrap() = Some(connection.hosting.abort_handle());
    let allowed = Ask { tool_name: "Deploy".to_owned(), ..approval("call_2", "now") };
    actor.says(AgentEvent::Ask(Box::new(allowed))).await;
    assert!(connection.hosting.await.unwrap_err().is_cancelled());
    connection.attending.abort();
    let again = laptop.dial(&gateway);
    let arrived = |body: &EventBody| {
        let EventBody::InteractionUpdate(update) = body else { return None };
        let AskChange::Delivery { delivery: Delivery::Delivered { .. } } = update.change else { return None };
        (update.interaction_id == ask.interaction_id).then_some(())
    };
    talk.until(arrived).await;
    actor.is_told("call_2").await;
    again.cut().await;
    gateway.stop().await;
}

/// The next task hears the call again. By now a rule would deny it, but a person was asked, and the answer is the person's.
#[tokio::test]
async fn a_call_that_is_asked_stays_with_the_person_when_a_rule_comes_and_the_machine_is_back() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("journal.db").display());
    let journal = holdstead_store::open(&url).await.unwrap();
    let (driver_here, _) = ActorDriver::new(Reasks::Any);
    let config = config(GatewayConfig::DEFAULT_HOLD);
    let gateway = Gateway::start(journal, vec![Arc::new(driver_here)], config).await.unwrap();
    let (laptop, connection, mut talk, mut actor) = at_work(&gateway).await;
    let call = Ask { tool_name: "Deploy".to_owned(), ..approval("call_1", "now") };
    actor.says(AgentEvent::Ask(Box::new(call))).await;
    let ask = talk.ask().await;
    connection.cut().await;
    let line = "deny Deploy".to_owned();
    gateway.add_rule(&ada(), holdstead_protocol::api::NewRule { line }).await.unwrap();
    let again = laptop.dial(&gateway);
    talk.respond(&ask, approve()).await;
    actor.is_told("call_1").await;
    again.cut().await;
    gateway.stop().await;
}

#[tokio::test]
async fn an_agent_that_waits_on_another_machine_is_left_alone_when_the_gateway_stops() {
    let (driver_here, _) = ActorDriver::new(Reasks::Any);
    let world = World::hosting(Arc::new(TempDir::new().unwrap()), Arc::new(driver_here)).await;
    let (_laptop, connection, mut talk, mut actor) = at_work(&world.gateway).await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    talk.ask().await;
    assert_eq!(world.gateway.stop().await, Stopped::default());
    assert!(actor.hears_nothing() && !actor.is_killed());
    assert_eq!(talk.agent_state().await, AgentState::Waiting);
    connection.cut().await;
}
