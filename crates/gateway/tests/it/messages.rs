//! Messages wait for their turn and answer no ask.

use holdstead_core::Rejection;
use holdstead_gateway::GatewayError;
use holdstead_protocol::api::SendMessage;
use holdstead_protocol::{AgentState, AskState, EventBody};
use serde_json::json;

use crate::world::{Talk, World, ada, answer, owner};

async fn three_messages_wait(talk: &mut Talk, ask: &holdstead_protocol::InteractionRequest) {
    for text in ["say first", "say second", "say third"] {
        talk.say(text).await;
    }
    let open = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(open.state, AskState::Open);
    talk.respond(ask, answer(json!({ "store": "a" }))).await;
    for _ in 0..4 {
        talk.completed().await;
    }
    let said = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["You chose: a.", "first", "second", "third"]);
}

#[tokio::test]
async fn messages_wait_while_the_agent_waits_for_a_person() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask Store: Where? | a | b").await;
    let ask = talk.ask().await;
    three_messages_wait(&mut talk, &ask).await;
}

#[tokio::test]
async fn messages_wait_while_the_agent_is_parked() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask [hold=10ms:park] Store: Where? | a | b").await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    three_messages_wait(&mut talk, &ask).await;
}

#[tokio::test]
async fn messages_wait_while_the_agent_works() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    for n in 0..5 {
        talk.say(&format!("wait 20ms\nsay {n}")).await;
    }
    for _ in 0..5 {
        talk.completed().await;
    }
    let said = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<String>(), "01234");
}

#[tokio::test]
async fn a_message_sent_again_for_want_of_a_reply_is_said_once() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let message = SendMessage::new("say hello");
    let send =
        async |message: &SendMessage| talk.gateway.message(&ada(), talk.session, message.clone()).await;
    let first = send(&message).await.unwrap();
    let again = send(&message).await.unwrap();
    assert_eq!((first.turn_id, first.message_id), (again.turn_id, again.message_id));
    let other = SendMessage { text: "say goodbye".to_owned(), ..message };
    let refused = send(&other).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::AlreadySaid { .. }))), "{refused:?}");
    talk.say("say the end").await;
    for _ in 0..2 {
        talk.completed().await;
    }
    let said = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["hello", "the end"]);
}

#[tokio::test]
async fn turns_are_told_apart_also_where_an_id_is_used_again_long_after() {
    let world = World::new().await;
    let talk = world.talk().await;
    let send =
        async |message: SendMessage| talk.gateway.message(&ada(), talk.session, message).await.unwrap();
    let message = SendMessage::new("say hello");
    let first = send(message.clone()).await;
    for n in 0..4 {
        send(SendMessage::new(format!("say {n}"))).await;
    }
    assert_ne!(send(message).await.turn_id, first.turn_id);
}
