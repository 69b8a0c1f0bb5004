//! Browsers of the time before they signed: their token is exchanged for a key, once.

use holdstead_client::Browser;
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind};
use holdstead_server::{NewDevice, ServerConfig, add_device};
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::{Client, Running, read};

const EXCHANGE: &str = "/v1/login/exchange";

/// A browser as an earlier version logged it in.
async fn old_browser(running: &Running, person: &Client<'_>) -> (DeviceId, String) {
    let journal = running.gateway.journal().as_ref();
    let whose = running.device(&person.token).await.person;
    let device = NewDevice { kind: DeviceKind::Browser, name: "Safari on iPhone", ..NewDevice::TOKEN };
    add_device(journal, whose, device).await.expect("added")
}

async fn exchange(browser: &Browser, token: &str) -> (u16, Value) {
    let body = json!({"token": token});
    read(browser.send(Method::POST, EXCHANGE, Some(&body)).await.expect("an answer")).await
}

async fn bearer(running: &Running, path: &str, token: &str) -> (u16, Value) {
    read(running.plain(Method::GET, path).bearer_auth(token).send().await.expect("an answer")).await
}

#[tokio::test]
async fn an_old_token_is_exchanged_once_and_is_good_for_nothing_else() {
    let running = Running::start().await;
    let admin = running.client(Role::Admin, "root").await;
    let (id, token) = old_browser(&running, &admin).await;
    for path in ["/v1/me", "/v1/interactions/events", "/v1/ws", "/metrics", "/openapi.json"] {
        let (status, problem) = bearer(&running, path, &token).await;
        assert_eq!((status, &problem["code"]), (401, &json!("exchange_needed")), "{path}");
    }
    let ticket = running.plain(Method::POST, "/v1/tickets").json(&json!({})).bearer_auth(&token);
    assert_eq!(ticket.send().await.expect("an answer").status(), 401);
    let unsigned = running.plain(Method::POST, EXCHANGE).json(&json!({"token": token}));
    let (status, problem) = read(unsigned.send().await.expect("an answer")).await;
    assert_eq!((status, &problem["code"]), (401, &json!("signature_needed")));

    let browser = Browser::new(&running.url);
    assert_eq!(exchange(&browser, &token).await, (200, json!({})));
    let (_, me) = read(browser.send(Method::GET, "/v1/me", None).await.expect("an answer")).await;
    assert_eq!((&me["deviceId"], &me["role"]), (&json!(id), &json!("admin")), "the same device");
    let (_, page) = admin.get("/v1/devices").await;
    let device = page["devices"].as_array().expect("a list").iter().find(|one| one["deviceId"] == json!(id));
    let device = device.expect("it is listed");
    assert_eq!((&device["name"], &device["identifiedBy"]), (&json!("Safari on iPhone"), &json!("key")));
    assert_eq!(exchange(&browser, &token).await.0, 200, "another tab of the same browser");

    let (status, problem) = bearer(&running, "/v1/me", &token).await;
    assert_eq!((status, &problem["code"]), (401, &json!("unauthenticated")), "dead at once");
    let thief = Browser::new(&running.url);
    assert_eq!(exchange(&thief, &token).await.0, 401);
    assert_eq!(read(thief.send(Method::GET, "/v1/me", None).await.expect("an answer")).await.0, 401);
}

#[tokio::test]
async fn of_two_who_exchange_one_token_one_gets_in() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    for _ in 0..10 {
        let (_, token) = old_browser(&running, &ana).await;
        let (one, two) = (Browser::new(&running.url), Browser::new(&running.url));
        let (first, second) = tokio::join!(exchange(&one, &token), exchange(&two, &token));
        let mut seen = [first.0, second.0];
        seen.sort_unstable();
        assert_eq!(seen, [200, 401]);
    }
}

#[tokio::test]
async fn only_a_browsers_own_token_that_is_good_is_exchanged() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "ci").await;
    let known = running.browser(&ana).await;
    let (id, revoked) = old_browser(&running, &ana).await;
    assert!(running.gateway.revoke_device(id).await.expect("revoked"));
    let key = holdstead_core::from_base64url(&known.public_key()).expect("bytes");
    // The bytes that a key's hash is made of, as far as text can hold them.
    let preimage = format!("\0holdstead key 1{}", String::from_utf8_lossy(&key));
    for token in [&ana.token, &agent.token, &revoked, &preimage, "", "hs_", "hsb_0", "hs_\u{e9}"] {
        let browser = Browser::new(&running.url);
        assert_eq!(exchange(&browser, token).await.0, 401, "{token}");
        assert_eq!(browser.send(Method::GET, "/v1/me", None).await.expect("an answer").status(), 401);
    }
    assert_eq!(ana.get("/v1/me").await.0, 200);
    assert_eq!(known.send(Method::GET, "/v1/me", None).await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn without_cryptography_an_old_token_becomes_one_for_its_address() {
    let host = "192.168.1.20:4780";
    let server = ServerConfig { allowed_hosts: vec![host.to_owned()], ..ServerConfig::default() };
    let running = Running::start_with(server).await;
    let admin = running.client(Role::Admin, "root").await;
    let (id, token) = old_browser(&running, &admin).await;
    let request = running.plain(Method::POST, EXCHANGE).header("host", host).json(&json!({"token": token}));
    let (status, given) = read(request.send().await.expect("an answer")).await;
    assert_eq!(status, 200, "{given}");
    let new = given["token"].as_str().expect("a token");
    let me = running.plain(Method::GET, "/v1/me").header("host", host).bearer_auth(new);
    let (_, me) = read(me.send().await.expect("an answer")).await;
    assert_eq!((&me["deviceId"], &me["role"]), (&json!(id), &json!("person")));
    assert_eq!(bearer(&running, "/v1/me", new).await.0, 401, "under another address");
    assert_eq!(bearer(&running, "/v1/me", &token).await.0, 401, "the old one");
}
