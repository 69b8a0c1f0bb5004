//! What is refused before anything is looked at.

use crate::running::Running;
use holdstead_protocol::api::Role;
use holdstead_server::{RateLimit, ServerConfig};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_foreign_host_origin_or_content_type_is_refused() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let foreign = [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")];
    for (header, value) in foreign {
        let response =
            ana.request(Method::GET, "/v1/me").header(header, value).send().await.expect("an answer");
        assert_eq!(response.status(), 403, "{header}: {value}");
        let problem: Value = response.json().await.expect("a problem");
        assert_eq!(problem["code"], "foreign_origin");
    }
    let own = ana.request(Method::GET, "/v1/me").header("origin", running.url.as_str()).send().await;
    assert_eq!(own.expect("an answer").status(), 200);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "text/plain; application/json"] {
        let request = ana.request(Method::POST, "/v1/sessions").header("content-type", kind);
        let response = request.body("{\"agent\":\"scripted\"}").send().await.expect("an answer");
        assert_eq!(response.status(), 415, "{kind}");
    }
}

#[tokio::test]
async fn without_a_token_there_is_nothing() {
    let running = Running::start().await;
    for path in ["/v1/me", "/v1/sessions", "/v1/interactions", "/openapi.json", "/healthz"] {
        let response = running.plain(Method::GET, path).send().await.expect("an answer");
        assert_eq!(response.status(), 401, "{path}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
    let response =
        running.plain(Method::GET, "/v1/me").bearer_auth("hs_wrong").send().await.expect("an answer");
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn an_oversized_body_and_an_unknown_place_are_problems_too() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let large = serde_json::json!({"agent": "scripted", "title": "x".repeat(2 * 1024 * 1024)});
    let (status, problem) = ana.post("/v1/sessions", &large).await;
    assert_eq!((status, &problem["code"]), (413, &serde_json::json!("too_large")));
    let (status, problem) = ana.get("/v1/nothing").await;
    assert_eq!((status, &problem["code"]), (404, &serde_json::json!("not_found")));
    let (status, _) = ana.delete("/v1/sessions").await;
    assert_eq!(status, 405);
    let (status, _) = ana.get("/v1/sessions/not-an-id").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn the_page_allows_no_foreign_script() {
    let running = Running::start().await;
    for path in ["/", "/login"] {
        let response = running.plain(Method::GET, path).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let policy = response.headers()["content-security-policy"].to_str().expect("text").to_owned();
        assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
        // Nothing that is text becomes a script: the token lies in the page's storage. The one policy names one address,
        // whatever it is asked for: that of the page's service worker.
        assert!(policy.contains("require-trusted-types-for 'script'; trusted-types shell"), "{policy}");
    }
}

#[tokio::test]
async fn a_flood_from_one_token_is_told_to_wait_and_another_token_is_served() {
    // A bucket that holds five and takes an hour to fill: no machine is too slow to flood it.
    let rate_limit = RateLimit { burst: 5.0, per_second: 1.0 / 3_600.0 };
    let running = Running::start_with(ServerConfig { rate_limit, ..ServerConfig::default() }).await;
    let flood = running.client(Role::Viewer, "flood").await;
    let ana = running.client(Role::Person, "ana").await;
    for _ in 0..5 {
        let response = flood.request(Method::GET, "/healthz").send().await.expect("an answer");
        assert_eq!(response.status(), 204);
    }
    let response = flood.request(Method::GET, "/healthz").send().await.expect("an answer");
    assert_eq!(response.status(), 429);
    let wait: u64 = response.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!((3_590..=3_601).contains(&wait), "{wait}");
    assert_eq!(ana.get("/v1/me").await.0, 200);
}

#[tokio::test]
async fn the_bytes_of_a_body_count_and_another_token_is_served() {
    let rate_limit = RateLimit { burst: 5.0, per_second: 1.0 / 3_600.0 };
    let running = Running::start_with(ServerConfig { rate_limit, ..ServerConfig::default() }).await;
    let flood = running.client(Role::Person, "flood").await;
    let ana = running.client(Role::Person, "ana").await;
    let call =
        json!({"key": "k", "kind": "approval", "toolName": "t", "input": {"text": "x".repeat(900 * 1024)}});
    let (status, problem) = flood.post("/v1/interactions", &call).await;
    assert_eq!((status, &problem["code"]), (429, &json!("rate_limited")), "{problem}");
    assert_eq!(flood.get("/v1/me").await.0, 429);
    assert_eq!(ana.get("/v1/me").await.0, 200);
}

#[tokio::test]
async fn made_up_tokens_tickets_and_codes_take_nothing_from_a_good_token() {
    let running = Running::start_with(ServerConfig {
        allowed_hosts: vec!["desk.test".to_owned()],
        ..ServerConfig::default()
    })
    .await;
    let made_up = |n: usize| running.plain(Method::GET, "/v1/me").bearer_auth(format!("hs_{n}")).send();
    let code = |n: usize| {
        let request = running.plain(Method::POST, "/v1/login").header("host", "desk.test");
        request.json(&json!({"code": format!("made up {n}")})).send()
    };
    for (what, refused) in [
        ("tokens", futures_util::future::join_all((0..700).map(made_up)).await),
        ("codes", futures_util::future::join_all((0..700).map(code)).await),
    ] {
        let statuses: Vec<_> =
            refused.into_iter().map(|answer| answer.expect("an answer").status().as_u16()).collect();
        assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{what}: {statuses:?}");
        assert!(statuses.contains(&401) && statuses.contains(&429), "{what}: {statuses:?}");
    }
    // This process has seen neither of them yet, as after a restart.
    let ana = running.client(Role::Person, "ana").await;
    assert_eq!(ana.get("/v1/me").await.0, 200);
    let (status, ticket) = ana.post("/v1/tickets", &json!({})).await;
    assert_eq!(status, 201, "{ticket}");
    let (_, link) = ana.post("/v1/login-links", &json!({})).await;
    let log_in = running.plain(Method::POST, "/v1/login").header("host", "desk.test");
    let log_in = log_in.json(&json!({"code": link["code"]})).send().await.expect("an answer");
    assert_eq!(log_in.status(), 200);
}
