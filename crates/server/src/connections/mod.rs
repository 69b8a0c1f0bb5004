//! The accept loop: how many connections there may be, and for how long they may keep us waiting.
//!
//! A connection costs a file, and there are few of them. Whoever has sent no request, or none since its last one was
//! answered, can be let go without a loss; so those give way when places run out, the oldest first. Before them goes
//! those that sent a request and showed no good token with it, also while that request is under way. Those with a good
//! token and a request under way stay.

mod paced;
mod seats;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{BoxError, Router};
use futures_util::StreamExt as _;
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use paced::Paced;
use seats::{Occupied, Seat, Seats};

use crate::limit::Bill;
use crate::listen::Listener;
use crate::network::Opened;

/// In every request's extensions: its place among the connections.
pub(crate) use seats::Occupied as RequestSeat;

/// In every request's extensions: where its connection was made to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reached {
    /// This address of ours.
    Address(SocketAddr),
    /// The socket in the gateway's own folder.
    OwnSocket,
}

/// How many connections there may be, and how long each may keep us waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionBounds {
    /// All of them.
    pub total: usize,
    /// Those that have not sent one whole request yet. One more, and the oldest of them goes.
    pub unheard: usize,
    /// Requests under way with one token, open streams among them.
    pub per_token: usize,
    /// How long a connection may take to send the head of a request, the time before its first byte included.
    pub quiet: Duration,
    /// How long the body of a request may take to arrive.
    pub body: Duration,
    /// How long a client may take nothing of what is there for it.
    pub unread: Duration,
}

/// More than people and their screens need, and little enough for one machine.
const MOST: usize = 20_000;

impl Default for ConnectionBounds {
    /// A part of the files that this process may have open: the journal and the agents need some as well.
    fn default() -> Self {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files.map_or(MOST, |files| usize::try_from(files).unwrap_or(MOST));
        let total = (files / 4 * 3).clamp(1, MOST);
        Self {
            total,
            unheard: (total / 4).max(1),
            per_token: (total / 2).max(1),
            quiet: Duration::from_secs(30),
            body: Duration::from_secs(30),
            unread: Duration::from_secs(60),
        }
    }
}

/// After an error of `accept`: most of them mean that there is no file left, and trying again at once finds none.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Before a connection is let go for a newer one: its request may have arrived, and only not been read.
const READ_FIRST: Duration = Duration::from_millis(1);

/// How much of a body that was refused is still read, and for how long.
const DRAINED: usize = 8 * 1024 * 1024;
const LINGER: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, and then until every request under way has its answer.
pub(crate) async fn serve(
    listener: Listener,
    mut opened: Opened,
    router: Router,
    bounds: ConnectionBounds,
    shutdown: CancellationToken,
) {
    let seats = Seats::new(bounds);
    let service = TowerToHyperService::new(router);
    let tasks = TaskTracker::new();
    let take = |socket: TcpListener| {
        tasks.spawn(take_all(socket, Arc::clone(&seats), service.clone(), tasks.clone(), shutdown.clone()));
    };
    listener.sockets.into_iter().for_each(take);
    if let Some(local) = listener.local {
        tasks.spawn(take_all(local, Arc::clone(&seats), service.clone(), tasks.clone(), shutdown.clone()));
    }
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(socket) = opened.recv() => take(socket),
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// A socket that takes connections.
trait Accepts: Send + Sync {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next one, with where it was made to.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<Reached>)>> + Send;
}

impl Accepts for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Option<Reached>)> {
        let (stream, _) = self.accept().await?;
        let reached = stream.local_addr().ok().map(Reached::Address);
        Ok((stream, reached))
    }
}

impl Accepts for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Option<Reached>)> {
        Ok((self.accept().await?.0, Some(Reached::OwnSocket)))
    }
}

