//! An event on its way to whoever watches.

use std::sync::OnceLock;

use bytes::Bytes;
use holdstead_protocol::Event;

/// An event, and its frames: each is written by the first who needs it, and shared by all others.
#[derive(Debug)]
pub struct Told {
    pub event: Event,
    /// For server-sent events.
    pub stream_frame: OnceLock<Bytes>,
    /// For sockets.
    pub socket_frame: OnceLock<Bytes>,
}

impl From<Event> for Told {
    fn from(event: Event) -> Self {
        Self { event, stream_frame: OnceLock::new(), socket_frame: OnceLock::new() }
    }
}
