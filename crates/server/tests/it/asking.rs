//! Any program asks.

use crate::running::Running;
use holdpoint_protocol::api::Role;
use serde_json::json;

#[tokio::test]
async fn a_program_asks_waits_and_gets_the_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call =
        json!({"key": "deploy-42", "kind": "approval", "toolName": "deploy", "input": {"to": "production"}});
    let (status, ask) = ci.post("/v1/interactions", &call).await;
    assert_eq!(status, 201, "{ask}");
    let (_, again) = ci.post("/v1/interactions", &call).await;
    assert_eq!(again["request"]["interactionId"], ask["request"]["interactionId"], "one key is one ask");

    let path =
        format!("/v1/interactions/{}?wait=20s", ask["request"]["interactionId"].as_str().expect("an id"));
    let (answered, (status, settled)) = tokio::join!(
        ana.respond(&ask, "k", json!({"action": "deny", "reason": "not on Friday"})),
        ci.get(&path),
    );
    assert_eq!(answered.0, 200);
    assert_eq!((status, &settled["settlement"]), (200, &json!("denied")), "{settled}");
    assert_eq!(settled["response"]["reason"], "not on Friday");
    let (_, after) = ci.get(&path).await;
    assert_eq!(after["delivery"]["delivery"], "acknowledged", "{after}");
}

#[tokio::test]
async fn an_agents_token_can_ask_and_never_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let own = session.parse().expect("a session id");
    let agent = running.client_in(Role::Agent, "agent", Some(own)).await;
    let call = json!({"key": "k", "kind": "approval", "toolName": "rm", "input": {}});
    let (status, ask) = agent.post("/v1/interactions", &call).await;
    assert_eq!((status, &ask["sessionId"]), (201, &json!(session)));
    let (status, problem) = agent.respond(&ask, "k", json!({"action": "approve"})).await;
    assert_eq!((status, &problem["code"]), (403, &json!("forbidden")));

    let other = ana.session("say hello").await;
    let (status, _) = agent.get(&format!("/v1/sessions/{other}")).await;
    assert_eq!(status, 403, "it sees its own session only");
    let (status, _) = agent.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(status, 200);
    let (status, _) = agent.get("/v1/interactions").await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn a_changed_ask_under_the_same_key_is_refused() {
    let running = Running::start().await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = |to: &str| json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {"to": to}});
    assert_eq!(ci.post("/v1/interactions", &call("staging")).await.0, 201);
    let (status, problem) = ci.post("/v1/interactions", &call("production")).await;
    assert_eq!((status, &problem["code"]), (422, &json!("key_reused")));
}

#[tokio::test]
async fn the_inbox_pages_by_age() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let mut asked = Vec::new();
    for n in 0..5 {
        let call =
            json!({"key": format!("k{n}"), "kind": "approval", "toolName": "deploy", "input": {"n": n}});
        asked.push(ci.post("/v1/interactions", &call).await.1["request"]["interactionId"].clone());
    }
    let mut seen = Vec::new();
    let mut place = String::new();
    for _ in 0..5 {
        let (_, page) = ana.get(&format!("/v1/interactions?limit=2{place}")).await;
        let asks = page["interactions"].as_array().expect("a list").clone();
        seen.extend(asks.iter().map(|ask| ask["request"]["interactionId"].clone()));
        match page["next"].as_str() {
            Some(next) => place = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, asked);
}
