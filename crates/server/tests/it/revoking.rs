//! A device that is revoked sees and decides nothing more, also where it is connected already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdstead_protocol::api::Role;
use holdstead_protocol::{Event, EventBody, Seq, Timestamp};
use holdstead_server::{RateLimit, ServerConfig};
use holdstead_store::{Clock, SqliteJournal, SystemClock};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::running::{Client, PATIENCE, Running};
use crate::socket::Wire;

/// Reads an answer to its end; returns its status and its text.
async fn read(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    // A stream that ends in the middle of a chunk ends as well.
    (status, response.text().await.unwrap_or_default())
}

/// Whatever a device can have open.
struct Open {
    reading: Vec<(&'static str, JoinHandle<(u16, String)>)>,
    socket: Wire,
}

impl Open {
    async fn by(running: &Running, person: &Client<'_>, session: &str, ask: &Value) -> Self {
        let id = ask["request"]["interactionId"].as_str().expect("an id");
        let mut reading = Vec::new();
        for (what, path) in [
            ("a session's stream", format!("/v1/sessions/{session}/events")),
            ("the inbox", "/v1/interactions/events".to_owned()),
            ("the short stream", format!("/api/sessions/{session}/events")),
        ] {
            let response = person.request(Method::GET, &path).send().await.expect("an answer");
            assert_eq!(response.status(), 200, "{what}");
            reading.push((what, tokio::spawn(read(response))));
        }
        let poll = person.request(Method::GET, &format!("/v1/interactions/{id}?wait=60s"));
        let approval = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "request_approval", "arguments": {"action": "deploy"}}});
        let call = person.request(Method::POST, "/mcp?wait=60s").json(&approval);
        let call = call.header("accept", "application/json, text/event-stream");
        for (what, request) in [("a long poll", poll), ("a call of a tool", call)] {
            let waiting = async move { read(request.send().await.expect("an answer")).await };
            reading.push((what, tokio::spawn(waiting)));
        }
        let mut socket = Wire::connect(running, &person.token).await;
        socket.reply(&json!({"type": "subscribe", "id": 1, "session": session, "after": 1_000})).await;
        Self { reading, socket }
    }

    /// All of it ends, and nothing of what is said from now on is in it. How soon is measured by `just show-revoke`.
    async fn ends(mut self, after: &str) {
        let (code, words) = loop {
            let heard = self.socket.heard().await;
            if let Message::Close(Some(close)) = &heard {
                break (u16::from(close.code), close.reason.to_string());
            }
            assert!(!heard.to_string().contains(after), "{heard}");
        };
        assert_eq!(code, 1008);
        assert!(words.contains("logged out"), "{words}");
        for (what, reading) in self.reading {
            let (status, text) = tokio::time::timeout(PATIENCE, reading).await.expect(what).expect(what);
            assert!(!text.contains(after), "{what}: {text}");
            assert!(status == 401 || text.contains("data: "), "{what}: {status} {text}");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revoked {
    /// Through the gateway that it is connected to.
    Here,
    /// In the database, as the command line does it.
    Beside,
}

async fn everything_open_ends(revoked: Revoked) {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ben = running.client(Role::Person, "ben").await;
    let session = ben.session("ask Store: Which store? | SQLite | PostgreSQL").await;
    let ask = ben.open_ask(&session).await;
    let open = Open::by(&running, &ana, &session, &ask).await;
    // The call of a tool has asked before it is cut off.
    while ben.get("/v1/interactions").await.1["interactions"].as_array().expect("a list").len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let device = running.device(&ana.token).await.id;
    let done = match revoked {
        Revoked::Here => running.gateway.revoke_device(device).await.expect("revoked"),
        Revoked::Beside => running.gateway.journal().revoke_device(device).await.expect("revoked"),
    };
    assert!(done);
    // What was read of a device is believed for a second, unless it is revoked here.
    let unknown = async {
        while ana.get("/v1/me").await.0 != 401 {
            assert_eq!(revoked, Revoked::Beside, "it is forgotten at once");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, unknown).await.expect("its token is refused");
    let answer = json!({"action": "submit", "answers": {"store": "SQLite"}});
    assert_eq!(ana.respond(&ask, "late", answer.clone()).await.0, 401);
    if revoked == Revoked::Here {
        let text = json!({"text": "say what was said after that"});
        assert_eq!(ben.post(&format!("/v1/sessions/{session}/messages"), &text).await.0, 202);
    }
    open.ends("what was said after that").await;
    assert_eq!(ben.respond(&ask, "k", answer).await.0, 200, "it still waited");
}

#[tokio::test]
async fn everything_open_ends_when_a_device_is_revoked_here() {
    everything_open_ends(Revoked::Here).await;
}

#[tokio::test]
async fn everything_open_ends_soon_when_it_is_revoked_beside_us() {
    everything_open_ends(Revoked::Beside).await;
}

#[tokio::test]
async fn a_changed_role_holds_for_what_is_open() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let path = format!("/v1/sessions/{session}/events");
    let stream = ana.request(Method::GET, &path).send().await.expect("an answer");
    let mut socket = Wire::connect(&running, &ana.token).await;
    let person = running.device(&ana.token).await.person;
    assert!(running.gateway.journal().change_role(person, Role::Viewer).await.expect("changed"));
    tokio::time::timeout(PATIENCE, read(stream)).await.expect("the stream ends");
    assert_eq!(tokio::time::timeout(PATIENCE, socket.closed()).await.expect("it closes").0, 1008);
    let mut socket = Wire::connect(&running, &ana.token).await;
    let message = json!({"type": "message", "id": 1, "session": session, "text": "go on"});
    assert_eq!(socket.reply(&message).await["refusal"]["code"], "forbidden");
    assert_eq!(ana.get("/v1/me").await.1["role"], "viewer");
}

/// The machine's clock, so many seconds ahead.
#[derive(Default)]
struct AheadClock(AtomicU64);

impl Clock for AheadClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().after(Duration::from_secs(self.0.load(Ordering::Relaxed)))
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_device_expires() {
    let lifetime = Duration::from_secs(3600);
    let clock = Arc::new(AheadClock::default());
    let journal = SqliteJournal::open_with_clock("sqlite::memory:", Arc::clone(&clock) as Arc<dyn Clock>);
    let journal = Arc::new(journal.await.expect("a journal"));
    let running = Running::on(journal, ServerConfig::default(), Vec::new()).await;
    let ana = running.client(Role::Person, "ana").await;
    let device = running.device(&ana.token).await;
    let journal = running.gateway.journal();
    let expires_at = journal.now().await.expect("a time").after(lifetime);
    journal.use_device(device.id, Some(expires_at)).await.expect("it expires");
    let stream = ana.request(Method::GET, "/v1/interactions/events").timeout(2 * lifetime);
    let stream = stream.send().await.expect("an answer");
    assert_eq!(stream.status(), 200);
    // The journal's clock and the gateway's timers pass the lifetime together.
    clock.0.store(lifetime.as_secs(), Ordering::Relaxed);
    tokio::time::pause();
    tokio::time::advance(lifetime).await;
    tokio::time::resume();
    let ended = tokio::time::timeout(PATIENCE, stream.text()).await.expect("the stream ends");
    ended.expect("the server ends it");
    assert_eq!(ana.get("/v1/me").await.0, 401);
}

#[tokio::test]
async fn an_answer_whose_end_comes_after_the_revocation_is_not_taken() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("ask Store: Which store? | SQLite | PostgreSQL").await;
    let ask = ana.open_ask(&session).await;
    let body = json!({"promptId": ask["request"]["promptId"], "idempotencyKey": "slow",
        "action": "submit", "answers": {"Store": "SQLite"}})
    .to_string();
    let host = running.url.trim_start_matches("http://");
    let mut line = tokio::net::TcpStream::connect(host).await.expect("it connects");
    let head = format!(
        "POST /v1/interactions/{}/respond HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        ask["request"]["interactionId"].as_str().expect("an id"),
        ana.token,
        body.len()
    );
    let (first, rest) = body.as_bytes().split_at(20);
    line.write_all(head.as_bytes()).await.expect("sent");
    // It is told to go on when its body is read, and its token was looked at before.
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    line.read_exact(&mut go_on).await.expect("it is told to go on");
    assert!(go_on.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&go_on));
    line.write_all(first).await.expect("sent");
    running.gateway.revoke_device(running.device(&ana.token).await.id).await.expect("revoked");
    line.write_all(rest).await.expect("sent");
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let ben = running.client(Role::Person, "ben").await;
    assert_eq!(ben.open_ask(&session).await["state"], "open");
}

