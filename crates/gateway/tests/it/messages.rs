//! Messages wait for their turn and answer no ask.

use holdstead_protocol::{AgentState, AskState, EventBody};
use serde_json::json;

use crate::world::{Talk, World, answer, owner};

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
