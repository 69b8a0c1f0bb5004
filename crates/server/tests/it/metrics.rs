//! `/metrics` has numbers for whoever watches over the gateway, and for nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holdstead_protocol::api::Role;
use holdstead_server::ServerConfig;
use holdstead_store::faulty::{Broken, Call, FaultyJournal};
use serde_json::json;

use crate::running::{Client, Running};

async fn scraped(client: &Client<'_>) -> (u16, String) {
    let response = client.request(reqwest::Method::GET, "/metrics").send().await.expect("an answer");
    (response.status().as_u16(), response.text().await.expect("text"))
}

fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_for_tokens_made_for_them_and_for_admins() {
    let running = Running::start().await;
    for role in [Role::Person, Role::Viewer, Role::Agent, Role::Runner] {
        let (status, text) = scraped(&running.client(role, role.as_str()).await).await;
        assert_eq!(status, 403, "{}: {text}", role.as_str());
    }
    for role in [Role::Metrics, Role::Admin] {
        let (status, text) = scraped(&running.client(role, role.as_str()).await).await;
        assert_eq!((status, value(&text, "holdstead_ready")), (200, Some(1.0)), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_metrics_is_good_for_nothing_else() {
    let running = Running::start().await;
    let (ana, prometheus) =
        (running.client(Role::Person, "ana").await, running.client(Role::Metrics, "prometheus").await);
    let (_, session) = ana.post("/v1/sessions", &json!({ "agent": "scripted" })).await;
    let session = format!("/v1/sessions/{}", session["sessionId"].as_str().expect("an id"));
    for path in [&session, &format!("{session}/events"), "/v1/sessions", "/v1/interactions", "/v1/search?q=a"]
    {
        assert_eq!(prometheus.get(path).await.0, 403, "{path}");
    }
    let ask = json!({ "key": "one", "toolName": "deploy", "kind": "approval", "input": {} });
    for (path, body) in [
        ("/v1/interactions", ask),
        ("/v1/sessions", json!({ "agent": "scripted" })),
        ("/v1/tickets", json!({})),
        ("/v1/login-links", json!({})),
        ("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
    ] {
        assert_eq!(prometheus.post(path, &body).await.0, 403, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_is_counted_and_nothing_that_was_said_is_told() {
    let running = Running::start().await;
    let (ana, prometheus) =
        (running.client(Role::Person, "ana").await, running.client(Role::Metrics, "prometheus").await);
    let secret = "swordfish";
    let ask = json!({ "key": secret, "toolName": secret, "kind": "approval", "input": { "to": secret } });
    let (_, asked) = ana.post("/v1/interactions", &ask).await;
    let (_, text) = scraped(&prometheus).await;
    assert_eq!(value(&text, r#"holdstead_asks{state="open",age="1m"}"#), Some(1.0), "{text}");
    assert_eq!(value(&text, r#"holdstead_events_total{type="interaction_request"}"#), Some(1.0));
    let denied = json!({ "action": "deny", "reason": secret });
    assert_eq!(ana.respond(&asked, "k", denied).await.0, 200);
    let id = asked["request"]["interactionId"].as_str().expect("an id");
    let (_, text) = scraped(&prometheus).await;
    assert_eq!(value(&text, r#"holdstead_deliveries_total{state="accepted"}"#), Some(1.0), "{text}");
    assert_eq!(value(&text, "holdstead_ask_answered_seconds_count"), Some(1.0));
    for told in [secret, "ana", "local", id, "prometheus\"", "scripted"] {
        assert!(!text.contains(told), "{told}: {text}");
    }
}

#[tokio::test]
async fn metrics_are_read_while_the_store_is_away_by_whoever_read_them_before() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = Arc::clone(&away);
    let journal = holdstead_store::open("sqlite::memory:").await.expect("a journal");
    let journal = FaultyJournal::new(journal, move |call| {
        let breaks = matches!(call, Call::Read("device_by_hash" | "revision" | "waiting" | "ready"));
        (breaks && is_away.load(Ordering::Relaxed)).then_some(Broken::Before)
    });
    let running = Running::on(Arc::new(journal), ServerConfig::default(), Vec::new()).await;
    let (known, stranger) =
        (running.client(Role::Metrics, "one").await, running.client(Role::Metrics, "two").await);
    assert_eq!(scraped(&known).await.0, 200);
    away.store(true, Ordering::Relaxed);
    assert_eq!(scraped(&stranger).await.0, 503);
    // What was read of a token is believed for a second, and of the store for five.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    tokio::time::resume();
    let (status, text) = scraped(&known).await;
    assert_eq!((status, value(&text, "holdstead_ready")), (200, Some(0.0)), "{text}");
    assert!(!text.contains("holdstead_asks{"), "what the store did not say is left out: {text}");
}