#[tokio::test]
async fn a_persons_token_for_one_session_acts_in_none() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("ask Store: Which store? | SQLite | PostgreSQL").await;
    let ask = ana.open_ask(&session).await;
    let bound = running.client_in(Role::Person, "ana", Some(session.parse().expect("an id"))).await;
    assert_eq!(bound.get(&format!("/v1/sessions/{session}")).await.0, 200);
    let answer = json!({"action": "submit", "answers": {"Store": "SQLite"}});
    assert_eq!(bound.respond(&ask, "k", answer).await.0, 403);
    assert_eq!(bound.delete(&format!("/v1/sessions/{session}")).await.0, 403);
    assert_eq!(bound.get("/v1/devices").await.0, 403);
}

#[tokio::test]
async fn a_frame_that_waits_for_its_quota_does_nothing_once_its_device_is_revoked() {
    // The connection takes one and two frames another each: the third frame waits.
    let rate_limit = RateLimit { burst: 3.5, per_second: 1.0 / 3_600.0 };
    let running = Running::start_with(ServerConfig { rate_limit, ..ServerConfig::default() }).await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let screen = running.client(Role::Person, "screen").await;
    let mut socket = Wire::connect(&running, &screen.token).await;
    let frame =
        |id: u64| json!({"type": "message", "id": id, "session": session, "text": format!("say {id}")});
    assert_eq!(socket.reply(&frame(1)).await["type"], "reply");
    assert_eq!(socket.reply(&frame(2)).await["type"], "reply");
    socket.say(&frame(3)).await;
    let device = running.device(&screen.token).await.id;
    assert!(running.gateway.revoke_device(device).await.expect("revoked"));
    while let Message::Text(_) = socket.heard().await {}
    let events = running.gateway.journal().read(session.parse().expect("an id"), Seq(0), 1_000).await;
    let said =
        |event: &Event| matches!(&event.body, EventBody::UserMessage(message) if message.text == "say 3");
    assert!(!events.expect("events").iter().any(said), "what waited was not done");
}

