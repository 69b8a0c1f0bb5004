//! What the agent receives is what was decided, word for word.

use holdstead_agents::{AgentEvent, Resolution};
use holdstead_protocol::{Answer, AskBody, Hold, HoldThen, Response, Scope, Settlement};
use serde_json::json;

use crate::{Life, call};

#[tokio::test]
async fn a_question_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("say First.\nask [hold=5s:park timeout=30s] Store: Where? | SQLite: one file | PostgreSQL")
        .await;
    let ask = life.ask().await;
    assert_eq!((ask.tool_call_id.as_str(), ask.tool_name.as_str()), ("call_1_2", "ask_user"));
    assert_eq!(ask.hold, Some(Hold { after_ms: 5000, then: HoldThen::Park }));
    assert_eq!((ask.timeout_ms, ask.can_park), (Some(30_000), true));
    let AskBody::Question { questions } = &ask.body else { panic!("a question") };
    assert_eq!(ask.input, json!({ "questions": questions }));

    let answer = Answer { question_id: "store".into(), labels: vec!["SQLite".into()], other: None };
    life.settle(&ask, Settlement::Answered, Response::Answer { answers: vec![answer] }).await;
    let received = json!({
        "outcome": "settled",
        "settlement": "answered",
        "response": {"action": "submit", "answers": [{"questionId": "store", "labels": ["SQLite"]}]},
        "input": ask.input,
    });
    assert_eq!(life.told("call_1_2").await, (json!({ "received": received }), false));
    assert_eq!(life.rest().await, "You chose: SQLite.\n");
}

#[tokio::test]
async fn an_approval_runs_the_edited_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message(r#"approve Bash {"command":"npm run build"} because no rule covers npm says Builds it"#)
        .await;
    let ask = life.ask().await;
    assert_eq!(ask.body, AskBody::Approval { preview: None, offered_scopes: vec![], is_plan: false });
    assert_eq!(ask.decision_reason.as_deref(), Some("no rule covers npm"));
    assert_eq!(ask.agent_says.as_deref(), Some("Builds it"));

    let edited = json!({"command": "pnpm build"});
    let response =
        Response::Approve { scope: Scope::Session, lines: Vec::new(), edited_input: Some(edited.clone()) };
    life.settle(&ask, Settlement::Approved, response).await;
    let received = json!({
        "outcome": "settled",
        "settlement": "approved",
        "response": {"action": "approve", "scope": "session", "editedInput": edited},
        "input": {"command": "npm run build"},
    });
    let output = json!({"received": received, "effect": r#"ran: {"command":"pnpm build"}"#});
    assert_eq!(life.told("call_1_1").await, (output, false));
    assert_eq!(life.rest().await, "Bash was approved with your changes.\n");
}

#[tokio::test]
async fn a_refusal_reaches_it_word_for_word_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("approve Bash {\"command\":\"rm -rf dist\"}\nsay Going on.").await;
    let ask = life.ask().await;
    let reason = "use pnpm; \"dist\" stays\n\u{202e}naïve ✕";
    life.settle(&ask, Settlement::Denied, Response::Deny { reason: Some(reason.into()) }).await;
    let received = json!({
        "outcome": "settled",
        "settlement": "denied",
        "response": {"action": "deny", "reason": reason},
        "input": {"command": "rm -rf dist"},
    });
    assert_eq!(life.told("call_1_1").await, (json!({ "received": received }), true));
    assert_eq!(life.rest().await, format!("Not done. You said: \"{reason}\"\nGoing on.\n"));
}

#[tokio::test]
async fn a_form_comes_back_with_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message(
        r#"form {"title":"Release","fields":[{"id":"version","label":"Version","type":"text"},
{"id":"count","label":"Count","type":"number"}]}"#,
    )
    .await;
    // A form that begins on its first line must end on it.
    let (_, reason) = life.done().await;
    assert_eq!(reason, holdstead_protocol::StopReason::Failed);

    life.message(
        "form\n{\"title\":\"Release\",\"fields\":[{\"id\":\"version\",\"label\":\"Version\",\"type\":\"text\"},\n\
        {\"id\":\"count\",\"label\":\"Count\",\"type\":\"number\"}]}\nend",
    )
    .await;
    let ask = life.ask().await;
    assert_eq!(ask.tool_call_id, call("call_2_1"));
    let values = json!({"version": "1.4.0", "count": 2.5});
    let input = values.as_object().unwrap().clone();
    life.settle(&ask, Settlement::Answered, Response::Submit { input }).await;
    let (output, is_error) = life.told("call_2_1").await;
    assert_eq!((&output["received"]["response"]["input"], is_error), (&values, false));
    assert_eq!(life.rest().await, "You sent: version 1.4.0, count 2.5.\n");
}

