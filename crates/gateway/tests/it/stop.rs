//! A person stops a turn, or ends a session.

use holdstead_core::Rejection;
use holdstead_gateway::GatewayError;
use holdstead_protocol::api::SendMessage;
use holdstead_protocol::{AgentState, AskState, Closing, EventBody, StopReason};
use serde_json::json;

use crate::world::{Talk, World, ada, answer, approve, is_running, owner, respond};

const TWO_ASKS: &str = "together\nask Store: Where? | a | b\napprove Bash {\"command\":\"ls\"}\nend";

#[tokio::test]
async fn an_interrupt_cancels_the_asks_and_the_next_message_works() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(TWO_ASKS).await;
    let (question, approval) = (talk.ask().await, talk.ask().await);
    let interrupted = talk.gateway.interrupt(&ada(), talk.session).await.unwrap();
    let mut cancelled = interrupted.cancelled;
    cancelled.sort();
    let mut asked = vec![question.interaction_id, approval.interaction_id];
    asked.sort();
    assert_eq!(cancelled, asked);
    for (ask, draft) in [(&question, answer(json!({ "store": "a" }))), (&approval, approve())] {
        let refused = respond(&talk.gateway, ask, draft).await;
        let Err(GatewayError::Rejected(Rejection::Stopped { by })) = refused else { panic!("{refused:?}") };
        assert_eq!(by, "Ada");
    }
    let done = talk.done().await;
    assert_eq!((done.reason, done.by.as_deref()), (StopReason::Interrupted, Some("Ada")));
    let closed = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::InteractionClosed(closed) => closed.by.as_deref(),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), ["Ada", "Ada"]);
    assert!(talk.results().await.is_empty(), "nothing was forwarded");
    talk.say("say And now?").await;
    let done = talk.done().await;
    assert_eq!((done.reason, done.by), (StopReason::Completed, None), "nobody stopped that one");
    assert!(talk.seen.iter().all(|event| !matches!(event.body, EventBody::Error(_))));
}

#[tokio::test]
async fn an_interrupt_stops_a_parked_agent_without_starting_it() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask [hold=10ms:park] Store: Where? | a | b").await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    let pid = talk.pid();
    talk.gateway.interrupt(&ada(), talk.session).await.unwrap();
    let done = talk.done().await;
    assert_eq!((done.reason, done.by.as_deref()), (StopReason::Interrupted, Some("Ada")));
    assert_eq!(talk.pid(), pid);
    let refused = respond(&talk.gateway, &ask, answer(json!({ "store": "a" }))).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::Stopped { .. }))), "{refused:?}");
    talk.say("say And now?").await;
    talk.completed().await;
    assert_eq!(said(&talk), "And now?");
}

fn said(talk: &Talk) -> String {
    let text = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    text.collect()
}

#[tokio::test]
async fn an_interrupt_with_nothing_running_is_nothing() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    assert!(talk.gateway.interrupt(&ada(), talk.session).await.unwrap().cancelled.is_empty());
    talk.say("say Hello.").await;
    talk.completed().await;
}

#[tokio::test]
async fn the_end_of_a_session_takes_its_process_and_its_asks() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(TWO_ASKS).await;
    let ask = talk.ask().await;
    talk.ask().await;
    let pid = talk.pid();
    assert!(is_running(pid));
    talk.gateway.end(&ada(), talk.session).await.unwrap();
    let gone = talk.until(|body| match body {
        EventBody::SessionStatus(status) => status.incarnation.filter(|_| status.pid.is_none()),
        _ => None,
    });
    gone.await;
    assert!(!is_running(pid));
    assert_eq!(talk.agent_state().await, AgentState::Ended);
    let closed = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(closed.state, AskState::Closed { closing: Closing::Cancelled });
    let refused = talk.gateway.message(&ada(), talk.session, SendMessage::new("say no")).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::Ended))), "{refused:?}");
}

#[tokio::test]
async fn a_gateway_that_stops_leaves_no_process_and_keeps_the_asks() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask Store: Where? | a | b").await;
    let ask = talk.ask().await;
    let pid = talk.pid();
    world.gateway.stop().await;
    assert!(!is_running(pid));
    let open = world.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(open.state, AskState::Open);
    assert_eq!(talk.agent_state().await, AgentState::Detached);
}
