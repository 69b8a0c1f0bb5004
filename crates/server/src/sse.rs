//! Server-sent events. They end when the gateway goes away, as a graceful shutdown would wait for them for ever, and when
//! the device that reads them is revoked.
//!
//! A frame is bytes: one that goes to many is written once, and they share it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use holdstead_gateway::Lease;
use holdstead_protocol::Seq;
use serde::Serialize;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// How often a silent stream shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
const BEAT: Bytes = Bytes::from_static(b":\n\n");
/// The last of a gateway that goes: a browser comes back at once, and not in three seconds.
const GOING: Bytes =
    Bytes::from_static(b"retry: 100\n: The gateway is going away. Come back now, with your cursor.\n\n");

/// A stream of frames made one by one; ends when `next` returns nothing.
pub(crate) fn stream<S, F>(
    state: S,
    shutdown: CancellationToken,
    lease: Lease,
    next: impl FnMut(S) -> F + Send + 'static,
) -> Response
where
    S: Send + 'static,
    F: Future<Output = Option<(Bytes, S)>> + Send + 'static,
{
    let frames = futures_util::stream::unfold((state, next), |(state, mut next)| async move {
        let (frame, state) = next(state).await?;
        Some((frame, (state, next)))
    });
    let end = async move {
        tokio::select! {
            () = shutdown.cancelled() => Some(GOING),
            () = lease.ended() => None,
        }
    };
    let beat = Box::pin(tokio::time::sleep(HEARTBEAT));
    let living = Living { frames: Box::pin(frames), end: Some(Box::pin(end)), beat };
    let body = Body::from_stream(living);
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response()
}

/// Frames until the end, and a sign of life where there are none for long.
struct Living<S, E> {
    frames: Pin<Box<S>>,
    /// Nothing, once it was heard.
    end: Option<Pin<Box<E>>>,
    beat: Pin<Box<Sleep>>,
}

impl<S: Stream<Item = Bytes>, E: Future<Output = Option<Bytes>>> Stream for Living<S, E> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        if let Poll::Ready(last) = end.as_mut().poll(context) {
            self.end = None;
            return Poll::Ready(last.map(Ok));
        }
        let frame = match self.frames.as_mut().poll_next(context) {
            Poll::Ready(frame) => frame,
            Poll::Pending if self.beat.as_mut().poll(context).is_ready() => Some(BEAT),
            Poll::Pending => return Poll::Pending,
        };
        self.beat.as_mut().reset(Instant::now() + HEARTBEAT);
        Poll::Ready(frame.map(Ok))
    }
}

/// A named frame.
pub(crate) fn frame(name: &str, data: &impl Serialize) -> Bytes {
    written(None, name, data)
}

/// A frame that a client comes back behind.
pub(crate) fn placed(seq: Seq, name: &str, data: &impl Serialize) -> Bytes {
    written(Some(seq), name, data)
}

/// What cannot be written as JSON says so: a silent gap would be worse. JSON has no line breaks of its own, so its frame is one
/// line of data.
fn written(seq: Option<Seq>, name: &str, data: &impl Serialize) -> Bytes {
    let (name, json) = match serde_json::to_string(data) {
        Ok(json) => (name, json),
        Err(error) => ("unreadable", error.to_string().replace(['\r', '\n'], " ")),
    };
    let id = seq.map(|seq| format!("id: {seq}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {json}\n\n").into()
}
