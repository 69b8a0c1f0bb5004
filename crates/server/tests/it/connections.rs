//! Connections that keep the server waiting: they end, and keep nobody out.

use std::time::Duration;

use holdstead_protocol::api::Role;
use holdstead_server::{ConnectionBounds, ServerConfig};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::running::{PATIENCE, Running};

async fn with(bounds: ConnectionBounds) -> Running {
    Running::start_with(ServerConfig { connections: bounds, ..ServerConfig::default() }).await
}

async fn half_a_head(running: &Running) -> TcpStream {
    let address = running.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(b"GET /v1/me HTTP/1.1\r\nHost: ").await.expect("sent");
    stream
}

/// Whether the server closes it, within a patience.
async fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    let mut buffer = [0; 1024];
    loop {
        match tokio::time::timeout(within, stream.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => return true,
            Ok(Ok(_)) => {}
            Err(_) => return false,
        }
    }
}

#[tokio::test]
async fn half_sent_heads_keep_nobody_out() {
    let running = with(ConnectionBounds { total: 40, unheard: 10, ..ConnectionBounds::default() }).await;
    let ana = running.client(Role::Person, "ana").await;
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(half_a_head(&running).await);
    }
    let (status, me) = ana.get("/v1/me").await;
    assert_eq!((status, me["name"].as_str()), (200, Some("ana")));
    assert!(is_closed(&mut open[0], PATIENCE).await, "the oldest went");
    assert!(!is_closed(&mut open[199], Duration::from_millis(50)).await, "the newest did not");
}

/// A log-in whose body does not come.
async fn half_a_log_in(running: &Running, length: usize) -> TcpStream {
    // Another name than this machine's own: there a browser would have to sign.
    let address = running.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST /v1/login HTTP/1.1\r\nHost: desk.test\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{{\"code\""
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream
}

async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "it is not waited for");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn log_ins_whose_bodies_do_not_come_keep_no_caller_out() {
    let connections = ConnectionBounds { total: 20, unheard: 20, ..ConnectionBounds::default() };
    let allowed_hosts = vec!["desk.test".to_owned()];
    let server = ServerConfig { connections, allowed_hosts, ..ServerConfig::default() };
    let running = Running::start_with(server).await;
    let ana = running.client(Role::Person, "ana").await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(half_a_log_in(&running, 100).await);
    }
    let (status, me) = ana.get("/v1/me").await;
    assert_eq!((status, me["name"].as_str()), (200, Some("ana")));
    assert!(is_closed(&mut open[0], PATIENCE).await, "the oldest went");
    let newest = open.pop().expect("the newest");
    let answer = until_closed(newest).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("within 2 s"), "{answer}");
    let mut large = half_a_log_in(&running, 5_000).await;
    large.write_all(&[b' '; 4_500]).await.expect("sent");
    let answer = until_closed(large).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("4 KiB"), "{answer}");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let running =
        with(ConnectionBounds { quiet: Duration::from_millis(200), ..ConnectionBounds::default() }).await;
    assert!(is_closed(&mut half_a_head(&running).await, PATIENCE).await);
    let ana = running.client(Role::Person, "ana").await;
    let address = running.url.strip_prefix("http://").expect("an address");
    let mut idle = TcpStream::connect(address).await.expect("a connection");
    let head =
        format!("GET /v1/me HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n", ana.token);
    idle.write_all(head.as_bytes()).await.expect("sent");
    assert!(is_closed(&mut idle, PATIENCE).await, "nor for another request");
}

#[tokio::test]
async fn a_body_that_trickles_in_is_refused_in_words() {
    let running =
        with(ConnectionBounds { body: Duration::from_millis(200), ..ConnectionBounds::default() }).await;
    let ana = running.client(Role::Person, "ana").await;
    let address = running.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"agent\"",
        ana.token
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "it is not waited for");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 4") && answer.contains("did not arrive within"), "{answer}");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_let_go() {
    let running =
        with(ConnectionBounds { unread: Duration::from_millis(300), ..ConnectionBounds::default() }).await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(&"say 0123456789\n".repeat(30_000)).await;
    let address = running.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        ana.token
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    // It reads the beginning, and so counts as watching.
    stream.read_exact(&mut [0; 1024]).await.expect("the beginning of the stream");
    let path = format!("/v1/sessions/{session}");
    let watched = async {
        while ana.get(&path).await.1["interactiveClients"] != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, watched).await.expect("it does not count as watching any more");
}

#[tokio::test]
async fn one_token_cannot_have_every_connection() {
    let running = with(ConnectionBounds { per_token: 3, ..ConnectionBounds::default() }).await;
    let ana = running.client(Role::Person, "ana").await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let stream = ana.request(Method::GET, "/v1/interactions/events").send().await.expect("an answer");
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let (status, problem) = ana.get("/v1/me").await;
    assert_eq!((status, problem["code"].as_str()), (429, Some("rate_limited")), "{problem}");
    let ben = running.client(Role::Person, "ben").await;
    assert_eq!(ben.get("/v1/me").await.0, 200, "others are served");
    streams.clear();
    let freed = async {
        while ana.get("/v1/me").await.0 != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.expect("what ended counts no more");
}

#[tokio::test]
async fn a_body_that_is_refused_unread_does_not_cut_its_answer_off() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    for path in ["/v1/sessions", "/mcp", "/v1/nothing"] {
        let request = ana.request(Method::POST, path).header("content-type", "application/json");
        let answer = request.body(vec![b'x'; 6 * 1024 * 1024]).send().await;
        let status = answer.unwrap_or_else(|error| panic!("{path}: {error:?}")).status();
        assert!(status.is_client_error(), "{path}: {status}");
    }
}
