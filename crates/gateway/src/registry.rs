//! Which sessions have a task: started when there is something to tell it, gone when it has nothing left to do.

use std::sync::PoisonError;
use std::time::Duration;

use holdstead_protocol::SessionId;
use tokio::time::Instant;

use crate::session::{SessionHandle, SessionTask};
use crate::{Gateway, GatewayError};

/// How long a gateway that starts waits for a store that does not answer.
const STARTING: Duration = Duration::from_secs(60);

impl Gateway {
    /// Tells the session's task something, starting it if it does not run. The lock is held meanwhile: a task that is
    /// about to go cannot miss it.
    pub(crate) fn with_task(&self, session: SessionId, tell: impl FnOnce(&SessionHandle)) {
        if self.inner.shutdown.is_cancelled() {
            return;
        }
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = sessions.entry(session).or_insert_with(|| {
            let (task, handle) = SessionTask::new(self.clone(), session);
            self.inner.tasks.spawn(task.run());
            handle
        });
        tell(handle);
    }

    /// A task with nothing left to do goes, unless somebody told it something meanwhile.
    pub(crate) fn retire(&self, session: SessionId) -> bool {
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = sessions.get(&session).is_none_or(SessionHandle::is_quiet);
        if quiet {
            sessions.remove(&session);
        }
        quiet
    }

    /// Takes up what an earlier gateway left: its agents' processes are gone, its asks are not.
    pub(crate) async fn recover(&self) -> Result<(), GatewayError> {
        let until = Some(Instant::now() + STARTING);
        self.patiently_until(until, || self.sweep_secrets()).await?;
        for record in self.patiently_until(until, || self.inner.journal.unfinished()).await? {
            for id in &record.state.submitted {
                self.spawn_handler(*id, record.owner.clone());
            }
            self.with_task(record.id, SessionHandle::wake);
        }
        Ok(())
    }
}
