//! What is done about sessions that rest: words that streamed are put together, as they are most of what is stored, and those that
//! ended long ago go to files, where that is wanted.

use std::time::Duration;

use holdstead_protocol::SessionId;
use holdstead_store::{Gathered, StoreError};
use tokio::time::sleep;

use crate::{Gateway, GatewayError};

/// After a start, and from then on.
const FIRST: Duration = Duration::from_secs(10 * 60);
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long nothing was said in a session before.
const REST: Duration = Duration::from_secs(60 * 60);
/// How many sessions are looked at together.
const PAGE: u32 = 200;

/// For as long as the gateway runs.
pub(crate) async fn run(gateway: Gateway) {
    let shutdown = gateway.shutdown_token();
    let every_day = async {
        sleep(FIRST).await;
        loop {
            match gateway.see_to_resting().await {
                Ok(Gathered { events: 0, .. }) => {}
                Ok(Gathered { events, kept }) => {
                    tracing::info!(events, kept, "words that streamed were put together");
                }
                Err(error) => tracing::warn!(%error, "sessions that rest are seen to tomorrow"),
            }
            sleep(EVERY).await;
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = every_day => {}
    }
}

impl Gateway {
    async fn see_to_resting(&self) -> Result<Gathered, GatewayError> {
        let (mut all, mut aged, mut after) = (Gathered::default(), 0, None);
        let began = self.inner.journal.now().await?;
        loop {
            let page = self.inner.journal.journals(after, PAGE).await?;
            let Some(last) = page.last() else {
                if aged > 0 {
                    tracing::info!(sessions = aged, "sessions that ended long ago went to files");
                }
                return Ok(all);
            };
            after = Some(*last);
            for session in page {
                if !self.sees_to(session) {
                    continue;
                }
                let record = match self.inner.journal.session(session).await {
                    Ok(Some(record)) => record,
                    // A newer node sees to it.
                    Ok(None) | Err(StoreError::NewerVersion { .. }) => continue,
                    Err(error) => return Err(error.into()),
                };
                let rests = began.since(record.changed_at) >= REST;
                if !rests || record.erased.is_some() {
                    continue;
                }
                match self.inner.journal.gather(session).await {
                    Ok(Gathered { events, kept }) => {
                        all.events += events;
                        all.kept += kept;
                        self.tell_of_gathered(session).await?;
                        aged += u64::from(self.age_out(&record, began).await?);
                    }
                    // One that cannot be read keeps no other from it.
                    Err(error @ StoreError::Corrupt { .. }) => {
                        tracing::error!(%session, %error, "its words are left as they came");
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Whoever follows the session learns that it has an event more.
    async fn tell_of_gathered(&self, session: SessionId) -> Result<(), GatewayError> {
        if self.is_followed(session)
            && let Some(tail) = self.tail(session).await?
        {
            self.inner.hub.publish(session, &tail);
        }
        Ok(())
    }

    /// Of several nodes one does it.
    fn sees_to(&self, session: SessionId) -> bool {
        self.inner.node.as_ref().is_none_or(|node| node.is_its_turn(session))
    }
}
