//! One socket that can do everything: the in-process transport, framed.
//!
//! What a client is sent waits in a short queue. When the client does not read, nothing is read from the journal for
//! it; when it does not read for long, it is let go and comes back with its cursor.

mod frames;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_gateway::{Answering, Direct, Lease, Told, cursor};
use holdstead_protocol::api::{Respond, SendMessage};
use holdstead_protocol::socket::{ClientFrame, ServerFrame};
use holdstead_protocol::transport::{InteractionMode, Transport as _, TransportError};
use holdstead_protocol::{Code, Event, OwnerId, Problem, Refusal, ResponseDraft, Seq, SessionId};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use frames::{Frame, Said, Unread};

use crate::App;
use crate::auth::{Caller, Rights, SocketCaller, WithTicket};
use crate::limit::Cost;
use crate::problem::ApiError;

/// How many frames wait for a client.
const QUEUE: usize = 32;
/// How long a client may not read.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the words of a close may take.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often a silent socket shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The largest frame a client may send.
const FRAME_LIMIT: usize = 1024 * 1024;

/// One WebSocket for everything. Frames are ClientFrame and ServerFrame.
#[utoipa::path(get, operation_id = "connect_socket", path = "/v1/ws", tag = "events",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(WithTicket),
    responses((status = 101, description = "frames as ClientFrame and ServerFrame describe"),
        (status = "default", body = Problem)))]
pub(super) async fn connect(
    State(app): State<App>,
    SocketCaller(caller): SocketCaller,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let rights = caller.rights()?;
    let upgrade = upgrade.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let connection = Connection::new(app, caller, rights);
    Ok(upgrade.max_message_size(FRAME_LIMIT).on_upgrade(|socket| connection.run(socket)))
}

struct Connection {
    app: App,
    owner: OwnerId,
    /// The hash of the token, which pays for each frame.
    token: [u8; 32],
    name: String,
    rights: Rights,
    lease: Lease,
    direct: Direct,
    subscriptions: HashMap<SessionId, DropGuard>,
}

impl Connection {
    fn new(app: App, caller: Caller, rights: Rights) -> Self {
        let (owner, name) = (caller.person.owner.clone(), caller.person.name.clone());
        let (token, lease) = (caller.token, caller.lease);
        let client = uuid::Uuid::new_v4().to_string();
        let answering = if rights.answer.is_ok() { Answering::On } else { Answering::Never };
        let direct = Direct::new(app.gateway.clone(), caller.person, client, answering);
        Self { app, owner, token, name, rights, lease, direct, subscriptions: HashMap::new() }
    }

