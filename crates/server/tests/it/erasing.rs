//! An ended session is erased by a person, and by nobody else.

use holdstead_protocol::api::Role;
use serde_json::json;

use crate::running::Running;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_session_can_be_erased_by_a_person() {
    let running = Running::start().await;
    let person = running.client(Role::Person, "Ada").await;
    let session = person.session(r#"approve Bash {"command":"make it so"}"#).await;
    let path = format!("/v1/sessions/{session}");
    let (status, problem) = person.post(&format!("{path}/erase"), &json!({})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{problem}");
    let agent = running.client_in(Role::Agent, "agent", Some(session.parse().expect("an id"))).await;
    assert_eq!(agent.post(&format!("{path}/erase"), &json!({})).await.0, 403);

    assert_eq!(person.delete(&path).await.0, 204);
    // Its agent may still be going: whoever erases waits for that.
    assert_eq!(person.post(&format!("{path}/erase"), &json!({})).await.0, 204);
    assert_eq!(person.post(&format!("{path}/erase"), &json!({})).await.0, 204, "it is gone already");
    let (status, shown) = person.get(&path).await;
    assert_eq!((status, &shown["state"], shown.get("title")), (200, &json!("ended"), None), "{shown}");
    let (_, page) = person.get(&format!("{path}/events")).await;
    assert_eq!(page["events"], json!([]));
    let (_, asks) = person.get(&format!("/v1/interactions?session={session}")).await;
    assert_eq!(asks["interactions"], json!([]));
    let frames = person.follow(&format!("{path}/events"), |frame| frame.name == "resume").await;
    assert_eq!(frames[0].data["resume"], "ok");
    let (status, _) = person.post(&format!("{path}/messages"), &json!({"text": "say hello"})).await;
    assert_eq!(status, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_session_is_ended_and_erased_by_an_admin_only() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ben = running.client(Role::Person, "ben").await;
    let admin = running.client(Role::Admin, "root").await;
    let program = running.client(Role::Agent, "ci").await;
    let session = ana.session("say hello").await;
    let path = format!("/v1/sessions/{session}");
    let (status, problem) = ben.delete(&path).await;
    assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
    let words = problem["detail"].as_str().expect("words");
    assert!(words.contains("named ana") && words.contains("admin"), "{words}");
    assert_ne!(ana.get(&path).await.1["state"], "ended");

    // Another device of hers is hers, too.
    let phone = running.client(Role::Person, "ana").await;
    assert_eq!(phone.delete(&path).await.0, 204);
    assert_eq!(ben.post(&format!("{path}/erase"), &json!({})).await.0, 403);
    assert_eq!(
        ana.get(&format!("{path}/events")).await.1["events"].as_array().map(Vec::is_empty),
        Some(false)
    );
    assert_eq!(admin.post(&format!("{path}/erase"), &json!({})).await.0, 204);

    // What a program opened is nobody's but an admin's.
    let ask = json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {}});
    let (status, asked) = program.post("/v1/interactions", &ask).await;
    assert_eq!(status, 201, "{asked}");
    let path = format!("/v1/sessions/{}", asked["sessionId"].as_str().expect("an id"));
    assert_eq!(ben.delete(&path).await.0, 403);
    assert_eq!(admin.delete(&path).await.0, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_has_the_ids_of_who_opened_and_asked_and_answered() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ben = running.client(Role::Person, "ben").await;
    let program = running.client(Role::Agent, "ci").await;
    let ids = async |token: &str| {
        let device = running.device(token).await;
        json!({"personId": device.person, "deviceId": device.id})
    };
    let session = ana.session(r#"approve Bash {"command":"make it so"}"#).await;
    let ask = ana.open_ask(&session).await;
    assert_eq!(ben.respond(&ask, "k", json!({"action": "deny"})).await.0, 200);
    let (_, page) = ana.get(&format!("/v1/sessions/{session}/events")).await;
    let event = |kind: &str| {
        let events = page["events"].as_array().expect("events");
        events
            .iter()
            .find(|event| event["type"] == kind)
            .map(|event| event["data"].clone())
            .expect("it is there")
    };
    let (hers, his) = (ids(&ana.token).await, ids(&ben.token).await);
    assert_eq!(event("session_opened")["openedBy"], json!({"name": "ana", "actor": hers}));
    assert_eq!(event("user_message")["actor"], hers);
    assert_eq!(event("interaction_response")["actor"], his);

    let ask = json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {}});
    let (_, asked) = program.post("/v1/interactions", &ask).await;
    assert_eq!(asked["request"]["askedBy"]["actor"], ids(&program.token).await, "{asked}");
}
