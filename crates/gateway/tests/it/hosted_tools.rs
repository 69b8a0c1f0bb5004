//! The gateway's own tools for agents that it hosts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_agents::{
    Agent, AgentEvent, AgentExit, Driver, DriverCapabilities, Launch, Reasks, StartError, ToolServer,
    TurnEnds,
};
use holdstead_gateway::{Called, Gateway, GatewayConfig, ToolCall, WhenNobody};
use holdstead_protocol::api::Role;
use holdstead_protocol::{
    AgentState, AskState, Capabilities, Delivery, EventBody, InteractionId, ToolCallId,
};
use holdstead_store::token_hash;
use serde_json::json;

use crate::world::{Talk, World, ada, answer, approve, config, opening, owner};

/// Calls `ask_user` as a hosted agent does, and gives up at once.
async fn ask_user(talk: &Talk) -> InteractionId {
    let record = talk.gateway.journal().session(talk.session).await.unwrap().unwrap();
    let call = ToolCall {
        owner: owner("ada"),
        session: talk.session,
        turn: record.state.turn,
        tool_call_id: ToolCallId::new("toolu_7").unwrap(),
        name: "ask_user".to_owned(),
        input: json!({ "question": "Which colour?" }),
        when_nobody: WhenNobody::Wait,
    };
    match talk.gateway.call_tool_within(call, Duration::from_millis(200)).await.unwrap() {
        Called::Waiting(id) => id,
        Called::Done(value) => panic!("nobody answered, and it said {value}"),
    }
}

async fn late_answer(talk: &mut Talk, id: InteractionId) -> String {
    let ask = talk.gateway.interaction(&owner("ada"), id).await.unwrap();
    assert_eq!(ask.state, AskState::Queued);
    talk.respond(&ask.request, answer(json!({ "answer": "blue" }))).await;
    talk.until(|body| match body {
        EventBody::LateAnswer(late) => Some(late.text.clone()),
        _ => None,
    })
    .await
}

const TOLD: &str = "Late answer to your question:\n> Which colour?\nblue";

#[tokio::test]
async fn what_a_tool_asked_for_an_agent_that_died_is_answered_as_a_message() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    talk.ask().await;
    let id = ask_user(&talk).await;
    let killed = std::process::Command::new("kill").args(["-9", &talk.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(talk.queued().await, id);
    assert_eq!(late_answer(&mut talk, id).await, TOLD);
}

#[tokio::test]
async fn what_a_tool_asked_in_a_turn_that_ended_is_answered_as_a_message() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    let id = ask_user(&talk).await;
    talk.respond(&ask, approve()).await;
    assert_eq!(talk.queued().await, id);
    talk.completed().await;
    assert_eq!(late_answer(&mut talk, id).await, TOLD);
}

#[tokio::test]
async fn an_answer_in_time_goes_to_the_call_and_is_no_message() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    let id = ask_user(&talk).await;
    let asked = talk.gateway.interaction(&owner("ada"), id).await.unwrap();
    talk.respond(&asked.request, answer(json!({ "answer": "blue" }))).await;
    let awaiting = ToolCall {
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("toolu_8").unwrap(),
        name: "await_answer".to_owned(),
        input: json!({ "interaction_id": id }),
        when_nobody: WhenNobody::Wait,
    };
    let told = talk.gateway.call_tool_within(awaiting, Duration::from_secs(20)).await.unwrap();
    assert_eq!(told, Called::Done(json!({ "ok": true, "answer": "blue" })));
    talk.respond(&ask, approve()).await;
    talk.completed().await;
    let late = talk.journal().await.into_iter().any(|event| matches!(event.body, EventBody::LateAnswer(_)));
    assert!(!late);
}

/// The tool has the answer; the agent that called it, and is busy, does not.
async fn answered_in_vain() -> (World, Talk) {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("say one\nwait 1h").await;
    talk.status(AgentState::Running).await;
    let id = ask_user(&talk).await;
    let asked = talk.gateway.interaction(&owner("ada"), id).await.unwrap();
    talk.respond(&asked.request, answer(json!({ "answer": "blue" }))).await;
    let settled = async {
        while talk.delivery(&asked.request).await != Some(Delivery::Acknowledged) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::world::PATIENCE, settled).await.expect("its tool takes the answer");
    (world, talk)
}

fn told_again(body: &EventBody) -> Option<String> {
    match body {
        EventBody::LateAnswer(late) => Some(late.text.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn an_answer_on_its_way_to_an_agent_that_died_is_told_as_a_message() {
    let (_world, mut talk) = answered_in_vain().await;
    let killed = std::process::Command::new("kill").args(["-9", &talk.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    let words = talk.until(told_again).await;
    assert_eq!(
        words,
        "Your call of ask_user was cut off before you had its result: {\"ok\":true,\"answer\":\"blue\"}"
    );
    // The agent of these tests does not know those words, and says so: it was given them.
    talk.done().await;
    let told = talk.journal().await.into_iter().filter(|event| told_again(&event.body).is_some()).count();
    assert_eq!(told, 1);
}

#[tokio::test]
async fn so_is_one_that_was_on_its_way_when_the_gateway_stopped() {
    let (world, talk) = answered_in_vain().await;
    let world = world.restart().await;
    let mut talk = talk.on(&world).await;
    assert!(talk.until(told_again).await.contains("blue"));
}

/// Notes what it is started with, and lives until it is killed.
#[derive(Debug, Default)]
struct Noting(Arc<Mutex<Vec<Option<ToolServer>>>>);

#[async_trait]
impl Driver for Noting {
    fn name(&self) -> &'static str {
        "noting"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: false, reasks: Reasks::Any, ends: TurnEnds::Told }
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        self.0.lock().unwrap().push(launch.tool_server);
        let (agent, side) = Agent::in_process();
        tokio::spawn(async move {
            side.kill.notified().await;
            let exit = AgentExit { parked: false, code: None, stderr: String::new() };
            drop(side.events.send(AgentEvent::Exited(exit)).await);
        });
        Ok(agent)
    }
}

#[tokio::test]
async fn an_agent_gets_a_token_for_its_own_session_that_ends_with_its_process() {
    let noting = Noting::default();
    let servers = Arc::clone(&noting.0);
    let journal = holdstead_store::open("sqlite::memory:").await.unwrap();
    let url = Some("http://127.0.0.1:1/mcp".to_owned());
    let config = GatewayConfig { mcp_url: url, ..config(GatewayConfig::DEFAULT_HOLD) };
    let gateway = Gateway::start(journal, vec![Arc::new(noting)], config).await.unwrap();
    let mut talk = Talk::open(&gateway, opening("noting")).await;
    talk.say("hello").await;
    talk.status(AgentState::Running).await;
    let server = servers.lock().unwrap().last().cloned().flatten().unwrap();
    let hash = token_hash(&server.token);
    let (device, agent) = gateway.journal().device_by_hash(&hash).await.unwrap().unwrap();
    assert_eq!((agent.role, device.session), (Role::Agent, Some(talk.session)));
    assert_eq!((agent.owner, device.revoked_at), (owner("ada"), None));
    let journal = serde_json::to_string(&talk.journal().await).unwrap();
    assert!(!journal.contains(&server.token));
    assert!(!format!("{server:?}").contains(&server.token), "not even in a log");

    gateway.end(&ada(), talk.session).await.unwrap();
    let revoked = async {
        while gateway.journal().device_by_hash(&hash).await.unwrap().unwrap().0.revoked_at.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::world::PATIENCE, revoked).await.expect("the token ends with the process");
}
