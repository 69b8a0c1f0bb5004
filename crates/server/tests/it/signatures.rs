//! Requests that a browser signs: what is taken, and that nothing else is.

use std::collections::BTreeSet;

use holdstead_client::{Browser, requests_to};
use holdstead_protocol::api::Role;
use reqwest::header::{AUTHORIZATION, HeaderName};
use reqwest::{Method, Request, Response};
use serde_json::{Value, json};

use crate::running::{Running, read};

const NONCE: &str = "holdstead-nonce";

async fn execute(request: Request) -> Response {
    let http = requests_to(request.url().as_str()).build().expect("a client");
    http.execute(request).await.expect("an answer")
}

/// The status and the code of a refusal.
async fn refused(request: Request) -> (u16, String) {
    let (status, problem) = read(execute(request).await).await;
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

fn bad() -> (u16, String) {
    (401, "bad_signature".to_owned())
}

/// The request with one thing changed after it was signed.
fn changed(request: &Request, change: impl FnOnce(&mut Request)) -> Request {
    let mut other = request.try_clone().expect("its body is bytes");
    change(&mut other);
    other
}

fn with_header(request: &Request, name: HeaderName, value: &str) -> Request {
    changed(request, |request| {
        request.headers_mut().insert(name, value.parse().expect("a header"));
    })
}

#[tokio::test]
async fn a_signed_request_is_taken_and_what_differs_from_it_is_not() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let browser = running.browser(&ana).await;
    let body = json!({"url": "http://127.0.0.1:1"});
    let request = browser.request(Method::POST, "/v1/pairings?", Some(&body)).expect("a request");
    let asked = browser.request(Method::GET, "/v1/sessions?limit=1", None).expect("a request");
    let devices = browser.request(Method::GET, "/v1/devices", None).expect("a request");
    assert_eq!(execute(asked.try_clone().expect("a copy")).await.status(), 200);
    assert_eq!(refused(request.try_clone().expect("a copy")).await.0, 422, "past every door");

    let at = |path: &str| format!("{}{path}", running.url).parse().expect("an address");
    for (what, other) in [
        ("method", changed(&devices, |one| *one.method_mut() = Method::DELETE)),
        ("method", changed(&asked, |one| *one.method_mut() = Method::HEAD)),
        ("path", changed(&asked, |one| *one.url_mut() = at("/v1/devices?limit=1"))),
        ("query", changed(&asked, |one| *one.url_mut() = at("/v1/sessions?limit=2"))),
        ("no query", changed(&asked, |one| *one.url_mut() = at("/v1/sessions"))),
        ("more query", changed(&asked, |one| *one.url_mut() = at("/v1/sessions?limit=1&q="))),
        ("its writing", changed(&asked, |one| *one.url_mut() = at("/v1/%73essions?limit=1"))),
        ("body", changed(&request, |one| *one.body_mut() = Some("{}".into()))),
        ("no body", changed(&request, |one| *one.body_mut() = None)),
        (
            "a longer body",
            changed(&request, |one| {
                *one.body_mut() = Some(format!("{body} ").into());
            }),
        ),
    ] {
        let response = execute(other).await;
        // A HEAD's answer has no body to say why.
        let status = response.status().as_u16();
        assert!(status == 401 || status == 404, "{what}: {status}");
        assert!(status == 401 || what == "its writing", "{what}");
    }
    let header = request.headers()[AUTHORIZATION].to_str().expect("text").to_owned();
    let other = Browser::new(&running.url);
    execute(other.request(Method::GET, "/v1/me", None).expect("a request")).await;
    for (what, header) in [
        ("the key", header.replace(&browser.public_key(), &running.browser(&ana).await.public_key())),
        ("a digest", header.replace("digest=\"", "digest=\"A").replacen("digest=\"A", "digest=\"B", 1)),
        ("the nonce", header.replace(&browser.nonce(), &running.gateway.nonce())),
    ] {
        assert_eq!(refused(with_header(&request, AUTHORIZATION, &header)).await, bad(), "{what}");
    }
    let local = running.url.replace("127.0.0.1", "localhost").replace("http://", "");
    let moved = with_header(&asked, reqwest::header::HOST, &local);
    assert_eq!(refused(moved).await, bad(), "another host that is ours as well");
    // A proxy before us may speak https with the page.
    let secure = browser.at(&running.url.replace("http://", "https://"));
    let first = browser.send(Method::GET, "/v1/me", None).await.expect("an answer");
    assert!(first.status().is_success() && !first.headers().contains_key(NONCE), "its nonce is fresh");
    secure.keep_nonce(&execute(asked_without_nonce(&running)).await);
    let signed = secure.sign("GET", "/v1/me", b"");
    let plain =
        running.plain(Method::GET, "/v1/me").header(AUTHORIZATION, signed).build().expect("a request");
    assert_eq!(execute(plain).await.status(), 200);
    let ftp = browser.at(&running.url.replace("http://", "ftp://"));
    ftp.keep_nonce(&execute(asked_without_nonce(&running)).await);
    let signed = ftp.sign("GET", "/v1/me", b"");
    assert_eq!(refused(with_header(&asked_at(&running, "/v1/me"), AUTHORIZATION, &signed)).await, bad());
}

