//! Asks that are too large to be shown: the agent is told so at once, in words.

use holdstead_agents::{AgentEvent, Resolution};
use holdstead_gateway::GatewayConfig;
use holdstead_protocol::AskBody;
use serde_json::json;

use crate::actor::{Stage, ask};
use crate::world::approve;

/// A call that writes this much.
fn write(call: &str, bytes: usize, preview: Option<usize>) -> holdstead_agents::Ask {
    let preview = preview.map(|bytes| "+".repeat(bytes));
    let body = AskBody::Approval { preview, offered_scopes: Vec::new(), is_plan: false };
    ask(call, "Write", json!({ "file_path": "big.txt", "content": "x".repeat(bytes) }), body)
}

#[tokio::test(start_paused = true)]
async fn a_preview_that_does_not_fit_is_left_out_and_the_input_is_shown_whole() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(write("call_1", 600_000, Some(600_000))))).await;
    let shown = talk.ask().await;
    assert_eq!(shown.input["content"].as_str().unwrap().len(), 600_000);
    assert!(matches!(shown.body, AskBody::Approval { preview: None, .. }));
    talk.respond(&shown, approve()).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
}

#[tokio::test(start_paused = true)]
async fn an_input_that_does_not_fit_is_refused_in_words_at_once() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(write("call_1", 1_200_000, None)))).await;
    let Resolution::Closed { message } = actor.is_told("call_1").await else { panic!("it is told why") };
    assert!(message.contains("1048576 can be shown. Make it in smaller parts"), "{message}");
    assert_eq!(talk.error().await, message);
    // The turn goes on, and the next ask is shown.
    actor.asks("call_2").await;
    talk.ask().await;
}
