//! What became of an approved call in the agent: it ran as approved, not at all, or otherwise.

use holdstead_agents::{AgentEvent, Resolution};
use holdstead_gateway::GatewayConfig;
use holdstead_protocol::{AskChange, Delivery, EventBody, NotRun, Response, Settlement, ToolCallId};
use serde_json::json;

use crate::actor::{Stage, approval};
use crate::world::{approve, owner};

fn call() -> ToolCallId {
    ToolCallId::new("call_1").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_block_of_the_agents_own_is_told_as_that() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    actor.is_told("call_1").await;
    actor.says(AgentEvent::NotRun { tool_call_id: call(), because: NotRun::Blocked }).await;
    actor.ends_turn().await;
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::NotRun { because: NotRun::Blocked }));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_changed_is_an_ask_of_its_own_under_the_same_call() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "touch shown")))).await;
    let first = talk.ask().await;
    talk.respond(&first, approve()).await;
    actor.is_told("call_1").await;
    actor.says(AgentEvent::NotRun { tool_call_id: call(), because: NotRun::AskedAnew }).await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "touch other")))).await;
    let second = talk.ask().await;
    assert_ne!(first.interaction_id, second.interaction_id);
    assert_eq!(second.input, json!({"command": "touch other"}));
    talk.respond(&second, approve()).await;
    let Resolution::Settled { settlement: Settlement::Approved, response: Response::Approve { .. }, input } =
        actor.is_told("call_1").await
    else {
        panic!("it was approved")
    };
    assert_eq!(input, json!({"command": "touch other"}));
    actor.says(AgentEvent::Acknowledged { tool_call_id: call() }).await;
    actor.ends_turn().await;
    talk.completed().await;
    assert_eq!(talk.delivery(&first).await, Some(Delivery::NotRun { because: NotRun::AskedAnew }));
    assert_eq!(talk.delivery(&second).await, Some(Delivery::Acknowledged));
}

#[tokio::test(start_paused = true)]
async fn what_ran_otherwise_is_marked_on_the_ask_and_in_the_journal() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "touch shown")))).await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    actor.is_told("call_1").await;
    let input = json!({"command": "touch other"});
    actor.says(AgentEvent::RanOther { tool_call_id: call(), input: input.clone() }).await;
    let ran = talk
        .until(|body| match body {
            EventBody::InteractionUpdate(update) => match &update.change {
                AskChange::RanOtherThanApproved { ran, .. } => ran.clone(),
                AskChange::Settled { .. }
                | AskChange::Queued { .. }
                | AskChange::Delivery { .. }
                | AskChange::InTerminal { .. }
                | AskChange::RuleSaved { .. } => None,
            },
            _ => None,
        })
        .await;
    assert_eq!(ran, input);
    let seen = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert!(seen.ran_other_than_approved);
}