fn asked_at(running: &Running, path: &str) -> Request {
    running.plain(Method::GET, path).build().expect("a request")
}

fn asked_without_nonce(running: &Running) -> Request {
    Browser::new(&running.url).request(Method::GET, "/v1/me", None).expect("a request")
}

#[tokio::test]
async fn a_refused_nonce_comes_with_one_that_is_taken() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let browser = running.browser(&ana).await;
    let other = Running::start().await;
    let stranger = Browser::new(&other.url);
    stranger.send(Method::GET, "/v1/me", None).await.expect("an answer");
    let header = browser.sign("GET", "/v1/me", b"");
    for nonce in ["", "x", &"A".repeat(96), &stranger.nonce(), &"A".repeat(2_000)] {
        let request = with_header(
            &asked_at(&running, "/v1/me"),
            AUTHORIZATION,
            &header.replace(&browser.nonce(), nonce),
        );
        let response = execute(request).await;
        let given = response.headers().get(NONCE).is_some();
        let (status, problem) = read(response).await;
        let code = if nonce.len() > 1_000 { "bad_signature" } else { "nonce_refused" };
        assert_eq!((status, problem["code"].as_str()), (401, Some(code)), "{nonce}");
        assert_eq!(given, code == "nonce_refused");
    }
    for path in
        ["/v1/interactions/events", "/v1/login", "/v1/login/exchange", "/api/sessions/x/events", "/nothing"]
    {
        let response = execute(asked_without_nonce_at(&running, path)).await;
        assert_eq!(
            (response.status().as_u16(), response.headers().contains_key(NONCE)),
            (401, true),
            "{path}"
        );
    }
}

fn asked_without_nonce_at(running: &Running, path: &str) -> Request {
    let method = if path.starts_with("/v1/login") { Method::POST } else { Method::GET };
    let body = (method == Method::POST).then(|| json!({}));
    Browser::new(&running.url).request(method, path, body.as_ref()).expect("a request")
}