#[tokio::test]
async fn a_runners_frame_that_waits_for_its_quota_counts_for_nothing_once_its_token_is_revoked() {
    // Hello, ready and what the first conversation takes: the frame behind them waits.
    let runner_rate_limit = RateLimit { burst: 3.5, per_second: 1.0 / 3_600.0 };
    let running = Running::start_with(ServerConfig { runner_rate_limit, ..ServerConfig::default() }).await;
    let machine = running.client(Role::Runner, "laptop").await;
    let mut socket = Wire::of_runner(&running, &machine.token).await;
    let appeared =
        |name: &str| json!({"type": "appeared", "agent": "scripted", "agentRef": name, "cwd": "/"});
    socket.say(&appeared("first")).await;
    let terminals = async || {
        let journals = running.gateway.journal().journals(None, 100).await.expect("a list");
        let mut found = Vec::new();
        for id in journals {
            let record = running.gateway.journal().session(id).await.expect("a look").expect("there");
            found.extend(record.opened.terminal);
        }
        found
    };
    while terminals().await != ["first"] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    socket.say(&appeared("second")).await;
    let device = running.device(&machine.token).await.id;
    assert!(running.gateway.revoke_device(device).await.expect("revoked"));
    socket.gone().await;
    assert_eq!(terminals().await, ["first"], "what waited was not done");
}
