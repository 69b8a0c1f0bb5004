//! The short forms and the short vocabulary.

use crate::running::Running;
use holdstead_protocol::api::Role;
use serde_json::json;

#[tokio::test]
async fn questions_and_approvals_in_the_short_vocabulary() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session =
        ana.session("ask Store: Which store? | SQLite | PostgreSQL\napprove Bash {\"command\":\"ls\"}").await;
    let events = format!("/api/sessions/{session}/events");
    let answers = format!("/api/sessions/{session}/submit-answers");
    let approve = format!("/api/sessions/{session}/approve");

    let frames = ana.follow(&events, |frame| frame.name == "question_prompt").await;
    let prompt = &frames.last().expect("a prompt").data["data"];
    assert_eq!(prompt["questions"][0]["question"], "Which store?");
    let call = prompt["toolCallId"].clone();

    let (status, error) = ana.post(&answers, &json!({"toolCallId": call})).await;
    assert_eq!((status, error), (400, json!({"error": "toolCallId and answers are required"})));
    let (status, error) =
        ana.post(&answers, &json!({"toolCallId": "call_none", "answers": {"0": "x"}})).await;
    assert_eq!((status, error), (404, json!({"error": "No pending question"})));
    let (status, error) = ana.post(&approve, &json!({"toolCallId": call})).await;
    assert_eq!(
        (status, error),
        (404, json!({"error": "No pending approval"})),
        "a question is not an approval"
    );
    let (status, _) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": ""}})).await;
    assert_eq!(status, 422);
    let (status, ok) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": "SQLite"}})).await;
    assert_eq!((status, ok), (200, json!({"ok": true})));
    let (status, _) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": "SQLite"}})).await;
    assert_eq!(status, 404, "it is settled");

    let frames = ana.follow(&events, |frame| frame.name == "approval_required").await;
    let required = &frames.last().expect("an approval").data["data"];
    assert_eq!(required["toolName"], "Bash");
    assert_eq!(required["input"], "{\"command\":\"ls\"}", "the input is JSON in a string");
    let (status, _) = ana.post(&approve, &json!({"toolCallId": required["toolCallId"]})).await;
    assert_eq!(status, 200);
    let frames = ana.follow(&events, |frame| frame.name == "done").await;
    assert!(frames.iter().any(|frame| frame.name == "tool_result"), "the rest is unchanged");
}

#[tokio::test]
async fn a_short_denial_carries_its_words() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("approve Bash {\"command\":\"ls\"}").await;
    let ask = ana.open_ask(&session).await;
    let body = json!({"toolCallId": ask["request"]["toolCallId"], "reason": "use pnpm"});
    assert_eq!(ana.post(&format!("/api/sessions/{session}/deny"), &body).await.0, 200);
    let path = format!("/v1/sessions/{session}/events");
    let frames = ana.follow(&path, |frame| frame.name == "tool_result").await;
    let told = &frames.last().expect("a result").data["data"]["output"]["received"]["response"];
    assert_eq!(told, &json!({"action": "deny", "reason": "use pnpm"}));
}
