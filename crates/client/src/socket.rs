//! One WebSocket for everything.
//!
//! A task owns the socket. Calls wait for the reply with their number; events go to the feed of their session. A
//! feed that is not read fills up and makes the task wait: the server then drops this client to its cursor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_protocol::api::{
    AskCall, Interaction, InteractionPage, Interrupted, MessageAccepted, OpenSession, Receipt, Respond,
    SendMessage, Session,
};
use holdstead_protocol::socket::{ClientFrame, InteractionOffer, ServerFrame};
use holdstead_protocol::transport::{EventFeed, InboxQuery, InteractionMode, Transport, TransportError};
use holdstead_protocol::{Event, InteractionId, Problem, Refusal, Seq, SessionId};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http::parse;
use crate::way::{in_words, sockets_to};

/// How many events a feed holds before the socket waits for its reader.
const FEED_BUFFER: usize = 256;

pub(crate) type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;
type ReplySender = oneshot::Sender<Result<Value, Refusal>>;

/// One client over one socket.
#[derive(Debug, Clone)]
pub struct Socket {
    next: Arc<AtomicU64>,
    frames: mpsc::Sender<ClientFrame>,
    waiting: Arc<Waiting>,
    _open: Arc<DropGuard>,
}

/// Who waits for what.
#[derive(Debug, Default)]
struct Waiting {
    replies: Mutex<HashMap<u64, ReplySender>>,
    feeds: Mutex<HashMap<SessionId, mpsc::Sender<Event>>>,
}

/// Opens a socket at this path. Where it is refused, the words are the gateway's own.
pub(crate) async fn dial(url: &str, path: &str, token: &str) -> Result<Stream, TransportError> {
    let connector = sockets_to(url);
    let url = format!("{}{path}", url.trim_end_matches('/').replacen("http", "ws", 1));
    let mut request = url.into_client_request().map_err(unreachable)?;
    let bearer = format!("Bearer {token}").parse().map_err(|_| {
        TransportError::Unreachable("the token has characters that a header cannot carry".to_owned())
    })?;
    request.headers_mut().insert("authorization", bearer);
    let connecting = connect_async_tls_with_config(request, None, false, Some(connector));
    Ok(connecting.await.map_err(unreachable)?.0)
}

impl Socket {
    /// Connects and says hello.
    pub async fn connect(url: &str, token: &str, mode: InteractionMode) -> Result<Self, TransportError> {
        let stream = dial(url, "/v1/ws", token).await?;
        let (frames, outgoing) = mpsc::channel(64);
        let waiting = Arc::new(Waiting::default());
        let open = CancellationToken::new();
        tokio::spawn(run(stream, outgoing, Arc::clone(&waiting), open.clone()));
        let socket = Self { next: Arc::default(), frames, waiting, _open: Arc::new(open.drop_guard()) };
        let enabled = mode == InteractionMode::On;
        socket
            .send(ClientFrame::Hello { interaction: Some(InteractionOffer { supported: true, enabled }) })
            .await?;
        Ok(socket)
    }

    async fn send(&self, frame: ClientFrame) -> Result<(), TransportError> {
        self.frames.send(frame).await.map_err(|_| gone())
    }

    async fn call<T: DeserializeOwned>(
        &self,
        frame: impl FnOnce(u64) -> ClientFrame,
    ) -> Result<T, TransportError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        lock(&self.waiting.replies).insert(id, reply);
        self.send(frame(id)).await?;
        let value = answer.await.map_err(|_| gone())?.map_err(TransportError::from)?;
        serde_json::from_value(value).map_err(|error| TransportError::Unreachable(error.to_string()))
    }
}

async fn run(
    mut stream: Stream,
    mut outgoing: mpsc::Receiver<ClientFrame>,
    waiting: Arc<Waiting>,
    open: CancellationToken,
) {
    loop {
        tokio::select! {
            () = open.cancelled() => break,
            frame = outgoing.recv() => {
                let Some(frame) = frame else { break };
                let Ok(text) = serde_json::to_string(&frame) else { continue };
                if stream.send(Message::text(text)).await.is_err() {
                    break;
                }
            }
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let Ok(frame) = parse::<ServerFrame>(&text) else { break };
                    waiting.take(frame).await;
                }
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
        }
    }
    // Whoever waits learns that nothing will come: their senders go.
    lock(&waiting.replies).clear();
    lock(&waiting.feeds).clear();
    // The other side may be gone already.
    drop(stream.close(None).await);
}

