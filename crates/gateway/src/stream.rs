//! A session's events from a cursor on, without a gap and without a double: replay, then the live tail.

use std::collections::VecDeque;
use std::sync::Arc;

use holdstead_protocol::{Event, Seq, SessionId};
use holdstead_store::{Journal, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::Told;

/// How many events one read fetches: what a client that does not read can keep in memory.
const PAGE: u32 = 16;

#[derive(Debug)]
pub struct EventStream {
    journal: Arc<dyn Journal>,
    session: SessionId,
    cursor: Seq,
    live: broadcast::Receiver<Arc<Told>>,
    replay: VecDeque<Event>,
    /// The journal may have events after the cursor that the live tail will not bring.
    behind: bool,
    shutdown: CancellationToken,
}

impl EventStream {
    /// `live` must have been subscribed before this: whatever is committed from then on is in it or in the journal.
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        session: SessionId,
        after: Seq,
        live: broadcast::Receiver<Arc<Told>>,
        shutdown: CancellationToken,
    ) -> Self {
        Self { journal, session, cursor: after, live, replay: VecDeque::new(), behind: true, shutdown }
    }

    /// The next event; waits for it if there is none yet. `None` when the gateway is going away.
    pub async fn next(&mut self) -> Result<Option<Event>, StoreError> {
        Ok(self.next_told().await?.map(|told| told.event.clone()))
    }

    /// The same with its frames, for those who pass it on.
    pub async fn next_told(&mut self) -> Result<Option<Arc<Told>>, StoreError> {
        loop {
            if let Some(event) = self.replay.pop_front() {
                self.cursor = event.seq;
                return Ok(Some(Arc::new(event.into())));
            }
            if self.behind {
                self.replay = self.journal.read(self.session, self.cursor, PAGE).await?.into();
                self.behind = !self.replay.is_empty();
                continue;
            }
            let live = tokio::select! {
                biased;
                live = self.live.recv() => live,
                () = self.shutdown.cancelled() => return Ok(None),
            };
            match live {
                Ok(told) if told.event.seq == self.cursor.next() => {
                    self.cursor = told.event.seq;
                    return Ok(Some(told));
                }
                Ok(told) if told.event.seq <= self.cursor => {}
                Ok(_) | Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }
}
