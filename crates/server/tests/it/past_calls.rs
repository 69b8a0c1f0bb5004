//! Rules held against calls of before, over HTTP.

use holdstead_protocol::api::Role;
use serde_json::{Value, json};

use crate::running::{Client, Running};

async fn decided(person: &Client<'_>, line: &str, response: Value) {
    let session = person.session(&format!("approve Bash {}", json!({"command": line}))).await;
    let ask = person.open_ask(&session).await;
    let (status, said) = person.respond(&ask, line, response).await;
    assert_eq!(status, 200, "{said}");
}

/// Two approvals, one denial, one approval of another input, and one call that a rule allowed.
async fn a_past(person: &Client<'_>) {
    decided(person, "ls src", json!({"action": "approve"})).await;
    decided(person, "ls web", json!({"action": "approve"})).await;
    decided(person, "cat notes.md", json!({"action": "deny"})).await;
    let edited = json!({"action": "approve", "editedInput": {"command": "wc b"}});
    decided(person, "wc a", edited).await;
    assert_eq!(person.post("/v1/rules", &json!({"line": "allow Bash(echo:*)"})).await.0, 201);
    let session = person.session(r#"approve Bash {"command":"echo a"}"#).await;
    person.follow(&format!("/v1/sessions/{session}/events"), |frame| frame.name == "done").await;
}

fn texts(calls: &Value) -> Vec<&str> {
    let listed = calls["calls"].as_array().expect("a list");
    assert_eq!(calls["count"], listed.len(), "{calls}");
    let mut texts: Vec<&str> = listed.iter().map(|call| call["text"].as_str().expect("a text")).collect();
    texts.sort_unstable();
    texts
}

#[tokio::test]
async fn a_file_of_rules_is_simulated_and_nothing_is_saved() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    a_past(&ana).await;
    let rules = ana.get("/v1/rules").await.1;
    let text = "default $on yes\nallow Bash(ls:*) when $on yes\nallow Bash(cat:*)\nask Bash(wc:*)\ndeny Bash(echo:*) # no";
    let (status, said) = ana.post("/v1/rules/simulate", &json!({"text": text})).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["read"], json!({"sessions": 5, "calls": 5, "isAll": true}));
    assert_eq!(texts(&said["newlyAllowed"]), ["cat notes.md", "ls src", "ls web"]);
    assert_eq!(texts(&said["newlyDenied"]), ["echo a"]);
    assert_eq!(texts(&said["newlyAsked"]), [""; 0]);
    assert_eq!(texts(&said["allowedAgainstPeople"]), ["cat notes.md"]);
    assert_eq!(said["newlyDenied"]["calls"][0]["toolName"], "Bash");
    assert_eq!(ana.get("/v1/rules").await.1, rules, "nothing was saved");

    let (status, wrong) = ana.post("/v1/rules/simulate", &json!({"text": "allow Read\nalow Edit"})).await;
    assert_eq!(status, 422, "{wrong}");
    assert!(wrong["fieldErrors"]["text"].as_str().is_some_and(|why| why.starts_with("line 2")), "{wrong}");
}

#[tokio::test]
async fn rules_are_suggested_from_approvals_and_never_what_was_denied() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    a_past(&ana).await;
    let (status, said) = ana.get("/v1/rules/suggest").await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["read"]["calls"], 5);
    let suggestions = said["suggestions"].as_array().expect("a list");
    assert_eq!(suggestions.len(), 1, "{said}");
    assert_eq!(suggestions[0]["lines"], json!(["allow Bash(ls:*)"]));
    assert_eq!(suggestions[0]["saves"], 2);
    assert_eq!(suggestions[0]["examples"].as_array().map(Vec::len), Some(2));
    assert!(!suggestions[0]["reach"].as_array().expect("sentences").is_empty(), "{said}");

    assert_eq!(ana.post("/v1/rules", &json!({"line": "allow Bash(ls:*)"})).await.0, 201);
    assert_eq!(ana.get("/v1/rules/suggest").await.1["suggestions"], json!([]), "it is saved already");
}

#[tokio::test]
async fn the_past_is_for_people_only() {
    let running = Running::start().await;
    for (role, name) in [(Role::Viewer, "vic"), (Role::Runner, "bot"), (Role::Agent, "ci")] {
        let other = running.client(role, name).await;
        assert_eq!(other.get("/v1/rules/suggest").await.0, 403);
        assert_eq!(other.post("/v1/rules/simulate", &json!({"text": ""})).await.0, 403);
    }
}