impl Waiting {
    async fn take(&self, frame: ServerFrame) {
        match frame {
            ServerFrame::Reply { id, result } => self.answer(id, Ok(result)),
            ServerFrame::Refused { id, refusal } => self.answer(id, Err(refusal)),
            ServerFrame::Event { session, event } => {
                let feed = lock(&self.feeds).get(&session).cloned();
                if let Some(feed) = feed {
                    // A feed that was dropped wants no more.
                    if feed.send(event).await.is_err() {
                        lock(&self.feeds).remove(&session);
                    }
                }
            }
            ServerFrame::Ended { session } => drop(lock(&self.feeds).remove(&session)),
            ServerFrame::Welcome { .. } | ServerFrame::Resume { .. } => {}
        }
    }

    /// What has no id answers nothing that was called here.
    fn answer(&self, id: Option<u64>, result: Result<Value, Refusal>) {
        if let Some(reply) = id.and_then(|id| lock(&self.replies).remove(&id)) {
            // The caller may have stopped waiting.
            drop(reply.send(result));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> TransportError {
    TransportError::Unreachable("the socket is closed".to_owned())
}

fn unreachable(error: tokio_tungstenite::tungstenite::Error) -> TransportError {
    if let tokio_tungstenite::tungstenite::Error::Http(response) = &error
        && let Some(body) = response.body()
        && let Ok(problem) = serde_json::from_slice::<Problem>(body)
    {
        return TransportError::Unreachable(problem.refusal.detail);
    }
    TransportError::Unreachable(in_words(&error))
}

#[async_trait]
impl Transport for Socket {
    async fn open_session(&self, open: OpenSession) -> Result<Session, TransportError> {
        self.call(|id| ClientFrame::OpenSession { id, open }).await
    }

    async fn session(&self, session: SessionId) -> Result<Session, TransportError> {
        self.call(|id| ClientFrame::Session { id, session }).await
    }

    async fn message(
        &self,
        session: SessionId,
        message: SendMessage,
    ) -> Result<MessageAccepted, TransportError> {
        let SendMessage { text, message_id } = message;
        self.call(|id| ClientFrame::Message { id, session, text, message_id }).await
    }

    async fn interrupt(&self, session: SessionId) -> Result<Interrupted, TransportError> {
        self.call(|id| ClientFrame::Interrupt { id, session }).await
    }

    async fn inbox(&self, query: InboxQuery) -> Result<InteractionPage, TransportError> {
        self.call(|id| ClientFrame::Inbox { id, query }).await
    }

    async fn interaction(&self, interaction: InteractionId) -> Result<Interaction, TransportError> {
        self.call(|id| ClientFrame::Interaction { id, interaction }).await
    }

    async fn ask(&self, call: AskCall) -> Result<Interaction, TransportError> {
        self.call(|id| ClientFrame::Ask { id, call }).await
    }

    async fn respond(
        &self,
        interaction: InteractionId,
        response: Respond,
    ) -> Result<Receipt, TransportError> {
        self.call(|id| ClientFrame::ToolInteractionResponse { id, interaction, response }).await
    }

    async fn subscribe(&self, session: SessionId, after: Seq) -> Result<Box<dyn EventFeed>, TransportError> {
        let (events, feed) = mpsc::channel(FEED_BUFFER);
        lock(&self.waiting.feeds).insert(session, events);
        self.call::<Value>(|id| ClientFrame::Subscribe { id, session, after }).await?;
        Ok(Box::new(Feed { events: feed, socket: self.clone(), session }))
    }

    async fn set_interaction_mode(&self, mode: InteractionMode) -> Result<(), TransportError> {
        self.call::<Value>(|id| ClientFrame::SetInteractionMode { id, mode }).await.map(|_| ())
    }
}

/// The events of one session. Dropping it ends the subscription.
#[derive(Debug)]
struct Feed {
    events: mpsc::Receiver<Event>,
    socket: Socket,
    session: SessionId,
}

#[async_trait]
impl EventFeed for Feed {
    async fn next(&mut self) -> Result<Option<Event>, TransportError> {
        Ok(self.events.recv().await)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let id = self.socket.next.fetch_add(1, Ordering::Relaxed);
        // If the queue is full or closed, the socket's own end will do.
        drop(self.socket.frames.try_send(ClientFrame::Unsubscribe { id, session: self.session }));
    }
}
