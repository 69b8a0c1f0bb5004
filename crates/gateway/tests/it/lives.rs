//! Agents and gateways that die.

use std::sync::Arc;

use async_trait::async_trait;
use holdstead_agents::{
    Agent, AgentEvent, AgentExit, Driver, DriverCapabilities, Launch, Reasks, StartError, TurnEnds,
};
use holdstead_protocol::{AgentState, AskState, Capabilities, Delivery, EventBody, Seq, StopReason};
use serde_json::json;

use crate::world::{Talk, World, answer, approve, is_running, opening, owner};

/// Kills the agent's process like an out-of-memory killer would.
fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn an_agent_that_dies_at_an_ask_comes_back_for_the_answer_once() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    kill(talk.pid());
    talk.status(AgentState::Detached).await;
    let open = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(open.state, AskState::Open);
    talk.respond(&ask, approve()).await;
    talk.completed().await;
    let results = talk.results().await;
    assert_eq!(results.len(), 1);
    assert_eq!(Some(&results[0].tool_call_id), ask.tool_call_id.as_ref());
    assert_eq!(results[0].output["received"]["settlement"], "approved");
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn an_agent_that_dies_with_nothing_open_ends_its_turn_and_the_next_message_works() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("say One.\nfail the model is on fire").await;
    let words = talk.until(|body| match body {
        EventBody::SessionStatus(status) => status.message.clone(),
        _ => None,
    });
    assert_eq!(words.await, "the model is on fire");
    assert!(talk.error().await.starts_with("The agent's process went away in the middle of its turn."));
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    for _ in 0..5 {
        talk.say("crash").await;
        assert_eq!(talk.done().await.reason, StopReason::Failed);
    }
    talk.say("say Two.").await;
    talk.completed().await;
}

/// Lives long enough to ask, and never again.
#[derive(Debug)]
struct OneLife {
    lives: std::sync::atomic::AtomicU32,
}

#[async_trait]
impl Driver for OneLife {
    fn name(&self) -> &'static str {
        "one-life"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: true, reasks: Reasks::Any, ends: TurnEnds::Told }
    }

    async fn start(&self, _launch: Launch) -> Result<Agent, StartError> {
        let first = self.lives.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let (agent, side) = Agent::in_process();
        tokio::spawn(async move {
            if first {
                drop(side.events.send(AgentEvent::Ready { agent_ref: "one".to_owned() }).await);
                drop(side.events.send(AgentEvent::Ask(Box::new(crate::actor::question("call_1")))).await);
            }
            let exit = AgentExit { parked: false, code: Some(1), stderr: String::new() };
            drop(side.events.send(AgentEvent::Exited(exit)).await);
        });
        Ok(agent)
    }
}

#[tokio::test]
async fn an_agent_that_never_comes_up_again_is_given_up_with_words() {
    let driver = Arc::new(OneLife { lives: std::sync::atomic::AtomicU32::new(0) });
    let world = World::hosting(Arc::new(tempfile::tempdir().unwrap()), Arc::<OneLife>::clone(&driver)).await;
    let mut talk = Talk::open(&world.gateway, opening("one-life")).await;
    talk.say("go").await;
    let ask = talk.ask().await;
    talk.status(AgentState::Detached).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert!(talk.error().await.starts_with("The agent could not be started again"));
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    assert_eq!(driver.lives.load(std::sync::atomic::Ordering::SeqCst), 1 + 3);
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::NOWHERE));
}

/// There is no box for it, whenever it is tried.
#[derive(Debug, Default)]
struct NeverStarts {
    tries: std::sync::atomic::AtomicU32,
}

#[async_trait]
impl Driver for NeverStarts {
    fn name(&self) -> &'static str {
        "never"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: true, reasks: Reasks::Any, ends: TurnEnds::Told }
    }

    async fn start(&self, _launch: Launch) -> Result<Agent, StartError> {
        self.tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Err(StartError::NoBox { why: "none is installed".to_owned() })
    }
}

/// Every try is in the journal, so one after the other without a rest would fill it.
#[tokio::test]
async fn an_agent_that_cannot_be_started_is_not_tried_for_ever() {
    let driver = Arc::new(NeverStarts::default());
    let world =
        World::hosting(Arc::new(tempfile::tempdir().unwrap()), Arc::<NeverStarts>::clone(&driver)).await;
    let mut talk = Talk::open(&world.gateway, opening("never")).await;
    talk.say("go").await;
    assert!(talk.error().await.contains("none is installed"));
    // Long enough for hundreds of tries.
    for _ in 0..200 {
        talk.journal().await;
    }
    assert!(driver.tries.load(std::sync::atomic::Ordering::SeqCst) <= 3);
}

/// Runs until its runtime is dropped, without a goodbye. With one thread none of its tasks sees that another one is gone.
fn killed_gateway<T>(scene: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(scene);
    runtime.shutdown_background();
    result
}

#[test]
fn a_gateway_killed_with_an_ask_open_is_taken_up_by_the_next() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let (session, ask, pid, last) = killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = world.talk().await;
        talk.say("ask Store: Where? | a | b").await;
        let ask = talk.ask().await;
        (talk.session, ask, talk.pid(), talk.seen.last().map_or(Seq(0), |event| event.seq))
    });
    killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = Talk::watch(&world.gateway, session, last).await;
        let status = talk.status(AgentState::Detached).await;
        assert_eq!(status.message.as_deref(), Some("the gateway that hosted it is gone"));
        assert!(!is_running(pid));
        let open = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
        assert_eq!(open.state, AskState::Open);
        talk.respond(&ask, answer(json!({ "store": "a" }))).await;
        let result = talk.result().await;
        assert_eq!(Some(result.tool_call_id), ask.tool_call_id);
        talk.completed().await;
        assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
    });
}

#[test]
fn a_gateway_killed_in_the_middle_of_a_turn_says_so() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let session = killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = world.talk().await;
        talk.say("say I begin.\nwait 1h").await;
        talk.say("say And this came later.").await;
        talk.status(AgentState::Running).await;
        talk.session
    });
    killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = Talk::watch(&world.gateway, session, Seq(0)).await;
        let error = talk.error().await;
        assert!(error.starts_with("The agent's process went away"), "{error}");
        assert_eq!(talk.done().await.reason, StopReason::Failed);
        talk.completed().await;
    });
}

#[test]
fn an_answer_given_before_the_gateway_was_killed_is_delivered_by_the_next() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let (session, ask) = killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = world.talk().await;
        talk.say("ask [hold=10ms:park] Store: Where? | a | b").await;
        let ask = talk.ask().await;
        talk.status(AgentState::Parked).await;
        // A gateway that hosts nobody takes the answer, and dies with it.
        world.gateway.stop().await;
        talk.respond(&ask, answer(json!({ "store": "b" }))).await;
        (talk.session, ask)
    });
    killed_gateway(async {
        let world = World::on(Arc::clone(&folder)).await;
        let mut talk = Talk::watch(&world.gateway, session, Seq(0)).await;
        let result = talk.result().await;
        assert_eq!(result.output["received"]["response"]["answers"][0]["labels"], json!(["b"]));
        talk.completed().await;
        assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
    });
}