/// Takes the connections of one socket until `shutdown`.
async fn take_all(
    listener: impl Accepts,
    seats: Arc<Seats>,
    service: Routes,
    tasks: TaskTracker,
    shutdown: CancellationToken,
) {
    let bounds = seats.bounds();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        match accepted {
            Ok((stream, reached, seat)) => {
                tasks.spawn(connection(stream, reached, seat, service.clone(), bounds, shutdown.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn accept<L: Accepts>(
    listener: &L,
    seats: &Arc<Seats>,
) -> io::Result<(L::Stream, Option<Reached>, Arc<Seat>)> {
    loop {
        let (stream, reached) = listener.next().await?;
        if seats.takes_unheard() {
            tokio::time::sleep(READ_FIRST).await;
        }
        if let Some(seat) = seats.take() {
            return Ok((stream, reached, seat));
        }
        // Every connection has a request under way. This one is closed: it can come back, and hangs otherwise.
        tracing::warn!("all places for connections are in use: one was turned away");
    }
}

type Routes = TowerToHyperService<Router>;

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    reached: Option<Reached>,
    seat: Arc<Seat>,
    routes: Routes,
    bounds: ConnectionBounds,
    shutdown: CancellationToken,
) {
    let (gives_way, strangers) = (seat.gives_way(), seat.strangers());
    let io = TokioIo::new(Paced::new(stream, bounds.unread, Arc::clone(&seat)));
    let answering = hyper::service::service_fn(move |request| {
        let occupied = Occupied::new(Arc::clone(&seat));
        let bill = Bill::new(Arc::clone(&strangers));
        answer(routes.clone(), request, occupied, reached, bill, bounds.body)
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.quiet)
        .serve_connection(io, answering)
        .with_upgrades();
    tokio::pin!(serving);
    let mut stopping = false;
    loop {
        tokio::select! {
            result = serving.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection ended");
                }
                return;
            }
            () = gives_way.cancelled() => return,
            () = shutdown.cancelled(), if !stopping => {
                stopping = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn answer(
    routes: Routes,
    request: hyper::Request<Incoming>,
    occupied: Occupied,
    reached: Option<Reached>,
    bill: Bill,
    patience: Duration,
) -> Result<Response, Infallible> {
    let unread = Unread::default();
    let mut request: Request = request.map(|body| timed(body, patience, unread.clone(), bill.clone()));
    request.extensions_mut().insert(bill.clone());
    request.extensions_mut().insert(occupied.clone());
    if let Some(reached) = reached {
        request.extensions_mut().insert(reached);
    }
    let response = routes.call(request).await?;
    unread.drain(&bill).await;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        // From here on the connection is a socket's.
        occupied.for_good();
        return Ok(response);
    }
    Ok(response.map(|body| seats::until_sent(body, occupied)))
}

/// What a handler has not read of its request's body.
#[derive(Clone, Default)]
struct Unread(Arc<Mutex<Option<BodyDataStream>>>);

impl Unread {
    fn slot(&self) -> MutexGuard<'_, Option<BodyDataStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads some of it for nobody: a client that is still sending when the connection closes never sees its answer.
    async fn drain(&self, bill: &Bill) {
        let Some(mut rest) = self.slot().take() else { return };
        let deadline = Instant::now() + LINGER;
        let mut bytes = 0;
        while let Ok(Some(Ok(part))) = tokio::time::timeout_at(deadline, rest.next()).await {
            bytes += part.len();
            if bytes > DRAINED || paid(bill, part.len(), deadline).await.is_err() {
                return;
            }
        }
    }
}

/// A body took longer than this to arrive.
#[derive(Debug)]
pub(crate) struct SlowBody(pub(crate) Duration);

impl std::fmt::Display for SlowBody {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the body did not arrive within {} s", self.0.as_secs())
    }
}

impl std::error::Error for SlowBody {}

/// A body is more than its caller may send now; how long to wait.
#[derive(Debug, thiserror::Error)]
#[error("the body is more than may be sent now")]
pub(crate) struct FastBody(pub(crate) Duration);

/// Waits until the caller may send this much, if that is before the deadline.
async fn paid(bill: &Bill, bytes: usize, deadline: Instant) -> Result<(), FastBody> {
    while let Err(wait) = bill.take(bytes) {
        if Instant::now() + wait > deadline {
            return Err(FastBody(wait));
        }
        tokio::time::sleep(wait).await;
    }
    Ok(())
}

/// A body that has to arrive in time, and that its caller pays for. One that is there already, or empty, costs nothing.
fn timed(body: Incoming, patience: Duration, unread: Unread, bill: Bill) -> Body {
    if hyper::body::Body::is_end_stream(&body) {
        return Body::empty();
    }
    let deadline = Instant::now() + patience;
    *unread.slot() = Some(Body::new(body).into_data_stream());
    let parts = futures_util::stream::unfold((unread, bill), move |(unread, bill)| async move {
        let mut rest = unread.slot().take()?;
        match tokio::time::timeout_at(deadline, rest.next()).await {
            Ok(part) => {
                let part = part?.map_err(BoxError::from);
                *unread.slot() = Some(rest);
                let bytes = part.as_ref().map_or(0, Bytes::len);
                let part = paid(&bill, bytes, deadline).await.map_err(BoxError::from).and(part);
                Some((part, (unread, bill)))
            }
            Err(_) => Some((Err(SlowBody(patience).into()), (unread, bill))),
        }
    });
    Body::from_stream(parts)
}
