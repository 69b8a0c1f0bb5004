//! The link that works once.

use crate::running::Running;
use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_link_becomes_a_cookie_once_and_dies_politely() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let (status, link) = ana.post("/v1/login-links", &json!({})).await;
    assert_eq!(status, 201);
    let login = || running.plain(Method::POST, "/v1/login").json(&json!({"code": link["code"]})).send();
    let response = login().await.expect("an answer");
    assert_eq!(response.status(), 204);
    let cookie = response.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");

    let pair = cookie.split(';').next().expect("a pair").to_owned();
    let me = running.plain(Method::GET, "/v1/me").header("cookie", &pair).send().await.expect("an answer");
    let me: Value = me.json().await.expect("JSON");
    assert_eq!((&me["name"], &me["role"]), (&json!("ana"), &json!("person")));

    // The same browser opens it again, from its history: it is logged in.
    let reopened = || running.plain(Method::POST, "/v1/login").json(&json!({"code": link["code"]}));
    let again = reopened().header("cookie", &pair).send().await.expect("an answer");
    assert_eq!(again.status(), 204);
    assert!(!again.headers().contains_key("set-cookie"), "it keeps what it has");
    // Another one of the same person is another browser.
    let (_, other) = ana.post("/v1/login-links", &json!({})).await;
    let other = running.plain(Method::POST, "/v1/login").json(&json!({"code": other["code"]})).send().await;
    let other = other.expect("an answer").headers()["set-cookie"].to_str().expect("text").to_owned();
    let other = other.split(';').next().expect("a pair").to_owned();
    for cookie in [other, format!("holdstead={}", ana.token), format!("{pair}0")] {
        let refused = reopened().header("cookie", &cookie).send().await.expect("an answer");
        assert_eq!(refused.status(), 410);
    }

    let again = login().await.expect("an answer");
    assert_eq!(again.status(), 410);
    let problem: Value = again.json().await.expect("JSON");
    assert!(problem["detail"].as_str().expect("words").starts_with("This link was used at "), "{problem}");
    assert!(problem["detail"].as_str().expect("words").contains("holdstead open"));
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
async fn a_viewer_cannot_make_a_link_for_itself() {
    let running = Running::start().await;
    let viewer = running.client(Role::Viewer, "screen").await;
    assert_eq!(viewer.post("/v1/login-links", &json!({})).await.0, 403);
}
