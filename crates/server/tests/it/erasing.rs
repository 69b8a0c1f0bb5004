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