#[tokio::test]
async fn a_header_that_is_no_signature_opens_nothing() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let browser = running.browser(&ana).await;
    let good = browser.sign("GET", "/v1/me", b"");
    let part = |name: &str| {
        let begin = good.find(name).expect("a part") + name.len() + 2;
        let end = begin + good[begin..].find('"').expect("its end");
        &good[begin..end]
    };
    let zeros = holdstead_core::base64url(&[0; 64]);
    let not_on_curve = holdstead_core::base64url(&[[4].as_slice(), &[1; 64]].concat());
    for wrong in [
        "Signature x".to_owned(),
        good.replace("key=", "keys="),
        format!("{good}, nonce=\"{}\"", part("nonce")),
        format!("{good}, key=\"{}\"", part("key")),
        format!("{good},"),
        good.replace(part("signature"), &zeros),
        good.replace(part("signature"), ""),
        good.replace(part("signature"), &part("signature")[..80]),
        good.replace(part("digest"), ""),
        good.replace(part("digest"), &"_".repeat(43)),
        good.replace(part("key"), ""),
        good.replace(part("key"), &part("key")[..86]),
        good.replace("key=\"", "key=\"="),
        good.replace("\", ", "\"; "),
    ] {
        let request = with_header(&asked_at(&running, "/v1/me"), AUTHORIZATION, &wrong);
        assert_eq!(refused(request).await, bad(), "{wrong}");
    }
    for other in [
        good.replace(part("key"), &not_on_curve),
        good.replace("Signature", "signature"),
        "Signature ".to_owned(),
    ] {
        let request = with_header(&asked_at(&running, "/v1/me"), AUTHORIZATION, &other);
        assert_eq!(refused(request).await, (401, "unauthenticated".to_owned()), "{other}");
    }
    let login = running.plain(Method::POST, "/v1/login").json(&json!({"code": "x"}));
    let login = login.header(AUTHORIZATION, good.replace(part("key"), &not_on_curve));
    assert_eq!(refused(login.build().expect("a request")).await, bad(), "nobody knows the key there");
    let twice = running.plain(Method::GET, "/v1/me").header(AUTHORIZATION, &good);
    let twice = twice.header(AUTHORIZATION, format!("Bearer {}", ana.token));
    assert_eq!(refused(twice.build().expect("a request")).await, bad());
    let request = with_header(&asked_at(&running, "/v1/me"), AUTHORIZATION, &good);
    assert_eq!(execute(request).await.status(), 200, "as it was");
}

/// Signed in advance, or read on its way, and sent when the process is gone that it was meant for.
#[tokio::test]
async fn nothing_signed_for_one_process_counts_for_the_next() {
    let running = Running::start().await;
    let token = running.client(Role::Person, "ana").await.token;
    let browser = running.browser(&crate::running::Client { running: &running, token }).await;
    let me = browser.request(Method::GET, "/v1/me", None).expect("a request");
    let ticket = browser.send(Method::POST, "/v1/tickets", Some(&json!({}))).await.expect("an answer");
    let ticket: Value = ticket.json().await.expect("JSON");
    assert_eq!(execute(me.try_clone().expect("a copy")).await.status(), 200);
    let beside = running.beside().await;
    let there = with_header(
        &asked_at(&beside, "/v1/me"),
        AUTHORIZATION,
        me.headers()[AUTHORIZATION].to_str().expect("text"),
    );
    let there = with_header(&there, reqwest::header::HOST, running.url.trim_start_matches("http://"));
    assert_ne!(execute(there).await.status(), 200, "another process");

    let running = running.restarted().await;
    assert_eq!(refused(me).await, (401, "nonce_refused".to_owned()));
    let path = format!("/v1/ws?ticket={}", ticket["ticket"].as_str().expect("a ticket"));
    assert_eq!(refused(asked_at(&running, &path)).await.0, 401, "a ticket of before");
    let again = browser.send(Method::GET, "/v1/me", None).await.expect("an answer");
    assert_eq!(again.status(), 200, "the browser goes on by itself");
}

