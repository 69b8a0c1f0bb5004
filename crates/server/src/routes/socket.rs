//! One socket that can do everything: the in-process transport, framed.
//!
//! What a client is sent waits in a short queue. When the client does not read, nothing is read from the journal for
//! it; when it does not read for long, it is let go and comes back with its cursor.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_gateway::{Direct, cursor};
use holdstead_protocol::socket::{ClientFrame, ServerFrame};
use holdstead_protocol::transport::{InteractionMode, Transport as _, TransportError};
use holdstead_protocol::{Code, Problem, Refusal, Seq, SessionId};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::App;
use crate::auth::{Caller, Rights};
use crate::problem::ApiError;

/// How many frames wait for a client.
const QUEUE: usize = 32;
/// How long a client may not read.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a silent socket shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The largest frame a client may send.
const FRAME_LIMIT: usize = 1024 * 1024;

#[utoipa::path(get, operation_id = "connect_socket", path = "/v1/ws", tag = "events",
    responses((status = 101, description = "frames as ClientFrame and ServerFrame describe"),
        (status = "default", body = Problem)))]
pub(super) async fn connect(
    State(app): State<App>,
    caller: Caller,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let rights = caller.rights()?;
    let upgrade = upgrade.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let connection = Connection::new(app, caller, rights);
    Ok(upgrade.max_message_size(FRAME_LIMIT).on_upgrade(|socket| connection.run(socket)))
}

struct Connection {
    app: App,
    name: String,
    rights: Rights,
    direct: Direct,
    subscriptions: HashMap<SessionId, DropGuard>,
}

impl Connection {
    fn new(app: App, caller: Caller, rights: Rights) -> Self {
        let name = caller.person.name.clone();
        let client = uuid::Uuid::new_v4().to_string();
        let direct = Direct::new(app.gateway.clone(), caller.person, client, InteractionMode::On);
        Self { app, name, rights, direct, subscriptions: HashMap::new() }
    }

    async fn run(mut self, socket: WebSocket) {
        let (sink, mut incoming) = socket.split();
        let (frames, queue) = mpsc::channel(QUEUE);
        let gone = CancellationToken::new();
        let writer = tokio::spawn(write(sink, queue, gone.clone()));
        let shutdown = self.app.gateway.shutdown_token();
        if frames.send(ServerFrame::Welcome { name: self.name.clone() }).await.is_ok() {
            loop {
                let message = tokio::select! {
                    () = shutdown.cancelled() => break,
                    () = gone.cancelled() => break,
                    message = incoming.next() => message,
                };
                let text = match message {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => break,
                };
                // Words we do not know end the conversation: guessing would be worse.
                let Ok(frame) = serde_json::from_str(&text) else { break };
                if self.take(frame, &frames).await.is_err() {
                    break;
                }
            }
        }
        self.subscriptions.clear();
        drop(frames);
        // The writer ends with its queue; a panic in it has nothing left to spoil.
        drop(writer.await);
    }

    async fn take(&mut self, frame: ClientFrame, frames: &mpsc::Sender<ServerFrame>) -> Result<(), Gone> {
        let direct = &self.direct;
        let rights = self.rights;
        let (id, result) = match frame {
            ClientFrame::Hello { interaction } => {
                let on = interaction.supported && interaction.enabled;
                let mode = if on { InteractionMode::On } else { InteractionMode::Off };
                // Switching a mode in this process cannot fail.
                drop(direct.set_interaction_mode(mode).await);
                return Ok(());
            }
            ClientFrame::Subscribe { id, session, after } => {
                let result = self.subscribe(session, after, frames).await;
                (id, result.map(|()| Value::Null))
            }
            ClientFrame::Unsubscribe { id, session } => {
                self.subscriptions.remove(&session);
                (id, Ok(Value::Null))
            }
            ClientFrame::SetInteractionMode { id, mode } => {
                (id, direct.set_interaction_mode(mode).await.map(|()| Value::Null))
            }
            ClientFrame::OpenSession { id, open } => {
                (id, allowed(rights.operate, async { value(&direct.open_session(open).await?) }).await)
            }
            ClientFrame::Session { id, session } => {
                (id, async { value(&direct.session(session).await?) }.await)
            }
            ClientFrame::Message { id, session, text } => {
                (id, allowed(rights.operate, async { value(&direct.message(session, text).await?) }).await)
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
        };
        let reply = match result {
            Ok(result) => ServerFrame::Reply { id, result },
            Err(TransportError::Refused(refusal)) => ServerFrame::Refused { id, refusal: *refusal },
            Err(TransportError::Unreachable(words)) => {
                ServerFrame::Refused { id, refusal: Refusal::new(Code::Unavailable, words) }
            }
        };
        frames.send(reply).await.map_err(|_| Gone)
    }

    /// Events of a session go into the queue until the client lets go of it.
    async fn subscribe(
        &mut self,
        session: SessionId,
        after: Seq,
        frames: &mpsc::Sender<ServerFrame>,
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
                let mut frame = ServerFrame::Resume { session, resume };
                while frames.send(frame).await.is_ok() {
                    frame = match events.next().await {
                        Ok(Some(event)) => ServerFrame::Event { session, event },
                        Ok(None) | Err(_) => break,
                    };
                }
                // If the queue is closed, so is the socket.
                drop(frames.send(ServerFrame::Ended { session }).await);
            };
            tokio::select! {
                () = ended.cancelled() => {}
                () = feed => {}
            }
        });
        Ok(())
    }
}

/// The client is gone.
struct Gone;

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

/// Writes what waits; lets the client go when it does not read.
async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut queue: mpsc::Receiver<ServerFrame>,
    gone: CancellationToken,
) {
    loop {
        let message = match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
            Ok(Some(frame)) => match serde_json::to_string(&frame) {
                Ok(text) => Message::text(text),
                Err(_) => break,
            },
            Ok(None) => break,
            Err(_) => Message::Ping(axum::body::Bytes::new()),
        };
        match tokio::time::timeout(PATIENCE, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
    gone.cancel();
    // The other side may be gone already.
    drop(sink.close().await);
}
