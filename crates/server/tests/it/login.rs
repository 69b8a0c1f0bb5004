//! The link that works once.

use crate::running::Running;
use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

/// Uses a link, with the token that this browser keeps already.
async fn login(running: &Running, code: &Value, kept: Option<&str>) -> (u16, Value) {
    let request = running.plain(Method::POST, "/v1/login").json(&json!({ "code": code }));
    let request = match kept {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let response = request.send().await.expect("an answer");
    assert!(!response.headers().contains_key("set-cookie"), "browsers send cookies to every port of a host");
    assert_eq!(response.headers()["cache-control"], "no-store");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

#[tokio::test]
async fn a_link_becomes_a_token_once_and_dies_politely() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let (status, link) = ana.post("/v1/login-links", &json!({})).await;
    assert_eq!(status, 201);
    let (status, logged_in) = login(&running, &link["code"], None).await;
    assert_eq!(status, 200, "{logged_in}");
    let token = logged_in["token"].as_str().expect("a token");

    let me = running.plain(Method::GET, "/v1/me").bearer_auth(token).send().await.expect("an answer");
    let me: Value = me.json().await.expect("JSON");
    assert_eq!((&me["name"], &me["role"]), (&json!("ana"), &json!("person")));

    // The same browser opens it again, from its history: it goes on as it is.
    assert_eq!(login(&running, &link["code"], Some(token)).await, (200, logged_in.clone()));
    // Another one of the same person is another browser.
    let (_, other) = ana.post("/v1/login-links", &json!({})).await;
    let (_, other) = login(&running, &other["code"], None).await;
    let other = other["token"].as_str().expect("a token");
    for token in [other, ana.token.as_str(), &format!("{token}0")] {
        assert_eq!(login(&running, &link["code"], Some(token)).await.0, 410);
    }
    let (status, problem) = login(&running, &link["code"], None).await;
    assert_eq!(status, 410);
    assert!(problem["detail"].as_str().expect("words").starts_with("This link was used at "), "{problem}");
    assert!(problem["detail"].as_str().expect("words").contains("holdstead open"));
}

#[tokio::test]
async fn a_browser_is_logged_out_after_thirty_days() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let (_, link) = ana.post("/v1/login-links", &json!({})).await;
    let (_, logged_in) = login(&running, &link["code"], None).await;
    let record = running.device(logged_in["token"].as_str().expect("a token")).await;
    let lives = record.expires_at.expect("an end").since(record.created_at);
    assert_eq!(lives.as_secs_f64().round(), 30.0 * 24.0 * 3600.0);
    assert_eq!(record.name, "Browser", "it did not say which");
}

#[tokio::test]
async fn a_cookie_opens_nothing() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    for name in ["holdstead", "token", "authorization", "Authorization"] {
        let cookie = format!("{name}={0}; {name}=Bearer {0}", ana.token);
        for path in ["/v1/me", "/v1/interactions", "/v1/interactions/events", "/openapi.json", "/v1/ws"] {
            let request = running.plain(Method::GET, path).header("cookie", &cookie);
            assert_eq!(request.send().await.expect("an answer").status(), 401, "{path}");
        }
        let request = running.plain(Method::POST, "/v1/tickets").json(&json!({})).header("cookie", &cookie);
        assert_eq!(request.send().await.expect("an answer").status(), 401);
    }
}

#[tokio::test]
async fn a_code_that_nobody_gave_out_is_refused() {
    let running = Running::start().await;
    for body in [json!({"code": "x"}), json!({})] {
        let response = running.plain(Method::POST, "/v1/login").json(&body).send().await.expect("an answer");
        assert_eq!(response.status(), 401);
    }
}

#[tokio::test]
async fn a_viewer_logs_in_and_stays_one_and_an_agent_cannot() {
    let running = Running::start().await;
    let viewer = running.client(Role::Viewer, "screen").await;
    let (status, link) = viewer.post("/v1/login-links", &json!({})).await;
    assert_eq!(status, 201, "{link}");
    let (_, logged_in) = login(&running, &link["code"], None).await;
    let token = logged_in["token"].as_str().expect("a token");
    let me = running.plain(Method::GET, "/v1/me").bearer_auth(token).send().await.expect("an answer");
    let me: Value = me.json().await.expect("JSON");
    assert_eq!((&me["name"], &me["role"]), (&json!("screen"), &json!("viewer")));
    let open = running.plain(Method::POST, "/v1/sessions").bearer_auth(token);
    let refused = open.json(&json!({"agent": "scripted"})).send().await.expect("an answer");
    assert_eq!(refused.status(), 403);
    let agent = running.client(Role::Agent, "ci").await;
    assert_eq!(agent.post("/v1/login-links", &json!({})).await.0, 403);
}
