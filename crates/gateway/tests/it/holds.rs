//! An agent that waits long enough is let go, and comes back for its answer.

use holdstead_protocol::{AgentState, AskState, Closing, Delivery, EventBody};
use serde_json::json;

use crate::world::{Talk, World, answer, is_running, owner};

const PARKED_SOON: &str = "ask [hold=20ms:park] Store: Where do the orders go? | SQLite | PostgreSQL";

#[tokio::test]
async fn a_parked_agent_has_no_process_and_gets_its_answer_at_the_same_call() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(PARKED_SOON).await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    let first = talk.pid();
    assert!(!is_running(first));
    let waiting = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!((waiting.state, waiting.parked), (AskState::Open, true));

    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let result = talk.result().await;
    assert_eq!(Some(result.tool_call_id), ask.tool_call_id);
    assert_eq!(result.output["received"]["response"]["answers"][0]["labels"], json!(["SQLite"]));
    talk.completed().await;
    assert_ne!(talk.pid(), first);
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
    assert_eq!(asks(&talk), 1, "it is the same ask");
}

fn asks(talk: &Talk) -> usize {
    talk.seen.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count()
}

#[tokio::test]
async fn the_gateway_may_be_started_again_while_an_agent_is_parked() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(PARKED_SOON).await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    let world = world.restart().await;
    let mut talk = talk.on(&world).await;
    assert_eq!(talk.agent_state().await, AgentState::Parked);
    talk.respond(&ask, answer(json!({ "store": "mine" }))).await;
    let result = talk.result().await;
    assert_eq!(result.output["received"]["response"]["answers"][0]["other"], json!("mine"));
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn an_agent_that_refuses_parking_is_answered_where_it_waits() {
    let world = World::refusing_parking().await;
    let mut talk = world.talk().await;
    talk.say(PARKED_SOON).await;
    let ask = talk.ask().await;
    assert!(!ask.can_park);
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    talk.completed().await;
    assert!(is_running(talk.pid()));
    let starts = talk.seen.iter().filter(|event| started(&event.body)).count();
    assert_eq!(starts, 1);
}

fn started(body: &EventBody) -> bool {
    matches!(body, EventBody::SessionStatus(status) if status.pid.is_some())
}

#[tokio::test]
async fn an_ask_that_expires_while_its_agent_is_parked_is_told_to_the_agent() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask [hold=10ms:park timeout=2s] Store: Where? | SQLite | PostgreSQL\nsay I went on.").await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    assert_eq!(talk.closed().await.closing, Closing::Expired);
    let result = talk.result().await;
    assert_eq!(Some(result.tool_call_id), ask.tool_call_id);
    assert_eq!(result.output["received"]["outcome"], "closed");
    talk.completed().await;
    assert_eq!(asks(&talk), 1, "nobody is asked again");
}

#[tokio::test]
async fn a_deferred_answer_arrives_as_a_message_that_quotes_the_question() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask [hold=10ms:defer] Store: Where do the orders go? | SQLite | PostgreSQL").await;
    let ask = talk.ask().await;
    assert_eq!(talk.queued().await, ask.interaction_id);
    assert_eq!(talk.result().await.output["received"]["outcome"], "queued");
    talk.completed().await;
    let receipt = talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert!(receipt.late);
    let late = talk.until(|body| match body {
        EventBody::LateAnswer(late) => Some((**late).clone()),
        _ => None,
    });
    let late = late.await;
    assert_eq!(late.text, "Late answer to your question:\n> Where do the orders go?\nSQLite");
    let done = talk.done().await;
    assert_eq!(done.turn_id, late.turn_id);
    let now = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(now.state, AskState::Closed { closing: Closing::AnsweredLate });
}
