//! What may be written a little later: that an answer arrived where it was meant for.
//!
//! It is written with the next append of its session, before it, or follows within a moment. So it costs no commit of its own
//! where there is work, and whoever was answered does not wait for it. A gateway that is killed before that has forgotten it,
//! which is safe for a program (it has the answer, and can fetch it again) and for an agent (its process is gone with us, and
//! what was being handed over is told as unknown, as if it had been killed while it read).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdstead_core::Command;
use holdstead_protocol::SessionId;
use holdstead_store::{AppendError, PendingAppend};
use tokio::sync::Notify;

use crate::Gateway;

/// How long it may wait for another append.
const MOMENT: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(crate) struct Later {
    /// By session, each with the time since when it waits.
    sessions: Mutex<HashMap<SessionId, Vec<(Command, Instant)>>>,
    told: Notify,
}

/// Something that is being written at last.
pub(crate) struct Earlier {
    command: Command,
    /// How long it had waited when it was queued.
    waited: Duration,
    append: PendingAppend,
}

impl Later {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<(Command, Instant)>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gateway {
    /// Only for what may happen twice, and may be lost with this process.
    pub(crate) fn append_later(&self, session: SessionId, command: Command) {
        let mut sessions = self.inner.later.lock();
        let waiting = sessions.entry(session).or_default();
        if waiting.iter().all(|(one, _)| *one != command) {
            waiting.push((command, Instant::now()));
        }
        drop(sessions);
        self.inner.later.told.notify_one();
    }

    /// Queues what waits of this session, in its order.
    pub(crate) fn queue_earlier(&self, session: SessionId) -> Vec<Earlier> {
        // The lock keeps two callers from queueing in another order than the one in which they take.
        let mut sessions = self.inner.later.lock();
        let waiting = sessions.remove(&session).unwrap_or_default();
        let queued = waiting.into_iter().map(|(command, since)| {
            let append = self.inner.journal.append(session, command.clone());
            Earlier { command, waited: since.elapsed(), append }
        });
        queued.collect()
    }

    /// Tells what became of it. What the store did not take waits again.
    pub(crate) async fn written_earlier(&self, session: SessionId, earlier: Vec<Earlier>) {
        for Earlier { command, waited, append } in earlier {
            match append.await {
                Ok(appended) => {
                    self.inner.counted.written(&appended, waited);
                    self.inner.traces.written(&appended, Duration::ZERO, waited);
                    self.published(session, &appended);
                }
                Err(error @ AppendError::Store(_)) => {
                    self.publish_if_written(session, &error);
                    self.append_later(session, command);
                }
                Err(error) => {
                    tracing::debug!(%session, %error, "it was over before its answer was seen to arrive")
                }
            }
        }
    }

    pub(crate) async fn write_all_earlier(&self) {
        let sessions: Vec<_> = self.inner.later.lock().keys().copied().collect();
        // All of them first, so that they share a commit.
        let queued: Vec<_> =
            sessions.into_iter().map(|session| (session, self.queue_earlier(session))).collect();
        for (session, earlier) in queued {
            self.written_earlier(session, earlier).await;
        }
    }
}

/// Writes what no other append took along, for as long as the gateway runs, and at its end.
pub(crate) async fn run(gateway: Gateway) {
    let shutdown = gateway.shutdown_token();
    while !shutdown.is_cancelled() {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = async {
                gateway.inner.later.told.notified().await;
                tokio::time::sleep(MOMENT).await;
            } => {}
        }
        gateway.write_all_earlier().await;
    }
}