    async fn run(mut self, socket: WebSocket) {
        let (sink, mut incoming) = socket.split();
        let (frames, queue) = mpsc::channel(QUEUE);
        let gone = CancellationToken::new();
        let writer = tokio::spawn(write(sink, queue, self.lease.clone(), gone.clone()));
        let shutdown = self.app.gateway.serving_token();
        let mut end = None;
        let welcome = ServerFrame::Welcome { name: self.name.clone() };
        if frames.send(Outgoing::frame(welcome)).await.is_ok() {
            loop {
                let message = tokio::select! {
                    () = shutdown.cancelled() => {
                        let words = "The gateway is going away. Come back in a moment, with your cursor.";
                        end = Some((close_code::AWAY, words.to_owned()));
                        break;
                    }
                    () = gone.cancelled() => break,
                    message = incoming.next() => message,
                };
                if let Some(Ok(message)) = &message {
                    tokio::select! {
                        () = shutdown.cancelled() => {}
                        () = gone.cancelled() => break,
                        () = self.app.limits.paid(&self.token, Cost::frame(message_size(message))) => {}
                    }
                }
                // Whatever was on its way, or waited to be paid for, when the device was revoked is not done.
                if !self.lease.is_good() {
                    break;
                }
                let text = match message {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Binary(_))) => {
                        end = Some((close_code::UNSUPPORTED, "Frames are JSON text.".to_owned()));
                        break;
                    }
                    // Whatever else is wrong with its bytes, the other side is gone.
                    Some(Err(error)) if is_too_large(&error) => {
                        end = Some((close_code::SIZE, "The frame is larger than 1 MiB.".to_owned()));
                        break;
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                };
                let frame = match frames::read(&text) {
                    Ok(frame) => frame,
                    Err(Unread::Refused { id, refusal }) => {
                        if frames.send(Outgoing::frame(refused(id, *refusal))).await.is_err() {
                            break;
                        }
                        continue;
                    }
                    // Where a frame ends is not known any more.
                    Err(Unread::NotJson(words)) => {
                        end = Some((close_code::INVALID, words));
                        break;
                    }
                };
                if self.take(frame, &frames).await.is_err() {
                    break;
                }
            }
        }
        self.subscriptions.clear();
        if let Some((code, words)) = end {
            // A client that does not read is let go without words.
            drop(frames.try_send(Outgoing::Close(code, words)));
        }
        drop(frames);
        // The writer ends with its queue; a panic in it has nothing left to spoil.
        drop(writer.await);
    }

    async fn take(&mut self, frame: Frame, frames: &mpsc::Sender<Outgoing>) -> Result<(), Gone> {
        let (id, result) = match frame {
            Frame::Ours(frame) => match self.call(*frame, frames).await {
                Some((id, result)) => (Some(id), result),
                None => return Ok(()),
            },
            Frame::Theirs { id, said } => (id, self.said(said).await),
        };
        let reply = match result {
            Ok(result) => ServerFrame::Reply { id, result },
            Err(TransportError::Refused(refusal)) => refused(id, *refusal),
            Err(TransportError::Unreachable(words)) => refused(id, Refusal::new(Code::Unavailable, words)),
        };
        frames.send(Outgoing::frame(reply)).await.map_err(|_| Gone)
    }

    /// A call, and the id that its reply has.
    async fn call(
        &mut self,
        frame: ClientFrame,
        frames: &mpsc::Sender<Outgoing>,
    ) -> Option<(u64, Result<Value, TransportError>)> {
        let direct = &self.direct;
        let rights = self.rights;
        Some(match frame {
            ClientFrame::Hello { interaction } => {
                if let (Some(offer), Ok(())) = (interaction, rights.answer) {
                    direct.set_answering(match (offer.supported, offer.enabled) {
                        (false, _) => Answering::Never,
                        (true, false) => Answering::Off,
                        (true, true) => Answering::On,
                    });
                }
                return None;
            }
            ClientFrame::Subscribe { id, session, after } => {
                let result = self.subscribe(session, after, frames).await;
                (id, result.map(|()| Value::Null))
            }
            ClientFrame::Unsubscribe { id, session } => {
                self.subscriptions.remove(&session);
                (id, Ok(Value::Null))
            }
            ClientFrame::SetInteractionMode { id, mode } => (id, self.set_mode(mode).await),
            ClientFrame::OpenSession { id, open } => {
                (id, allowed(rights.operate, async { value(&direct.open_session(open).await?) }).await)
            }
            ClientFrame::Session { id, session } => {
                (id, async { value(&direct.session(session).await?) }.await)
            }
            ClientFrame::Message { id, session, text, message_id } => {
                let message = SendMessage { text, message_id };
                (id, allowed(rights.operate, async { value(&direct.message(session, message).await?) }).await)
            }
            ClientFrame::Interrupt { id, session } => {
                (id, allowed(rights.operate, async { value(&direct.interrupt(session).await?) }).await)
            }
            ClientFrame::Inbox { id, query } => (id, async { value(&direct.inbox(query).await?) }.await),
            ClientFrame::Interaction { id, interaction } => {
                (id, async { value(&direct.interaction(interaction).await?) }.await)
            }
            ClientFrame::Ask { id, call } => {
                (id, allowed(rights.operate, async { value(&direct.ask(call).await?) }).await)
            }
            ClientFrame::ToolInteractionResponse { id, interaction, response } => (
                id,
                allowed(rights.answer, async { value(&direct.respond(interaction, response).await?) }).await,
            ),
        })
    }

    /// The frames that say the same by session and tool call.
    async fn said(&self, said: Said) -> Result<Value, TransportError> {
        let direct = &self.direct;
        match said {
            Said::Message { session, text } => {
                let message = SendMessage { text, message_id: None };
                allowed(self.rights.operate, async { value(&direct.message(session, message).await?) }).await
            }
            Said::Answers { session, tool_call_id, answers } => {
                allowed(self.rights.answer, async {
                    let found = self.app.gateway.open_ask_of_call(&self.owner, session, &tool_call_id).await;
                    let ask = found.map_err(|error| TransportError::from(Refusal::from(&error)))?;
                    let response =
                        ResponseDraft::Submit { answers: Some(answers.clone()), input: Some(answers) };
                    let respond = Respond {
                        prompt_id: ask.request.prompt_id,
                        idempotency_key: uuid::Uuid::new_v4().to_string(),
                        response,
                    };
                    value(&direct.respond(ask.request.interaction_id, respond).await?)
                })
                .await
            }
            Said::Mode(mode) => self.set_mode(mode).await,
        }
    }

    async fn set_mode(&self, mode: InteractionMode) -> Result<Value, TransportError> {
        let set = async { self.direct.set_interaction_mode(mode).await.map(|()| Value::Null) };
        allowed(self.rights.answer, set).await
    }

    /// Events of a session go into the queue until the client lets go of it.
    async fn subscribe(
        &mut self,
        session: SessionId,
        after: Seq,
        frames: &mpsc::Sender<Outgoing>,
    ) -> Result<(), TransportError> {
        let now = self.direct.session(session).await?;
        let (after, resume) = cursor::resume(after, now);
        let (mut events, watching) = self.direct.stream(session, after).await?;
        let ended = CancellationToken::new();
        self.subscriptions.insert(session, ended.clone().drop_guard());
        let frames = frames.clone();
        tokio::spawn(async move {
            let _watching = watching;
            let feed = async {
                let mut frame = Outgoing::frame(ServerFrame::Resume { session, resume });
                while frames.send(frame).await.is_ok() {
                    frame = match events.next_told().await {
                        Ok(Some(told)) => Outgoing::Event { session, told },
                        Ok(None) | Err(_) => break,
                    };
                }
                // If the queue is closed, so is the socket.
                drop(frames.send(Outgoing::frame(ServerFrame::Ended { session })).await);
            };
            tokio::select! {
                () = ended.cancelled() => {}
                () = feed => {}
            }
        });
        Ok(())
    }
}

