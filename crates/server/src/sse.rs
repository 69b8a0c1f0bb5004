//! Server-sent events. They end when the gateway goes away, as a graceful shutdown would wait for them for ever, and when
//! the device that reads them is revoked.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use futures_util::Stream;
use holdstead_gateway::Lease;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// How often a silent stream shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream of frames made one by one; ends when `next` returns nothing.
pub(crate) fn stream<S, F>(
    state: S,
    shutdown: CancellationToken,
    lease: Lease,
    next: impl FnMut(S) -> F + Send + 'static,
) -> Sse<impl Stream<Item = Result<Frame, Infallible>>>
where
    S: Send + 'static,
    F: Future<Output = Option<(Frame, S)>> + Send + 'static,
{
    let frames = futures_util::stream::unfold((state, next), |(state, mut next)| async move {
        let (frame, state) = next(state).await?;
        Some((Ok(frame), (state, next)))
    });
    let end = async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = lease.ended() => {}
        }
    };
    let ending = futures_util::StreamExt::take_until(frames, Box::pin(end));
    Sse::new(ending).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

/// A named frame. What cannot be written as JSON says so: a silent gap would be worse.
pub(crate) fn frame(name: &str, data: &impl Serialize) -> Frame {
    let frame = Frame::default().event(name);
    match serde_json::to_string(data) {
        Ok(json) => frame.data(json),
        Err(error) => frame.event("unreadable").data(error.to_string()),
    }
}
