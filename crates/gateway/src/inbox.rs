//! An owner's open asks as a stream: a snapshot, then changes. Whoever falls behind gets a new snapshot.

use std::sync::Arc;

use holdstead_protocol::OwnerId;
use holdstead_protocol::api::{InboxUpsert, InteractionPage};
use holdstead_store::{AskFilter, AskQuery, Journal, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::hub::Live;
use crate::summary;

/// How many asks a snapshot holds. Older ones come first; the rest is fetched page by page.
const SNAPSHOT: u32 = 200;

#[derive(Debug)]
pub struct InboxStream {
    journal: Arc<dyn Journal>,
    owner: OwnerId,
    live: broadcast::Receiver<Live<InboxUpsert>>,
    behind: bool,
    shutdown: CancellationToken,
}

/// What an inbox screen is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxFrame {
    /// Where it has a `next`, more are open: they are fetched page by page.
    Snapshot(Box<InteractionPage>),
    Upsert(Box<InboxUpsert>),
}

impl InboxStream {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        owner: OwnerId,
        live: broadcast::Receiver<Live<InboxUpsert>>,
        shutdown: CancellationToken,
    ) -> Self {
        Self { journal, owner, live, behind: true, shutdown }
    }

    /// The next frame. `None` when the gateway is going away.
    pub async fn next(&mut self) -> Result<Option<InboxFrame>, StoreError> {
        if self.behind {
            return self.snapshot().await.map(Some);
        }
        let live = tokio::select! {
            biased;
            live = self.live.recv() => live,
            () = self.shutdown.cancelled() => return Ok(None),
        };
        match live {
            Ok(Live::Told(upsert)) => Ok(Some(InboxFrame::Upsert(Box::new(upsert)))),
            Ok(Live::Look) | Err(RecvError::Lagged(_)) => {
                // The snapshot has all that is left in the channel, and newer.
                self.live = self.live.resubscribe();
                self.behind = true;
                self.snapshot().await.map(Some)
            }
            Err(RecvError::Closed) => Ok(None),
        }
    }

    async fn snapshot(&mut self) -> Result<InboxFrame, StoreError> {
        let query = AskQuery {
            owner: self.owner.clone(),
            session: None,
            only: AskFilter::Live,
            after: None,
            limit: SNAPSHOT,
        };
        let page = summary::page(&self.journal, query).await?;
        self.behind = false;
        Ok(InboxFrame::Snapshot(Box::new(page)))
    }
}
