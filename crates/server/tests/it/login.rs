//! The link that works once, and the browsers that it logs in.

use std::sync::Arc;

use holdstead_client::Browser;
use holdstead_protocol::api::Role;
use holdstead_store::bearer_hash;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::running::{Running, read};

/// Uses a link.
async fn login(browser: &Browser, code: &Value) -> (u16, Value) {
    let body = json!({ "code": code });
    let response = browser.send(Method::POST, "/v1/login", Some(&body)).await.expect("an answer");
    assert!(!response.headers().contains_key("set-cookie"), "browsers send cookies to every port of a host");
    assert_eq!(response.headers()["cache-control"], "no-store");
    read(response).await
}

async fn get(browser: &Browser, path: &str) -> (u16, Value) {
    read(browser.send(Method::GET, path, None).await.expect("an answer")).await
}

#[tokio::test]
async fn a_link_makes_a_key_a_device_once_and_dies_politely() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let (status, link) = ana.post("/v1/login-links", &json!({})).await;
    assert_eq!(status, 201);
    let browser = Browser::new(&running.url);
    assert_eq!(login(&browser, &link["code"]).await, (200, json!({})), "no token goes over the wire");
    let (_, me) = get(&browser, "/v1/me").await;
    assert_eq!((&me["name"], &me["role"]), (&json!("ana"), &json!("person")));
    let (_, page) = get(&browser, "/v1/devices").await;
    let ways: Vec<_> =
        page["devices"].as_array().expect("a list").iter().map(|one| &one["identifiedBy"]).collect();
    assert_eq!(ways, [&json!("token"), &json!("key")]);

    // Its first answer may have been lost.
    assert_eq!(login(&browser, &link["code"]).await, (200, json!({})));
    let other = running.browser(&ana).await;
    let (status, problem) = login(&Browser::new(&running.url), &link["code"]).await;
    assert_eq!(status, 410);
    let words = problem["detail"].as_str().expect("words");
    assert!(words.starts_with("This link was used at ") && words.contains("holdstead open"), "{problem}");
    // A key that was logged out stays out, with any link.
    let (_, me) = get(&other, "/v1/me").await;
    let device = format!("/v1/devices/{}", me["deviceId"].as_str().expect("an id"));
    assert_eq!(ana.delete(&device).await.0, 204);
    let (status, problem) = get(&other, "/v1/me").await;
    assert_eq!((status, &problem["code"]), (401, &json!("unauthenticated")));
    let (_, fresh) = ana.post("/v1/login-links", &json!({})).await;
    assert_eq!(login(&other, &fresh["code"]).await.0, 401);
    assert_eq!(login(&Browser::new(&running.url), &fresh["code"]).await.0, 200, "the link was not used up");
}

#[tokio::test]
async fn of_many_browsers_with_one_link_one_gets_in() {
    let running = Arc::new(Running::start().await);
    let ana = running.client(Role::Person, "ana").await;
    let (_, link) = ana.post("/v1/login-links", &json!({})).await;
    let mut browsers = JoinSet::new();
    for _ in 0..20 {
        let (browser, code) = (Browser::new(&running.url), link["code"].clone());
        browsers.spawn(async move { login(&browser, &code).await.0 });
    }
    let mut seen = browsers.join_all().await;
    seen.sort_unstable();
    assert_eq!((seen[0], &seen[1..]), (200, &[410; 19][..]));
}

#[tokio::test]
async fn a_browser_is_logged_out_after_thirty_days() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let browser = running.browser(&ana).await;
    let (_, page) = ana.get("/v1/devices").await;
    let device = &page["devices"][1];
    assert_eq!(device["name"], "Browser", "it did not say which");
    let moment = |field: &str| -> holdstead_protocol::Timestamp {
        serde_json::from_value(device[field].clone()).expect("a moment")
    };
    let lives = moment("expiresAt").since(moment("createdAt"));
    assert_eq!(lives.as_secs_f64().round(), 30.0 * 24.0 * 3600.0);
    assert_eq!(get(&browser, "/v1/me").await.0, 200);
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
    let browser = Browser::new(&running.url);
    for body in [json!({"code": "x"}), json!({})] {
        let response = browser.send(Method::POST, "/v1/login", Some(&body)).await.expect("an answer");
        let (status, problem) = read(response).await;
        assert_eq!((status, &problem["code"]), (401, &json!("unauthenticated")));
    }
}