#[tokio::test]
async fn nobody_decided_and_later_are_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("approve Bash {}\nask Store: Where?").await;
    life.ask().await;
    let message = "Tool approval timed out after 10 minutes".to_owned();
    life.resolve("call_1_1", Resolution::Closed { message: message.clone() }).await;
    let received = json!({"outcome": "closed", "message": message});
    assert_eq!(life.told("call_1_1").await, (json!({ "received": received }), true));
    life.ask().await;
    life.resolve("call_1_2", Resolution::Queued { message: "later".into() }).await;
    let received = json!({"outcome": "queued", "message": "later"});
    assert_eq!(life.told("call_1_2").await, (json!({ "received": received }), false));
    assert_eq!(life.rest().await, "I go on without it for now: later\n");
}

#[tokio::test]
async fn ten_at_once_are_answered_in_shuffled_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    let asks: String = (1..=10).map(|n| format!("approve Bash {{\"n\":{n}}}\n")).collect();
    life.message(&format!("together\n{asks}end\nsay All back.")).await;
    let mut open = Vec::new();
    for n in 1..=10 {
        let ask = life.ask().await;
        assert_eq!(
            (ask.tool_call_id.clone(), &ask.input),
            (call(&format!("call_1_1_{n}")), &json!({ "n": n }))
        );
        open.push(ask);
    }
    for at in [6, 0, 9, 3, 1, 8, 4, 2, 7, 5] {
        let edited_input = Some(json!({ "answer": at }));
        life.settle(
            &open[at],
            Settlement::Approved,
            Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input },
        )
        .await;
        let (output, _) = life.told(open[at].tool_call_id.as_str()).await;
        assert_eq!(output["effect"], format!("ran: {{\"answer\":{at}}}"));
        assert!(matches!(life.next().await, AgentEvent::Text { .. }));
        while life.next().await != AgentEvent::MessageEnd {}
    }
    assert_eq!(life.rest().await, "All back.\n");
}

#[tokio::test]
async fn a_resolution_for_no_open_ask_is_never_acted_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("approve Bash {\"n\":1}\napprove Bash {\"n\":2}").await;
    let first = life.ask().await;
    let error = async |life: &mut Life, id: &str| {
        let message = format!("no ask is open under `{id}`: the resolution was not used");
        assert_eq!(life.next().await, AgentEvent::Error { message });
    };
    life.resolve("call_1_2", Resolution::Queued { message: "not yet asked".into() }).await;
    error(&mut life, "call_1_2").await;
    life.approve(&first).await;
    life.told("call_1_1").await;
    let second = life.ask().await;
    life.approve(&first).await;
    error(&mut life, "call_1_1").await;

    // An approval of another input than the one shown is none.
    let other = holdstead_agents::Ask { input: json!({"n": 1}), ..second.clone() };
    life.approve(&other).await;
    let message = "the resolution of `call_1_2` was not used: \
        the approval is for another input than the one asked about";
    assert_eq!(life.next().await, AgentEvent::Error { message: message.into() });
    life.approve(&second).await;
    assert_eq!(life.told("call_1_2").await.0["effect"], r#"ran: {"n":2}"#);
}

#[tokio::test]
async fn an_edit_shows_its_diff_and_happens_once_approved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rs");
    std::fs::write(&file, "fn a() {\n    old()\n}\n").unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("edit a.rs\n-    old()\n+    new()\nend").await;
    let ask = life.ask().await;
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    old()\n+    new()\n }\n";
    assert_eq!(
        ask.body,
        AskBody::Approval { preview: Some(diff.into()), offered_scopes: vec![], is_plan: false }
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "fn a() {\n    old()\n}\n");
    life.approve(&ask).await;
    assert_eq!(life.told("call_1_1").await.0["effect"], "edited: a.rs");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "fn a() {\n    new()\n}\n");
}
