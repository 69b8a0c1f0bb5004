//! Variables of a session: who sets them, and what is said of it.

use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::{Client, Running};

async fn put(client: &Client<'_>, session: &str, variables: Value) -> (u16, Value) {
    let request = client.request(Method::PUT, &format!("/v1/sessions/{session}/variables"));
    let response = request.json(&json!({ "variables": variables })).send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

async fn opened(client: &Client<'_>, variables: Value) -> String {
    let (status, session) =
        client.post("/v1/sessions", &json!({"agent": "scripted", "variables": variables})).await;
    assert_eq!(status, 201, "{session}");
    session["sessionId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn people_set_and_remove_variables_and_the_journal_says_who() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = opened(&ana, json!({"phase": "build", "count": 2, "ready": false})).await;
    let (status, shown) = put(&ana, &session, json!({"phase": "release", "count": null})).await;
    assert_eq!((status, &shown["variables"]), (200, &json!({"phase": "release", "ready": false})), "{shown}");
    let (_, shown) = ana.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(shown["variables"], json!({"phase": "release", "ready": false}));
    let (_, page) = ana.get(&format!("/v1/sessions/{session}/events")).await;
    let events = page["events"].as_array().expect("events");
    let told = &events.last().expect("the last one");
    assert_eq!((&told["type"], &told["data"]["name"]), (&json!("variables_set"), &json!("ana")), "{told}");
    assert_eq!(told["data"]["variables"], json!({"phase": "release", "count": null}));
    assert!(told["data"]["actor"]["deviceId"].is_string(), "{told}");
}

#[tokio::test]
async fn neither_agents_nor_viewers_nor_strangers_set_variables() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = opened(&ana, json!({"phase": "build"})).await;
    let id = session.parse().expect("an id");
    for client in [
        running.client_in(Role::Agent, "its agent", Some(id)).await,
        running.client(Role::Runner, "runner").await,
        running.client(Role::Viewer, "viewer").await,
        running.client_in(Role::Person, "bound", Some(id)).await,
    ] {
        let (status, problem) = put(&client, &session, json!({"phase": "release"})).await;
        assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
    }
    let (_, shown) = ana.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(shown["variables"], json!({"phase": "build"}));
}

#[tokio::test]
async fn what_is_no_variable_is_refused_in_words_and_nothing_is_set() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = opened(&ana, json!({})).await;
    for (variables, words) in [
        (json!({"stop_attempts": 9}), "counted by Holdstead"),
        (json!({"fine": 1, "$phase": "x"}), "small letter"),
        (json!({"phase": "x".repeat(201)}), "at most 200 bytes"),
        (json!({"count": 1.5}), "a whole number"),
        (json!({"list": ["x"]}), "a whole number"),
    ] {
        let (status, problem) = put(&ana, &session, variables.clone()).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{variables}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{problem}");
    }
    let (_, shown) = ana.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(shown.get("variables"), None);
}
