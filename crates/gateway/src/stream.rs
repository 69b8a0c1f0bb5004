//! A session's events from a cursor on, without a gap and without a double: replay, then the live tail.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use holdstead_protocol::{Event, Seq, SessionId};
use holdstead_store::{Journal, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Told;
use crate::hub::Live;

/// How many events one read fetches: what a client that does not read can keep in memory.
const PAGE: u32 = 16;
/// How long an event that was overtaken by a later one is waited for before the journal is read. Whoever appends tells of it,
/// and two who were in one commit may tell in any order: a read for each watcher would cost far more than the wait.
const OVERTAKEN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct EventStream {
    journal: Arc<dyn Journal>,
    session: SessionId,
    cursor: Seq,
    live: broadcast::Receiver<Live<Arc<Told>>>,
    replay: VecDeque<Event>,
    /// What came before its time, and since when the one before it is waited for.
    early: BTreeMap<Seq, Arc<Told>>,
    since: Instant,
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
        live: broadcast::Receiver<Live<Arc<Told>>>,
        shutdown: CancellationToken,
    ) -> Self {
        let (replay, early, since) = (VecDeque::new(), BTreeMap::new(), Instant::now());
        Self { journal, session, cursor: after, live, replay, early, since, behind: true, shutdown }
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
            if let Some(told) = self.early.remove(&self.cursor.next()) {
                self.cursor = told.event.seq;
                return Ok(Some(told));
            }
            if self.behind {
                self.replay = self.journal.read(self.session, self.cursor, PAGE).await?.into();
                self.behind = !self.replay.is_empty();
                self.early.clear();
                continue;
            }
            let live = tokio::select! {
                biased;
                live = self.live.recv() => live,
                () = self.shutdown.cancelled() => return Ok(None),
                () = tokio::time::sleep_until(self.since + OVERTAKEN), if !self.early.is_empty() => {
                    self.behind = true;
                    continue;
                }
            };
            match live {
                Ok(Live::Told(told)) if told.event.seq == self.cursor.next() => {
                    self.cursor = told.event.seq;
                    return Ok(Some(told));
                }
                Ok(Live::Told(told)) if told.event.seq <= self.cursor => {}
                Ok(Live::Told(told)) => {
                    if self.early.is_empty() {
                        self.since = Instant::now();
                    }
                    self.early.insert(told.event.seq, told);
                    self.behind = self.since.elapsed() >= OVERTAKEN;
                }
                Ok(Live::Look) | Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }
}