pub(super) fn message_size(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Close(_) => 0,
    }
}

/// The client is gone.
struct Gone;

/// What waits for a client.
enum Outgoing {
    Frame(Box<ServerFrame>),
    /// In a frame that it shares with all who watch the session over a socket.
    Event {
        session: SessionId,
        told: Arc<Told>,
    },
    /// The last thing it hears.
    Close(u16, String),
}

impl Outgoing {
    fn frame(frame: ServerFrame) -> Self {
        Self::Frame(Box::new(frame))
    }
}

const fn refused(id: Option<u64>, refusal: Refusal) -> ServerFrame {
    ServerFrame::Refused { id, refusal }
}

fn is_too_large(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("too long") || error.to_string().contains("too large") {
            return true;
        }
        cause = error.source();
    }
    false
}

async fn allowed(
    right: Result<(), &'static str>,
    call: impl Future<Output = Result<Value, TransportError>>,
) -> Result<Value, TransportError> {
    match right {
        Ok(()) => call.await,
        Err(words) => Err(Refusal::new(Code::Forbidden, words).into()),
    }
}

fn value(result: &impl Serialize) -> Result<Value, TransportError> {
    serde_json::to_value(result).map_err(|error| TransportError::Unreachable(error.to_string()))
}

/// [`ServerFrame::Event`], without a copy of the event.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventFrame<'a> {
    Event { session: SessionId, event: &'a Event },
}

/// Nothing, where it cannot be written as JSON.
fn shared_frame(session: SessionId, told: &Told) -> Option<Utf8Bytes> {
    let write = || serde_json::to_vec(&EventFrame::Event { session, event: &told.event }).unwrap_or_default();
    let frame = told.socket_frame.get_or_init(|| write().into()).clone();
    Utf8Bytes::try_from(frame).ok().filter(|frame| !frame.is_empty())
}

/// Writes what waits; lets the client go when it does not read, or its device is revoked.
async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut queue: mpsc::Receiver<Outgoing>,
    lease: Lease,
    gone: CancellationToken,
) {
    tokio::select! {
        biased;
        () = lease.ended() => {
            let reason = "This device was logged out, or what it may do has changed.".into();
            let close = Message::Close(Some(CloseFrame { code: close_code::POLICY, reason }));
            // A client that does not read is let go without words.
            drop(tokio::time::timeout(LAST_WORDS, sink.send(close)).await);
        }
        () = write_all(&mut sink, &mut queue) => {}
    }
    gone.cancel();
    // The other side may be gone already, or not read.
    drop(tokio::time::timeout(LAST_WORDS, sink.close()).await);
}

async fn write_all(sink: &mut SplitSink<WebSocket, Message>, queue: &mut mpsc::Receiver<Outgoing>) {
    loop {
        let message = match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
            Ok(Some(Outgoing::Frame(frame))) => match serde_json::to_string(&frame) {
                Ok(text) => Message::text(text),
                Err(_) => break,
            },
            Ok(Some(Outgoing::Event { session, told })) => match shared_frame(session, &told) {
                Some(text) => Message::Text(text),
                None => break,
            },
            Ok(Some(Outgoing::Close(code, words))) => {
                Message::Close(Some(CloseFrame { code, reason: words.into() }))
            }
            Ok(None) => break,
            Err(_) => Message::Ping(axum::body::Bytes::new()),
        };
        match tokio::time::timeout(PATIENCE, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
}
