//! What a screen is sent is the journal: no gap, no double, whatever happens meanwhile.

use std::sync::Arc;

use holdstead_agents::{AgentEvent, Outgoing, Resolution};
use holdstead_protocol::{Event, EventBody, Seq};
use serde_json::json;

use crate::actor::{Actor, ActorDriver};
use crate::world::{PATIENCE, Talk, World, answer, opening, owner};

fn text(events: &[Event]) -> String {
    let text = events.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    text.collect()
}

#[tokio::test]
async fn five_thousand_words_are_few_events_and_not_one_is_lost() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let words: Vec<_> = (0..5_000).map(|n| format!("word{n}")).collect();
    talk.say(&format!("say {}", words.join(" "))).await;
    talk.completed().await;
    assert_eq!(text(&talk.seen), words.join(" "));
    let deltas = talk.seen.iter().filter(|event| matches!(event.body, EventBody::TextDelta(_))).count();
    assert!(deltas < 100, "{deltas} events");
}

#[tokio::test]
async fn words_and_tool_calls_keep_their_order() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("say one two\nthink hm\ntool Read {\"path\":\"a\"} => text\nsay three\ntool Read {\"path\":\"b\"} =! no").await;
    talk.completed().await;
    let order: Vec<_> = talk
        .seen
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::TextDelta(delta) => Some(delta.text.clone()),
            EventBody::ThinkingDelta(delta) => Some(format!("({})", delta.text)),
            EventBody::ToolCallStart(_) => Some("start".to_owned()),
            EventBody::ToolCallEnd(end) => Some(end.input["path"].to_string()),
            EventBody::ToolResult(result) => Some(result.output.to_string()),
            _ => None,
        })
        .collect();
    let expected = ["one two", "(hm)", "start", "\"a\"", "\"text\"", "three", "start", "\"b\"", "\"no\""];
    assert_eq!(order, expected);
}

/// Reads until the end of the first turn.
async fn read_turn(gateway: &holdstead_gateway::Gateway, talk: &Talk, after: Seq) -> Vec<Event> {
    let mut events = gateway.stream(&owner("ada"), talk.session, after).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap().unwrap();
        let over = matches!(event.body, EventBody::Done(_));
        seen.push(event);
        if over {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_from_any_cursor_and_the_live_tail_are_the_journal() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("repeat 200\nsay some words\ntool Read {\"path\":\"a\"} => text\nend").await;
    let mut readers = Vec::new();
    // Each begins at another place while the agent works, some ahead of what there is.
    for after in (0..1_000).step_by(100) {
        talk.next().await;
        let (gateway, watching) =
            (world.gateway.clone(), Talk::watch(&world.gateway, talk.session, Seq(0)).await);
        readers.push((after, tokio::spawn(async move { read_turn(&gateway, &watching, Seq(after)).await })));
    }
    talk.completed().await;
    let journal = talk.journal().await;
    assert_eq!(talk.seen, journal[..talk.seen.len()]);
    for (after, reader) in readers {
        let seen = reader.await.unwrap();
        let from = usize::try_from(after).unwrap();
        assert_eq!(seen, journal[from..from + seen.len()], "after {after}");
    }
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let mut slow = world.gateway.stream(&owner("ada"), talk.session, Seq(0)).await.unwrap();
    let first = slow.next().await.unwrap().unwrap();
    talk.say("repeat 300\ntool Read {\"path\":\"a\"} => text\nend").await;
    talk.completed().await;
    let journal = talk.journal().await;
    assert!(journal.len() > 900);
    let mut seen = vec![first];
    while seen.len() < talk.seen.len() {
        seen.push(tokio::time::timeout(PATIENCE, slow.next()).await.unwrap().unwrap().unwrap());
    }
    assert_eq!(seen, journal[..seen.len()]);
}

#[tokio::test]
async fn streams_end_with_the_gateway() {
    let world = World::new().await;
    let talk = world.talk().await;
    let mut events = world.gateway.stream(&owner("ada"), talk.session, Seq(0)).await.unwrap();
    let mut inbox = world.gateway.inbox(&owner("ada"));
    world.gateway.stop().await;
    while tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap().is_some() {}
    while tokio::time::timeout(PATIENCE, inbox.next()).await.unwrap().unwrap().is_some() {}
}

#[tokio::test]
async fn an_agent_that_speaks_before_it_listens_is_heard() {
    let (driver, mut lives) = ActorDriver::new(holdstead_agents::Reasks::Any);
    let world = World::hosting(Arc::new(tempfile::tempdir().unwrap()), Arc::new(driver)).await;
    let mut talk = Talk::open(&world.gateway, opening("actor")).await;
    talk.say("go").await;
    let (launch, side) = lives.recv().await.unwrap();
    let mut actor = Actor { launch, side };
    actor.hears().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    // Like a process with full pipes: it reads nothing until all that it says is taken.
    let speaking = async {
        for n in 0..5_000 {
            actor.says(AgentEvent::Text { text: format!("{n} "), parents: Vec::new() }).await;
        }
    };
    tokio::time::timeout(PATIENCE, speaking).await.expect("it is listened to");
    match actor.hears().await {
        Outgoing::Resolve { resolution: Resolution::Settled { .. }, .. } => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_too_large_to_keep_is_said_so() {
    let (driver, mut lives) = ActorDriver::new(holdstead_agents::Reasks::Any);
    let world = World::hosting(Arc::new(tempfile::tempdir().unwrap()), Arc::new(driver)).await;
    let mut talk = Talk::open(&world.gateway, opening("actor")).await;
    talk.say("go").await;
    let (launch, side) = lives.recv().await.unwrap();
    let mut actor = Actor { launch, side };
    actor.hears().await;
    actor.says(AgentEvent::Text { text: "x".repeat(2_000_000), parents: Vec::new() }).await;
    assert!(talk.error().await.contains("is not kept"));
    actor.ends_turn().await;
    talk.completed().await;
}
