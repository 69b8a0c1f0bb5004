//! The WebSocket, frame by frame: what is taken, what is refused in words, and how it is closed.

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_protocol::api::Role;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::running::{PATIENCE, Running};

/// As the wire of runners has it: the gateway refuses another one.
const RUNNER_VERSION: u32 = 6;

fn socket_url(running: &Running, query: &str) -> String {
    format!("{}/v1/ws{query}", running.url.replace("http://", "ws://"))
}

pub(crate) struct Wire(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Wire {
    pub(crate) async fn connect(running: &Running, token: &str) -> Self {
        let mut request = socket_url(running, "").into_client_request().expect("a request");
        let bearer = format!("Bearer {token}").parse().expect("a header");
        request.headers_mut().insert("authorization", bearer);
        Self::welcomed(request).await.expect("it connects")
    }

    /// A machine that runs agents, which has said what it has.
    pub(crate) async fn of_runner(running: &Running, token: &str) -> Self {
        let url = format!("{}/v1/runner", running.url.replace("http://", "ws://"));
        let mut request = url.into_client_request().expect("a request");
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().expect("a header"));
        let (stream, _) = tokio_tungstenite::connect_async(request).await.expect("it connects");
        let mut wire = Self(stream);
        let agents = json!([{"name": "scripted", "installed": true}]);
        let instance = uuid::Uuid::new_v4();
        let hello =
            json!({"type": "hello", "version": RUNNER_VERSION, "instance": instance, "agents": agents});
        wire.say(&hello).await;
        wire.say(&json!({"type": "ready"})).await;
        assert_eq!(wire.next().await["type"], "welcome");
        wire
    }

    /// Returns when the other side has ended the connection.
    pub(crate) async fn gone(&mut self) {
        let heard = async { while let Some(Ok(_)) = self.0.next().await {} };
        tokio::time::timeout(PATIENCE, heard).await.expect("it ends");
    }

    /// As a browser does it: with what can stand in an address, and no header of its own.
    async fn with_ticket(running: &Running, ticket: &Value) -> Result<Self, u16> {
        let query = format!("?ticket={}", ticket["ticket"].as_str().expect("a ticket"));
        Self::welcomed(socket_url(running, &query).into_client_request().expect("a request")).await
    }

    async fn welcomed(request: tungstenite::handshake::client::Request) -> Result<Self, u16> {
        let stream = match tokio_tungstenite::connect_async(request).await {
            Ok((stream, _)) => stream,
            Err(tungstenite::Error::Http(response)) => return Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        };
        let mut wire = Self(stream);
        assert_eq!(wire.next().await["type"], "welcome");
        Ok(wire)
    }

    pub(crate) async fn say(&mut self, frame: &Value) {
        self.0.send(Message::text(frame.to_string())).await.expect("it is sent");
    }

    pub(crate) async fn heard(&mut self) -> Message {
        loop {
            let heard = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("in time");
            let heard = heard.expect("a frame").expect("a whole frame");
            if !matches!(heard, Message::Ping(_) | Message::Pong(_)) {
                return heard;
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        let heard = self.heard().await;
        let Message::Text(text) = &heard else { panic!("{heard:?}") };
        serde_json::from_str(text).expect("JSON")
    }

    /// The reply to this frame, whatever else is told before it.
    async fn until_reply(&mut self, frame: &Value) -> Value {
        self.say(frame).await;
        loop {
            let next = self.next().await;
            if next["id"] == frame["id"] && (next["type"] == "reply" || next["type"] == "refused") {
                return next;
            }
        }
    }

    pub(crate) async fn reply(&mut self, frame: &Value) -> Value {
        self.say(frame).await;
        self.next().await
    }

    /// The code and the words of the close.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        let heard = self.heard().await;
        let Message::Close(Some(frame)) = &heard else { panic!("{heard:?}") };
        (frame.code.into(), frame.reason.to_string())
    }
}

#[tokio::test]
async fn a_frame_that_is_not_understood_is_refused_by_name_and_the_socket_stays() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let mut wire = Wire::connect(&running, &ana.token).await;
    let cases = [
        (json!({"type": "sing", "id": 1}), "type"),
        (json!({"id": 2}), "type"),
        (json!({"type": "message", "id": 3, "session": session}), "text"),
        (json!({"type": "message", "id": 4, "session": session, "text": "a", "txt": "b"}), "txt"),
        (json!({"type": "subscribe", "id": 5, "session": session, "after": "x"}), "after"),
        (json!({"type": "hello", "interaction": {"supported": true}}), "interaction.enabled"),
        (
            json!({"type": "ask", "id": 6, "call": {"key": "k", "toolName": "t", "kind": "approval", "x": 1}}),
            "call.x",
        ),
        (json!({"type": "chat_message", "conversation_id": session}), "content"),
        (json!({"type": "chat_message", "conversation_id": session, "content": "a", "x": 1}), "x"),
    ];
    for (frame, field) in cases {
        let refused = wire.reply(&frame).await;
        assert_eq!(refused["type"], "refused", "{frame}: {refused}");
        assert_eq!(refused.get("id"), frame.get("id"), "{refused}");
        assert!(refused["refusal"]["fieldErrors"].get(field).is_some(), "{frame}: {refused}");
    }
    let deep = format!(r#"{{"type":"message","id":7,"text":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    for (text, words) in [
        (deep.as_str(), "64 deep"),
        (r#"{"type":"message","id":7,"text":"a","text":"b"}"#, "stands twice"),
        (r#"{"type":"message","id":7,"text":"\ud800"}"#, "half a character"),
        (r#"{"type":"message","id":7,"$serde_json::private::RawValue":"1"}"#, "reserved"),
    ] {
        wire.0.send(Message::text(text)).await.expect("it is sent");
        let refused = wire.next().await;
        assert_eq!((&refused["type"], &refused["id"]), (&json!("refused"), &json!(7)), "{refused}");
        assert!(refused["refusal"]["detail"].as_str().is_some_and(|said| said.contains(words)), "{refused}");
    }
    let shown = wire.reply(&json!({"type": "session", "id": 8, "session": session})).await;
    assert_eq!((&shown["type"], &shown["id"]), (&json!("reply"), &json!(8)), "{shown}");
}

#[tokio::test]
async fn other_chat_servers_frames_are_taken() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let opened = ana.post("/v1/sessions", &json!({"agent": "scripted"})).await.1;
    let session = opened["sessionId"].as_str().expect("an id");
    let mut wire = Wire::connect(&running, &ana.token).await;
    wire.say(&json!({"type": "hello"})).await;
    let script = "ask Store: Which store? | SQLite | PostgreSQL";
    let taken =
        wire.reply(&json!({"type": "chat_message", "conversation_id": session, "content": script})).await;
    assert_eq!(taken["type"], "reply", "{taken}");
    let ask = ana.open_ask(session).await;
    let answer = json!({"type": "ask_user_response", "conversation_id": session,
        "tool_call_id": ask["request"]["toolCallId"], "answers": {"Which store?": "SQLite"}});
    let off = wire.reply(&json!({"type": "set_interaction_mode", "enabled": false})).await;
    assert_eq!(off["type"], "reply", "{off}");
    let refused = wire.reply(&answer).await;
    assert_eq!(refused["refusal"]["code"], "answering_disabled", "{refused}");
    wire.reply(&json!({"type": "set_interaction_mode", "enabled": true})).await;
    let receipt = wire.reply(&answer).await;
    assert_eq!(
        (&receipt["type"], &receipt["result"]["settlement"]),
        (&json!("reply"), &json!("answered")),
        "{receipt}"
    );
    let again = wire.reply(&answer).await;
    assert_eq!(again["refusal"]["code"], "not_found", "{again}");
    // Who may only look may not answer.
    let screen = running.client(Role::Viewer, "screen").await;
    let mut looking = Wire::connect(&running, &screen.token).await;
    assert_eq!(looking.reply(&answer).await["refusal"]["code"], "forbidden");
}

#[tokio::test]
async fn a_socket_counts_as_what_it_says_and_may() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let opened = ana.post("/v1/sessions", &json!({"agent": "scripted"})).await.1;
    let session = opened["sessionId"].as_str().expect("an id");
    let counts = async || {
        let shown = ana.get(&format!("/v1/sessions/{session}")).await.1;
        (shown["interactiveClients"].clone(), shown["enabledClients"].clone())
    };
    let hello = |supported: bool, enabled: bool| json!({"type": "hello", "interaction": {"supported": supported, "enabled": enabled}});
    // Whatever follows is taken after the hello before it.
    let subscribe = json!({"type": "subscribe", "id": 1, "session": session, "after": 0});

    let screen = running.client(Role::Viewer, "screen").await;
    let mut looking = Wire::connect(&running, &screen.token).await;
    looking.say(&hello(true, true)).await;
    assert_eq!(looking.until_reply(&subscribe).await["type"], "reply");
    let refused = looking.until_reply(&json!({"type": "set_interaction_mode", "id": 2, "mode": "on"})).await;
    assert_eq!(refused["refusal"]["code"], "forbidden", "{refused}");
    assert_eq!(counts().await, (json!(0), json!(0)), "a viewer");

    let mut wire = Wire::connect(&running, &ana.token).await;
    wire.say(&hello(false, true)).await;
    assert_eq!(wire.until_reply(&subscribe).await["type"], "reply");
    assert_eq!(counts().await, (json!(0), json!(0)), "it cannot show asks");
    wire.say(&hello(true, false)).await;
    wire.until_reply(&json!({"type": "session", "id": 3, "session": session})).await;
    assert_eq!(counts().await, (json!(1), json!(0)));
    wire.until_reply(&json!({"type": "set_interaction_mode", "id": 4, "mode": "on"})).await;
    assert_eq!(counts().await, (json!(1), json!(1)));
    wire.say(&hello(false, true)).await;
    wire.until_reply(&json!({"type": "session", "id": 5, "session": session})).await;
    assert_eq!(counts().await, (json!(0), json!(0)));
}

#[tokio::test]
async fn a_socket_is_closed_with_a_code_and_words() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let large = Message::text("x".repeat(2 * 1024 * 1024));
    let cases = [
        (Message::text("nonsense"), 1007, "not JSON"),
        (Message::text(""), 1007, "empty"),
        (Message::binary(vec![1, 2, 3]), 1003, "JSON text"),
        (large, 1009, "1 MiB"),
    ];
    for (message, code, words) in cases {
        let mut wire = Wire::connect(&running, &ana.token).await;
        // A frame that is refused for its size may be refused before it is sent whole.
        drop(wire.0.send(message).await);
        let closed = wire.closed().await;
        assert_eq!(closed.0, code, "{closed:?}");
        assert!(closed.1.contains(words), "{closed:?}");
    }
    let mut wire = Wire::connect(&running, &ana.token).await;
    running.gateway.shutdown_token().cancel();
    let closed = wire.closed().await;
    assert_eq!(closed.0, 1001, "{closed:?}");
}

