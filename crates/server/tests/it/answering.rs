//! Answers over HTTP: who wins, who loses, and what each is told.

use crate::running::Running;
use holdstead_protocol::api::Role;
use serde_json::{Value, json};

const APPROVAL: &str = "approve Bash {\"command\":\"make build\"}";
const QUESTION: &str = "ask Store: Which store? | SQLite: one file | PostgreSQL: for a team";

/// What the agent was told about its call, verbatim.
async fn received(client: &crate::running::Client<'_>, session: &str) -> Value {
    let path = format!("/v1/sessions/{session}/events");
    let frames = client.follow(&path, |frame| frame.name == "tool_result").await;
    frames.last().expect("a result").data["data"]["output"]["received"].clone()
}

#[tokio::test]
async fn an_answer_reaches_the_agent_exactly() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(QUESTION).await;
    let ask = ana.open_ask(&session).await;
    let (status, receipt) =
        ana.respond(&ask, "k1", json!({"action": "submit", "answers": {"Which store?": "SQLite"}})).await;
    assert_eq!(status, 200, "{receipt}");
    assert_eq!(receipt["settlement"], "answered");
    let told = received(&ana, &session).await;
    assert_eq!(
        told["response"],
        json!({"action": "submit", "answers": [{"questionId": "store", "labels": ["SQLite"]}]})
    );
}

#[tokio::test]
async fn the_loser_is_told_who_won_from_where_and_when() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ben = running.client(Role::Person, "ben").await;
    let session = ana.session(APPROVAL).await;
    let ask = ana.open_ask(&session).await;
    let (status, _) = ana.respond(&ask, "k1", json!({"action": "deny", "reason": "use pnpm"})).await;
    assert_eq!(status, 200);
    let (status, problem) = ben.respond(&ask, "k2", json!({"action": "approve"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("already_answered")), "{problem}");
    assert_eq!(problem["winner"]["name"], "ana");
    assert_eq!(problem["winner"]["action"], "deny");
    assert_eq!(problem["winner"]["surface"], "api");
    assert!(problem["winner"]["at"].is_string());
    assert_eq!(received(&ana, &session).await["response"]["reason"], "use pnpm");
}

#[tokio::test]
async fn the_same_key_gets_the_original_result_and_another_body_is_refused() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(APPROVAL).await;
    let ask = ana.open_ask(&session).await;
    let (_, first) = ana.respond(&ask, "k1", json!({"action": "approve"})).await;
    let (status, again) = ana.respond(&ask, "k1", json!({"action": "approve"})).await;
    assert_eq!((status, &again["seq"]), (200, &first["seq"]));
    let (status, problem) = ana.respond(&ask, "k1", json!({"action": "deny"})).await;
    assert_eq!((status, &problem["code"]), (422, &json!("idempotency_key_reused")));
}

#[tokio::test]
async fn a_blank_answer_is_refused_and_the_ask_stays_open() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(QUESTION).await;
    let ask = ana.open_ask(&session).await;
    for answers in [json!({}), json!({"store": ""}), json!({"store": "  "})] {
        let (status, problem) = ana.respond(&ask, "k", json!({"action": "submit", "answers": answers})).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")));
        assert!(problem["fieldErrors"]["store"].is_string(), "{problem}");
    }
    let (status, _) = ana.respond(&ask, "k", json!({"action": "approve"})).await;
    assert_eq!(status, 422, "a question is not an approval");
    let (status, _) =
        ana.respond(&ask, "k", json!({"action": "submit", "answers": {"store": "SQLite"}})).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_interrupted_ask_is_gone() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(APPROVAL).await;
    let ask = ana.open_ask(&session).await;
    let (status, stopped) = ana.post(&format!("/v1/sessions/{session}/interrupt"), &json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(stopped["cancelled"], json!([ask["request"]["interactionId"]]));
    let (status, problem) = ana.respond(&ask, "k", json!({"action": "approve"})).await;
    assert_eq!((status, &problem["code"]), (410, &json!("closed")));
}

#[tokio::test]
async fn an_unknown_or_stale_prompt_is_refused() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(APPROVAL).await;
    let ask = ana.open_ask(&session).await;
    let mut other = ask.clone();
    other["request"]["promptId"] = json!("prm_00000000000000000000000000000000");
    let (status, problem) = ana.respond(&other, "k", json!({"action": "approve"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("stale_prompt")));
    assert_eq!(problem["promptId"], ask["request"]["promptId"], "it names the prompt to answer");
}
