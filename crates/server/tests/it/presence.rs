//! Who counts as somebody who would answer: whoever may, can, and wants to.

use holdstead_protocol::SessionId;
use holdstead_protocol::api::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::running::{Client, Running};

/// Watches until it is dropped.
async fn watch(client: &Client<'_>, path: &str) -> Response {
    let stream = client.request(Method::GET, path).send().await.expect("an answer");
    assert_eq!(stream.status(), 200, "{path}");
    stream
}

/// As one session shows it, and as the list does.
async fn counts(client: &Client<'_>, session: &str) -> (u64, u64) {
    let of = |session: &Value| {
        let count = |name: &str| session[name].as_u64().expect("a number");
        (count("interactiveClients"), count("enabledClients"))
    };
    let shown = of(&client.get(&format!("/v1/sessions/{session}")).await.1);
    let list = client.get("/v1/sessions").await.1;
    let listed = list["sessions"].as_array().expect("a list");
    let listed = listed.iter().find(|one| one["sessionId"] == session).expect("in the list");
    assert_eq!(of(listed), shown);
    shown
}

#[tokio::test]
async fn only_those_who_may_answer_count() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let events = format!("/v1/sessions/{session}/events");
    let short = format!("/api/sessions/{session}/events");
    let id: SessionId = serde_json::from_value(json!(session)).expect("an id");

    let screen = running.client(Role::Viewer, "screen").await;
    let agent = running.client_in(Role::Agent, "claude", Some(id)).await;
    let runner = running.client_in(Role::Runner, "runner", Some(id)).await;
    let mut lookers = vec![watch(&screen, "/v1/interactions/events").await];
    for client in [&screen, &agent, &runner] {
        lookers.push(watch(client, &events).await);
        lookers.push(watch(client, &short).await);
    }
    assert_eq!(counts(&ana, &session).await, (0, 0), "they may look, and not answer");

    let off = watch(&ana, &format!("{events}?interaction=off&client=tv")).await;
    assert_eq!(counts(&ana, &session).await, (1, 0));
    let desk = watch(&ana, &format!("{events}?client=desk")).await;
    assert_eq!(counts(&ana, &session).await, (2, 1));
    let inbox = watch(&ana, "/v1/interactions/events?client=desk").await;
    assert_eq!(counts(&ana, &session).await, (2, 1), "one client, with two streams");
    drop((off, desk, inbox));
}

#[tokio::test]
async fn a_short_stream_counts_as_what_it_is() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let short = format!("/api/sessions/{session}/events");
    let chat = watch(&ana, &format!("{short}?client=chat")).await;
    assert_eq!(counts(&ana, &session).await, (1, 1), "its person answers by the short forms");
    let shows = watch(&ana, &format!("{short}?interaction=off&client=wall")).await;
    assert_eq!(counts(&ana, &session).await, (2, 1));
    let set = json!({"client": "wall", "mode": "on"});
    assert_eq!(ana.post("/v1/interaction-mode", &set).await.0, 204);
    assert_eq!(counts(&ana, &session).await, (2, 2));
    drop((chat, shows));
}

#[tokio::test]
async fn nobody_switches_anothers_client() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let events = format!("/v1/sessions/{session}/events");
    let desk = watch(&ana, &format!("{events}?client=desk")).await;
    let id: SessionId = serde_json::from_value(json!(session)).expect("an id");
    // An agent that takes the name of a person's client does not make them look away.
    let agent = running.client_in(Role::Agent, "claude", Some(id)).await;
    let agents = watch(&agent, &format!("{events}?client=desk&interaction=off")).await;
    assert_eq!(counts(&ana, &session).await, (1, 1));
    drop(agents);
    assert_eq!(counts(&ana, &session).await, (1, 1));
    let ben = running.client(Role::Person, "ben").await;
    let set = json!({"client": "desk", "mode": "off"});
    assert_eq!(ben.post("/v1/interaction-mode", &set).await.0, 204, "ben has a desk of his own");
    assert_eq!(agent.post("/v1/interaction-mode", &set).await.0, 403);
    assert_eq!(counts(&ana, &session).await, (1, 1));
    drop(desk);
}
