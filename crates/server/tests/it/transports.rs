//! One behaviour, three transports: the same lines run over HTTP, the WebSocket and in-process.

use std::future::Future;
use std::time::Duration;

use crate::running::{PATIENCE, Running};
use holdstead_client::{Http, Socket};
use holdstead_gateway::{Direct, Person};
use holdstead_protocol::api::{Interaction, OpenSession, Respond, Role, SendMessage};
use holdstead_protocol::transport::{EventFeed, InboxQuery, InteractionMode, Transport, TransportError};
use holdstead_protocol::{
    AskState, Code, Event, EventBody, OwnerId, Refusal, ResponseDraft, Seq, SessionId, Settlement, Surface,
};

/// A way to make clients of one kind.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Http,
    Socket,
    Direct,
}

impl Kind {
    async fn client(self, running: &Running, name: &str, mode: InteractionMode) -> Box<dyn Transport> {
        let token = running.client(Role::Person, name).await.token;
        match self {
            Self::Http => {
                let client = Http::new(running.url.clone(), token);
                client.set_interaction_mode(mode).await.expect("it can be set");
                Box::new(client)
            }
            Self::Socket => Box::new(Socket::connect(&running.url, &token, mode).await.expect("it connects")),
            Self::Direct => {
                let owner = OwnerId::new("local").expect("a name");
                let person = Person::new(owner, name, Surface::Api);
                Box::new(Direct::new(running.gateway.clone(), person, name, mode))
            }
        }
    }
}

async fn begin(client: &dyn Transport, script: &str) -> SessionId {
    let open = OpenSession::new("scripted");
    let session = client.open_session(open).await.expect("it opens").session_id;
    client.message(session, SendMessage::new(script)).await.expect("it is taken");
    session
}

async fn until(feed: &mut dyn EventFeed, wanted: impl Fn(&EventBody) -> bool) -> Vec<Event> {
    let mut seen = Vec::new();
    let follow = async {
        while let Some(event) = feed.next().await.expect("it goes on") {
            let found = wanted(&event.body);
            seen.push(event);
            if found {
                return;
            }
        }
        panic!("the feed ended early: {seen:?}");
    };
    tokio::time::timeout(PATIENCE, follow).await.expect("in time");
    seen
}

async fn open_ask(client: &dyn Transport, session: SessionId) -> Interaction {
    let mut feed = client.subscribe(session, Seq::START).await.expect("it subscribes");
    until(feed.as_mut(), |body| matches!(body, EventBody::InteractionRequest(_))).await;
    let query = InboxQuery { session: Some(session), ..InboxQuery::default() };
    client.inbox(query).await.expect("a page").interactions.remove(0)
}

fn answer(ask: &Interaction, key: &str, response: ResponseDraft) -> Respond {
    Respond { prompt_id: ask.request.prompt_id, idempotency_key: key.to_owned(), response }
}

fn approve() -> ResponseDraft {
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None }
}

fn deny() -> ResponseDraft {
    ResponseDraft::Deny { reason: Some("use pnpm".to_owned()) }
}

fn refusal(error: TransportError) -> Refusal {
    match error {
        TransportError::Refused(refusal) => *refusal,
        TransportError::Unreachable(words) => panic!("not reached: {words}"),
    }
}

/// Presence changes when the other side has noticed: soon, not at once.
async fn soon<F: Future<Output = bool>>(what: &str, mut check: impl FnMut() -> F) {
    let settle = async {
        while !check().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settle).await.unwrap_or_else(|_| panic!("{what} never came true"));
}

async fn first_answer_wins(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::On).await;
    let ben = kind.client(&running, "ben", InteractionMode::On).await;
    let session = begin(ana.as_ref(), "approve Bash {\"command\":\"make\"}").await;
    let ask = open_ask(ana.as_ref(), session).await;
    let id = ask.request.interaction_id;
    let receipt = ana.respond(id, answer(&ask, "k1", deny())).await.expect("it wins");
    assert_eq!(receipt.state, AskState::Settled { settlement: Settlement::Denied });
    let again = ana.respond(id, answer(&ask, "k1", deny())).await.expect("the same key, the same result");
    assert_eq!((again.seq, again.at), (receipt.seq, receipt.at));
    let reused = refusal(ana.respond(id, answer(&ask, "k1", approve())).await.expect_err("another body"));
    assert_eq!(reused.code, Code::IdempotencyKeyReused);
    let lost = refusal(ben.respond(id, answer(&ask, "k2", approve())).await.expect_err("it is settled"));
    assert_eq!(lost.code, Code::AlreadyAnswered);
    let winner = lost.winner.expect("a winner");
    assert_eq!((winner.action.as_str(), winner.at), ("deny", receipt.at));
}

async fn a_bad_answer_names_its_fields(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::On).await;
    let session = begin(ana.as_ref(), "ask Store: Which? | SQLite | PostgreSQL").await;
    let ask = open_ask(ana.as_ref(), session).await;
    let id = ask.request.interaction_id;
    let submit = |text: &str| ResponseDraft::Submit {
        answers: Some([("store".to_owned(), text.into())].into_iter().collect()),
        input: None,
    };
    let invalid = refusal(ana.respond(id, answer(&ask, "k", submit(" "))).await.expect_err("it is blank"));
    assert_eq!(invalid.code, Code::Invalid);
    assert!(invalid.field_errors.contains_key("store"));
    ana.respond(id, answer(&ask, "k", submit("SQLite"))).await.expect("now it fits");
}