/// Every route that reads a body, by the document: with another body than was signed, nothing is done.
#[tokio::test]
async fn no_route_acts_on_a_body_that_was_not_signed() {
    let running = Running::start().await;
    let admin = running.client(Role::Admin, "root").await;
    let browser = running.browser(&admin).await;
    let (_, document) = admin.get("/openapi.json").await;
    let session = admin.session("ask Store: Which store? | SQLite | PostgreSQL").await;
    let ask = admin.open_ask(&session).await;
    let ask = ask["request"]["interactionId"].as_str().expect("an id");
    let mut routes = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in ["post", "put"].iter().filter(|method| methods.get(**method).is_some()) {
            let id = if path.starts_with("/v1/interactions") { ask } else { &session };
            routes.insert((method.to_uppercase(), path.replace("{id}", id)));
        }
    }
    assert!(routes.len() > 25, "{routes:?}");
    let (_, before) = admin.get("/v1/sessions").await;
    for (method, path) in routes {
        let method: Method = method.parse().expect("a method");
        let request = browser.request(method, &path, Some(&json!({}))).expect("a request");
        let other =
            changed(&request, |one| *one.body_mut() = Some(json!({"agent": "scripted"}).to_string().into()));
        let other = with_header(&other, reqwest::header::ACCEPT, "application/json, text/event-stream");
        let (status, problem) = read(execute(other).await).await;
        assert_eq!(status, 401, "{path}: {problem}");
    }
    assert_eq!(admin.get("/v1/sessions").await.1, before);
}

#[tokio::test]
async fn a_key_dies_with_its_device_and_follows_its_persons_role() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let browser = running.browser(&ana).await;
    let me = async || read(browser.send(Method::GET, "/v1/me", None).await.expect("an answer")).await;
    let (_, first) = me().await;
    let id = serde_json::from_value(first["personId"].clone()).expect("an id");
    for role in [Role::Viewer, Role::Admin] {
        assert!(running.gateway.journal().change_role(id, role).await.expect("changed"));
        // Changed beside the gateway: it is seen within a second.
        while me().await.1["role"] != role.as_str() {
            tokio::task::yield_now().await;
        }
    }
    let mut stream = browser.send(Method::GET, "/v1/interactions/events", None).await.expect("an answer");
    assert_eq!(stream.status(), 200);
    let gone = browser.send(Method::DELETE, "/v1/devices", None).await.expect("an answer");
    assert_eq!(gone.status(), 204);
    let (status, problem) = me().await;
    assert_eq!((status, &problem["code"]), (401, &json!("unauthenticated")));
    while let Ok(Some(_)) = stream.chunk().await {}
}

/// Another program may have had this port, and a service worker of its own at any path.
#[tokio::test]
async fn every_request_for_a_service_worker_is_answered_with_ours() {
    let running = Running::start().await;
    let mut scripts = BTreeSet::new();
    for path in [
        "/",
        "/service-worker.js",
        "/sw.js",
        "/a/b/c.js?v=1",
        "/v1/me",
        "/v1/sessions/x/events",
        "/assets/x.js",
        "/%00",
    ] {
        let request = running.plain(Method::GET, path).header("service-worker", "script");
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200, "{path}");
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        assert!(header("content-type").starts_with("text/javascript"), "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("service-worker-allowed"), "/", "{path}");
        assert_eq!(header("clear-site-data"), "\"cache\"", "{path}");
        assert!(!response.headers().contains_key("etag"), "{path}");
        scripts.insert(response.text().await.expect("text"));
    }
    assert_eq!(scripts.len(), 1, "one script");
    let script = scripts.first().expect("one");
    assert!(script.contains("skipWaiting"), "it takes over at once: {script}");
    let foreign = running
        .plain(Method::GET, "/sw.js")
        .header("service-worker", "script")
        .header("host", "evil.example");
    assert_eq!(foreign.send().await.expect("an answer").status(), 403);
    for (method, value) in [(Method::POST, "script"), (Method::GET, "other")] {
        let request = running.plain(method, "/v1/me").header("service-worker", value).json(&json!({}));
        assert!(request.send().await.expect("an answer").status().is_client_error());
    }
}

#[tokio::test]
async fn a_gateway_that_stops_takes_none_of_its_nonces() {
    let running = Running::start().await;
    let nonce = running.gateway.nonce();
    assert!(running.gateway.check_nonce(&nonce).is_some());
    running.gateway.stop().await;
    assert_eq!(running.gateway.check_nonce(&nonce), None);
    assert!(
        running.gateway.serves().is_err(),
        "so a browser is told to come back, and not that it is logged out"
    );
}
