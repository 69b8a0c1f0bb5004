//! What may be written a little later: that an answer arrived where it was meant for.
//!
//! It is written with the next append of its session, before it, or follows within a moment. So it costs no commit of its own
//! where there is work, and whoever was answered does not wait for it. A gateway that is killed before that has forgotten it,
//! which is safe for a program (it has the answer, and can fetch it again) and for an agent (its process is gone with us, and
//! what was being handed over is told as unknown, as if it had been killed while it read).

use std::collections::HashMap;
use std::pin::pin;
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
    sessions: Mutex<HashMap<SessionId, OfSession>>,
    told: Notify,
    /// Told when something that was on its way is written.
    landed: Notify,
}

#[derive(Debug, Default)]
struct OfSession {
    /// Since when each waits.
    waiting: Vec<(Command, Instant)>,
    /// How many the store has, and has not answered.
    on_their_way: usize,
}

/// Something that is being written at last.
pub(crate) struct Earlier {
    command: Command,
    /// How long it had waited when it was queued.
    waited: Duration,
    append: PendingAppend,
}

impl Later {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, OfSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn land(&self, session: SessionId) {
        let mut sessions = self.lock();
        if let Some(of_session) = sessions.get_mut(&session) {
            of_session.on_their_way -= 1;
            if of_session.on_their_way == 0 && of_session.waiting.is_empty() {
                sessions.remove(&session);
            }
        }
        drop(sessions);
        self.landed.notify_waiters();
    }
}

impl Gateway {
    /// Only for what may happen twice, and may be lost with this process.
    pub(crate) fn append_later(&self, session: SessionId, command: Command) {
        let mut sessions = self.inner.later.lock();
        let of_session = sessions.entry(session).or_default();
        if of_session.waiting.iter().all(|(waiting, _)| *waiting != command) {
            of_session.waiting.push((command, Instant::now()));
        }
        drop(sessions);
        self.inner.later.told.notify_one();
    }

    /// Queues what waits of this session, in its order.
    pub(crate) fn queue_earlier(&self, session: SessionId) -> Vec<Earlier> {
        let mut sessions = self.inner.later.lock();
        let Some(of_session) = sessions.get_mut(&session) else { return Vec::new() };
        let commands = std::mem::take(&mut of_session.waiting);
        of_session.on_their_way += commands.len();
        let queued = commands.into_iter().map(|(command, since)| {
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
            self.inner.later.land(session);
        }
    }

    /// Writes what waits of this session, for whoever is about to read what became of its answers.
    pub(crate) async fn write_earlier(&self, session: SessionId) {
        let later = &self.inner.later;
        self.written_earlier(session, self.queue_earlier(session)).await;
        // Another append may have taken some along.
        loop {
            let mut landed = pin!(later.landed.notified());
            landed.as_mut().enable();
            if later.lock().get(&session).is_none_or(|of_session| of_session.on_their_way == 0) {
                return;
            }
            landed.await;
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