#[tokio::test]
async fn a_viewer_logs_in_and_stays_one_and_an_agent_cannot() {
    let running = Running::start().await;
    let viewer = running.client(Role::Viewer, "screen").await;
    let browser = running.browser(&viewer).await;
    let (_, me) = get(&browser, "/v1/me").await;
    assert_eq!((&me["name"], &me["role"]), (&json!("screen"), &json!("viewer")));
    let open = json!({"agent": "scripted"});
    let refused = browser.send(Method::POST, "/v1/sessions", Some(&open)).await.expect("an answer");
    assert_eq!(refused.status(), 403);
    let agent = running.client(Role::Agent, "ci").await;
    assert_eq!(agent.post("/v1/login-links", &json!({})).await.0, 403);
}

/// Where a page has no cryptography: over plain http at a network address.
#[tokio::test]
async fn a_browser_that_cannot_sign_has_a_token_for_its_address_and_never_an_admins_rights() {
    let running = at_two_names().await;
    let admin = running.client(Role::Admin, "root").await;
    let (_, link) = admin.post("/v1/login-links", &json!({})).await;
    let unsigned = |host: &str, path: &str, body: &Value| {
        running.plain(Method::POST, path).header("host", host).json(body)
    };
    let code = json!({"code": link["code"]});
    for host in ["", "localhost"] {
        let host = running.url.replace("http://127.0.0.1", if host.is_empty() { "127.0.0.1" } else { host });
        let (status, problem) =
            read(unsigned(&host, "/v1/login", &code).send().await.expect("an answer")).await;
        assert_eq!((status, &problem["code"]), (401, &json!("signature_needed")), "{problem}");
    }
    let (status, given) = read(unsigned(ONE, "/v1/login", &code).send().await.expect("an answer")).await;
    assert_eq!(status, 200, "{given}");
    let token = given["token"].as_str().expect("a token");
    assert!(token.starts_with("hsb_"));

    let with = |host: &str, method: Method, path: &str| {
        running.plain(method, path).header("host", host).bearer_auth(token)
    };
    let (_, me) = read(with(ONE, Method::GET, "/v1/me").send().await.expect("an answer")).await;
    assert_eq!((&me["name"], &me["role"]), (&json!("root"), &json!("person")), "{me}");
    let upper = ONE.to_ascii_uppercase();
    assert_eq!(with(&upper, Method::GET, "/v1/me").send().await.expect("an answer").status(), 200);
    let local = running.url.trim_start_matches("http://");
    for host in [OTHER, local] {
        let refused = with(host, Method::GET, "/v1/me").send().await.expect("an answer");
        assert_eq!(refused.status(), 401, "{host}");
    }
    let open = json!({"url": "http://203.0.113.9:4780"});
    let refused = with(ONE, Method::POST, "/v1/network").json(&open).send().await.expect("an answer");
    assert_eq!(refused.status(), 403, "only an admin may");
    assert_eq!(with(ONE, Method::GET, "/metrics").send().await.expect("an answer").status(), 403);
    let remove = json!({"name": "vm"});
    let refused =
        with(ONE, Method::POST, "/v1/runners/remove").json(&remove).send().await.expect("an answer");
    assert_eq!(refused.status(), 403);
    for (path, body) in
        [("/v1/login-links", json!({})), ("/v1/pairings", json!({"url": format!("http://{ONE}")}))]
    {
        let refused = with(ONE, Method::POST, path).json(&body).send().await.expect("an answer");
        assert_eq!(refused.status(), 403, "{path}: whoever logs in with that link could be an admin");
    }
    let requires = with(ONE, Method::PUT, "/v1/passkeys/requirement").json(&json!({"required": true}));
    let refused = requires.send().await.expect("an answer");
    assert_eq!(refused.status(), 403, "a copy of its token could lock its person out");
    // Nor by a socket: a ticket is worth what its device is.
    let hash = bearer_hash(ONE, token);
    let device =
        running.gateway.journal().device_by_hash(&hash).await.expect("a look").expect("it is known").0;
    assert_eq!(device.identified_by, holdstead_protocol::IdentifiedBy::Bearer);
    let (_, page) = read(with(ONE, Method::GET, "/v1/devices").send().await.expect("an answer")).await;
    let listed = page["devices"].as_array().expect("a list").iter().find(|one| one["current"] == true);
    assert_eq!(listed.expect("this one")["identifiedBy"], "bearer");
}

const ONE: &str = "192.168.1.20:4780";
const OTHER: &str = "192.168.1.21:4780";

async fn at_two_names() -> Running {
    let allowed_hosts = vec![ONE.to_owned(), OTHER.to_owned()];
    Running::start_with(holdstead_server::ServerConfig { allowed_hosts, ..Default::default() }).await
}
