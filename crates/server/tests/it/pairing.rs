//! A phone's way in, and what a browser is shown that is not let in.

use holdstead_client::Browser;
use holdstead_protocol::api::Role;
use holdstead_server::ServerConfig;
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::Running;

async fn behind_a_proxy() -> Running {
    let allowed_hosts = vec!["holdstead.example".to_owned()];
    Running::start_with(ServerConfig { allowed_hosts, ..ServerConfig::default() }).await
}

#[tokio::test]
async fn a_pairing_is_a_link_that_a_camera_reads() {
    let running = behind_a_proxy().await;
    let ana = running.client(Role::Person, "ana").await;
    let (status, pairing) = ana.post("/v1/pairings", &json!({ "url": "https://holdstead.example/" })).await;
    assert_eq!(status, 201, "{pairing}");
    let link = pairing["link"].as_str().expect("a link");
    let code = link.strip_prefix("https://holdstead.example/login#").expect("behind the #");
    let rows = pairing["qr"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row.as_str().is_some_and(|row| row.len() == rows.len())), "a square");
    // The corner that every code begins with.
    assert!(rows[0].as_str().expect("a row").starts_with("11111110"));

    let browser = Browser::new(&running.url);
    let body = json!({ "code": code });
    let login = browser.send(Method::POST, "/v1/login", Some(&body)).await.expect("an answer");
    assert_eq!(login.status(), 200);
    let me = browser.send(Method::GET, "/v1/me", None).await.expect("an answer");
    assert_eq!(me.json::<Value>().await.expect("JSON")["name"], "ana");
}

#[tokio::test]
async fn nobody_is_sent_where_the_gateway_is_not() {
    let running = behind_a_proxy().await;
    let ana = running.client(Role::Person, "ana").await;
    for url in [
        "https://evil.example",
        "holdstead.example",
        "ftp://holdstead.example",
        "https://holdstead.example@evil.example",
        "https://holdstead.example/x",
        "",
    ] {
        let (status, problem) = ana.post("/v1/pairings", &json!({ "url": url })).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{url}: {problem}");
        assert!(problem["detail"].as_str().expect("words").contains("allowed_hosts"), "{problem}");
    }
}

#[tokio::test]
async fn only_an_admin_opens_the_network_and_only_what_is_this_machines() {
    let running = Running::start().await;
    let closed = json!({ "url": "http://203.0.113.9:4780" });
    for (role, status) in [(Role::Admin, 422), (Role::Person, 403), (Role::Viewer, 403), (Role::Agent, 403)] {
        let caller = running.client(role, role.as_str()).await;
        let (refused, problem) = caller.post("/v1/network", &closed).await;
        assert_eq!(refused, status, "{role:?}: {problem}");
    }
    let viewer = running.client(Role::Viewer, "viewer").await;
    let (status, network) = viewer.get("/v1/network").await;
    // It listens on loopback, and so no other machine reaches it.
    assert_eq!((status, &network["open"]), (200, &json!([])), "{network}");
    let agent = running.client(Role::Agent, "agent").await;
    assert_eq!(agent.get("/v1/network").await.0, 403);
}

#[tokio::test]
async fn a_browser_reads_words_and_a_program_json() {
    let running = Running::start().await;
    let get = |path: &str| running.plain(Method::GET, path);
    let page = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (path, host, status, words) in [
        ("/", Some("evil.example"), 403, "<code>allowed_hosts</code>"),
        ("/nothing", None, 404, "There is nothing here."),
        ("/v1/me", None, 401, "There is no valid token"),
    ] {
        let with_host = |request: reqwest::RequestBuilder| match host {
            Some(host) => request.header("host", host),
            None => request,
        };
        let response = with_host(get(path)).header("accept", page).send().await.expect("an answer");
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        let policy = response.headers()["content-security-policy"].to_str().expect("text").to_owned();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        let html = response.text().await.expect("text");
        assert!(
            html.contains(words) && !html.contains("evil.example") && !html.contains("{words}"),
            "{html}"
        );

        let response = with_host(get(path)).header("accept", "*/*").send().await.expect("an answer");
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
    }
}