async fn a_feed_goes_on_from_any_cursor(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::On).await;
    let session = begin(ana.as_ref(), "say one\ntool Read {} => ok\nsay two").await;
    let done = |body: &EventBody| matches!(body, EventBody::Done(_));
    let mut feed = ana.subscribe(session, Seq::START).await.expect("it subscribes");
    let all = until(feed.as_mut(), done).await;
    let seqs: Vec<u64> = all.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, (1..=all.len() as u64).collect::<Vec<_>>());
    drop(feed);
    for after in 0..all.len() {
        let mut feed = ana.subscribe(session, Seq(after as u64)).await.expect("it subscribes");
        assert_eq!(until(feed.as_mut(), done).await, all[after..]);
    }
}

async fn a_client_that_is_off_sees_and_cannot_answer_until_it_is_on(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::Off).await;
    let session = begin(ana.as_ref(), "approve Bash {\"command\":\"make\"}").await;
    let mut feed = ana.subscribe(session, Seq::START).await.expect("it subscribes");
    until(feed.as_mut(), |body| matches!(body, EventBody::InteractionRequest(_))).await;
    let query = InboxQuery { session: Some(session), ..InboxQuery::default() };
    let ask = ana.inbox(query).await.expect("it may look").interactions.remove(0);
    let counts = async || {
        let session = ana.session(session).await.expect("a session");
        (session.interactive_clients, session.enabled_clients)
    };
    soon("one client, switched off", || async { counts().await == (1, 0) }).await;
    let id = ask.request.interaction_id;
    let off = refusal(ana.respond(id, answer(&ask, "k", approve())).await.expect_err("it is off"));
    assert_eq!(off.code, Code::AnsweringDisabled);
    ana.set_interaction_mode(InteractionMode::On).await.expect("it can be switched");
    soon("one client, switched on", || async { counts().await == (1, 1) }).await;
    ana.respond(id, answer(&ask, "k", approve())).await.expect("the open ask can be answered now");
    drop(feed);
    soon("nobody watches", || async { counts().await == (0, 0) }).await;
}

async fn an_interrupted_ask_is_dead(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::On).await;
    let session = begin(ana.as_ref(), "approve Bash {\"command\":\"make\"}").await;
    let ask = open_ask(ana.as_ref(), session).await;
    let id = ask.request.interaction_id;
    assert_eq!(ana.interrupt(session).await.expect("it stops").cancelled, [id]);
    let dead = refusal(ana.respond(id, answer(&ask, "k", approve())).await.expect_err("it is dead"));
    assert_eq!(dead.code, Code::Closed);
    assert!(matches!(ana.interaction(id).await.expect("it can be seen").state, AskState::Closed { .. }));
}

async fn what_does_not_exist_is_not_found(kind: Kind) {
    let running = Running::start().await;
    let ana = kind.client(&running, "ana", InteractionMode::On).await;
    let nowhere = SessionId::generate(&OwnerId::new("local").expect("a name"));
    let errors = [
        ana.session(nowhere).await.expect_err("no session"),
        ana.message(nowhere, SendMessage::new("hello")).await.expect_err("no session"),
        ana.subscribe(nowhere, Seq::START).await.expect_err("no session"),
    ];
    for error in errors {
        assert_eq!(refusal(error).code, Code::NotFound);
    }
}

macro_rules! over_every_transport {
    ($($case:ident),* $(,)?) => {
        mod http {
            $(#[tokio::test] async fn $case() { super::$case(super::Kind::Http).await; })*
        }
        mod socket {
            $(#[tokio::test] async fn $case() { super::$case(super::Kind::Socket).await; })*
        }
        mod direct {
            $(#[tokio::test] async fn $case() { super::$case(super::Kind::Direct).await; })*
        }
    };
}

over_every_transport!(
    first_answer_wins,
    a_bad_answer_names_its_fields,
    a_feed_goes_on_from_any_cursor,
    a_client_that_is_off_sees_and_cannot_answer_until_it_is_on,
    an_interrupted_ask_is_dead,
    what_does_not_exist_is_not_found,
);

#[tokio::test]
async fn a_socket_needs_a_token_and_our_own_origin() {
    use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await.token;
    let agent = running.client(Role::Agent, "agent").await.token;
    let url = format!("{}/v1/ws", running.url.replacen("http", "ws", 1));
    let cases =
        [(None, None, 401), (Some(&ana), Some("http://evil.example"), 403), (Some(&agent), None, 403)];
    for (token, origin, status) in cases {
        let mut request = url.as_str().into_client_request().expect("a request");
        if let Some(token) = token {
            request
                .headers_mut()
                .insert("authorization", format!("Bearer {token}").parse().expect("a header"));
        }
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().expect("a header"));
        }
        match tokio_tungstenite::connect_async(request).await {
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                assert_eq!(response.status(), status)
            }
            other => panic!("it must be refused: {other:?}"),
        }
    }
}
