//! When a gateway that nobody sits before may go.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdstead_protocol::{AgentState, OwnerId};
use holdstead_store::{SessionQuery, SessionsOnly, StoreError};
use tokio::time::Instant;

use crate::Gateway;

/// How often it looks whether something is open.
const LOOK: Duration = Duration::from_secs(60);

/// When something was written last.
#[derive(Debug)]
pub(crate) struct LastWritten(Mutex<Instant>);

impl LastWritten {
    pub(crate) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn get(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gateway {
    /// Returns when for this long nothing was written to a journal, no agent was at work, nobody was asked, and nobody
    /// watched. A store that cannot be read counts as something open.
    pub async fn until_quiet(&self, owner: &OwnerId, long: Duration) {
        let mut open = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            if self.inner.presence.is_watched() || self.is_open(owner).await.unwrap_or(true) {
                open = Instant::now();
            }
            if open.max(self.inner.last_written.get()).elapsed() >= long {
                return;
            }
        }
    }

    async fn is_open(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if self.inner.journal.live_count(owner).await? > 0 {
            return Ok(true);
        }
        let states = vec![AgentState::Running, AgentState::Waiting, AgentState::Parking, AgentState::Parked];
        let query = SessionQuery {
            owner: owner.clone(),
            before: None,
            only: SessionsOnly::Unarchived(states),
            limit: 1,
        };
        Ok(!self.inner.journal.sessions(query).await?.is_empty())
    }
}
