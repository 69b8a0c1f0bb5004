//! Words, tools, and turns that end.

use holdstead_agents::{AgentEvent, Outgoing, Resolution};
use holdstead_protocol::{Answer, Response, Settlement, StopReason};
use serde_json::json;

use crate::{Life, call, text};

#[tokio::test]
async fn words_are_streamed_and_tools_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("think So.\nas tester\nsay I look.\nas\ntool Read {\"a\":1} => fine\ntool Read {} =! gone")
        .await;
    let tester = || vec!["tester".to_owned()];
    let tool = |id: &str, input: serde_json::Value, result: &str, is_error| {
        let start =
            AgentEvent::ToolCallStart { tool_call_id: call(id), tool_name: "Read".into(), parents: vec![] };
        let delta = AgentEvent::ToolCallDelta { tool_call_id: call(id), text: input.to_string() };
        let end = AgentEvent::ToolCallEnd { tool_call_id: call(id), input };
        let output = json!(result);
        [start, delta, end, AgentEvent::ToolResult { tool_call_id: call(id), output, is_error }]
    };
    let mut expected = vec![
        AgentEvent::Thinking { text: "So.".into(), parents: vec![] },
        AgentEvent::Text { text: "I ".into(), parents: tester() },
        AgentEvent::Text { text: "look.".into(), parents: tester() },
        AgentEvent::MessageEnd,
    ];
    expected.extend(tool("call_1_3", json!({"a": 1}), "fine", false));
    expected.extend(tool("call_1_4", json!({}), "gone", true));
    assert_eq!(life.done().await, (expected, StopReason::Completed));
}

#[tokio::test]
async fn an_interrupt_withdraws_what_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.send(Outgoing::Interrupt).await;
    life.message("together\napprove Bash {}\nask Store: Where?\nend\nsay Never.").await;
    let (first, _) = (life.ask().await, life.ask().await);
    life.send(Outgoing::Interrupt).await;
    let withdrawn = |id: &str| AgentEvent::AskWithdrawn { tool_call_id: call(id) };
    let expected = vec![withdrawn("call_1_1_1"), withdrawn("call_1_1_2")];
    assert_eq!(life.done().await, (expected, StopReason::Interrupted));
    life.approve(&first).await;
    assert!(matches!(life.next().await, AgentEvent::Error { .. }), "a dead ask is dead");

    life.message("wait 1h\nsay Never.").await;
    life.send(Outgoing::Interrupt).await;
    assert_eq!(life.done().await, (vec![], StopReason::Interrupted));
}

#[tokio::test]
async fn a_message_never_answers_an_ask() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("ask Store: Where?").await;
    life.ask().await;
    life.message("say yes").await;
    life.resolve("call_1_1", Resolution::Closed { message: "nobody".into() }).await;
    life.told("call_1_1").await;
    assert_eq!(life.rest().await, "Not done: nobody\n");
    assert_eq!(life.rest().await, "yes\n", "it was kept for the next turn");
}

#[tokio::test]
async fn small_talk_and_mistakes_get_a_sensible_reply() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("hello").await;
    let reply = life.rest().await;
    assert!(reply.contains("\"hello\"") && reply.contains("/demo"), "{reply}");
    life.message("say Never.\ndance").await;
    let (events, reason) = life.done().await;
    assert_eq!(reason, StopReason::Failed);
    assert!(text(&events).starts_with("I cannot run this script. In line 2: `dance` is not a step"));
}

#[tokio::test]
async fn a_load_of_words_arrives_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("repeat 1000\nsay one two three\nend").await;
    assert_eq!(life.rest().await, "one two three\n".repeat(1000));
}

#[tokio::test]
async fn the_demo_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("/demo").await;
    let answer = |id: &str, label: &str| Response::Answer {
        answers: vec![Answer { question_id: id.into(), labels: vec![label.into()], other: None }],
    };
    let store = life.ask().await;
    life.settle(&store, Settlement::Answered, answer("store", "SQLite")).await;
    let build = life.ask().await;
    assert_eq!(build.input, json!({"command": "rm -rf dist && npm run build"}));
    life.approve(&build).await;
    let release = life.ask().await;
    let input = json!({"version": "1.4.0", "channel": "beta"}).as_object().unwrap().clone();
    life.settle(&release, Settlement::Answered, Response::Submit { input }).await;
    let deploy = life.ask().await;
    life.settle(&deploy, Settlement::Answered, answer("deploy", "Staging")).await;
    let said = life.rest().await;
    assert!(said.starts_with("You chose: Staging.\n"), "{said}");
}