#[tokio::test]
async fn a_ticket_opens_one_socket_and_nothing_else() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("ask Store: Which store? | SQLite | PostgreSQL").await;
    let ask = ana.open_ask(&session).await;
    let browser = running.browser(&ana).await;
    let ticket =
        browser.send(reqwest::Method::POST, "/v1/tickets", Some(&json!({}))).await.expect("an answer");
    assert_eq!(ticket.status(), 201);
    let ticket: Value = ticket.json().await.expect("JSON");
    let secret = ticket["ticket"].as_str().expect("a ticket");
    for path in ["/v1/me".to_owned(), format!("/v1/me?ticket={secret}")] {
        let request = running.plain(reqwest::Method::GET, &path).bearer_auth(secret);
        assert_eq!(request.send().await.expect("an answer").status(), 401, "{path}");
    }
    let mut wire = Wire::with_ticket(&running, &ticket).await.expect("it connects");
    assert_eq!(Wire::with_ticket(&running, &ticket).await.err(), Some(401), "it was used");
    let answer = json!({"type": "ask_user_response", "conversation_id": session,
        "tool_call_id": ask["request"]["toolCallId"], "answers": {"Which store?": "SQLite"}});
    assert_eq!(wire.reply(&answer).await["result"]["settlement"], "answered");
    let (_, shown) = ana
        .get(&format!("/v1/interactions/{}", ask["request"]["interactionId"].as_str().expect("an id")))
        .await;
    assert_eq!(
        (&shown["response"]["name"], &shown["response"]["surface"]),
        (&json!("ana"), &json!("web")),
        "{shown}"
    );
}

#[tokio::test]
async fn a_ticket_may_do_what_its_token_may_and_dies_with_it() {
    let running = Running::start().await;
    let screen = running.client(Role::Viewer, "screen").await;
    let (_, ticket) = screen.post("/v1/tickets", &json!({})).await;
    let mut looking = Wire::with_ticket(&running, &ticket).await.expect("it connects");
    let refused =
        looking.reply(&json!({"type": "open_session", "id": 1, "open": {"agent": "scripted"}})).await;
    assert_eq!(refused["refusal"]["code"], "forbidden", "{refused}");
    let agent = running.client(Role::Agent, "ci").await;
    assert_eq!(agent.post("/v1/tickets", &json!({})).await.0, 403);
    let (_, ticket) = screen.post("/v1/tickets", &json!({})).await;
    let device = running.device(&screen.token).await;
    assert!(running.gateway.revoke_device(device.id).await.expect("revoked"));
    assert_eq!(Wire::with_ticket(&running, &ticket).await.err(), Some(401));
}
