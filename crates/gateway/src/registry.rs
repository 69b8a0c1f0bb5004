//! Which sessions have a task: started when there is something to tell it, gone when it has nothing left to do.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use holdstead_core::{Head, is_idle, is_unfinished};
use holdstead_protocol::{Incarnation, RunnerId, SessionId};
use holdstead_store::{SessionRecord, UnderWay};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::runners::Attached;
use crate::session::{SessionHandle, SessionTask};
use crate::{Gateway, GatewayError};

/// How long a gateway that starts waits for a store that does not answer.
const STARTING: Duration = Duration::from_secs(60);
/// How many sessions are read at a time when a gateway starts.
const PAGE: u32 = 100;
/// How many of them are taken up at a time: each may start an agent.
const AT_ONCE: usize = 16;

impl Gateway {
    /// Tells the session's task something, starting it if it does not run. The lock is held meanwhile: a task that is
    /// about to go cannot miss it.
    ///
    /// Whoever speaks for another runner sees to its sessions.
    pub(crate) fn with_task(&self, session: SessionId, head: &Head, tell: impl FnOnce(&SessionHandle)) {
        if self.inner.shutdown.is_cancelled() {
            return;
        }
        let Some(attached) = self.attached(head) else { return };
        let speaks = self.speaking(&attached);
        if speaks.is_cancelled() {
            return;
        }
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sessions.get(&session).filter(|handle| handle.is_of(&attached)).cloned();
        let handle = known.unwrap_or_else(|| {
            let silent = attached.silent.clone();
            let (task, handle) = SessionTask::new(self.clone(), session, attached);
            sessions.insert(session, handle.clone());
            self.inner.tasks.spawn(async move {
                tokio::select! {
                    biased;
                    () = silent.cancelled() => {}
                    () = speaks.cancelled() => {}
                    () = task.run() => {}
                }
            });
            handle
        });
        tell(&handle);
    }

    /// The life of this session's agent that its task here can tell something.
    pub(crate) fn listening(&self, session: SessionId) -> Option<Incarnation> {
        let sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(&session)?.runner().listening(session)
    }

    /// Those whose tasks are gone, or will be in a moment.
    pub(crate) fn forget_tasks(&self, gone: impl Fn(&SessionHandle) -> bool) {
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, handle| !gone(handle));
    }

    /// A task with nothing left to do goes, unless somebody told it something meanwhile.
    pub(crate) fn retire(&self, session: SessionId, handle: &SessionHandle) -> bool {
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.get(&session).filter(|now| now.is_same(handle)) {
            Some(now) if now.is_quiet() => drop(sessions.remove(&session)),
            Some(_) => return false,
            // Another one speaks for it.
            None => {}
        }
        true
    }

    /// Begins to take up what an earlier gateway left: its agents' processes are gone, its asks are not. People are served
    /// meanwhile, and whoever acts in a session takes it up at once.
    pub(crate) async fn recover(&self) -> Result<(), GatewayError> {
        let until = Some(Instant::now() + STARTING);
        self.patiently_until(until, || self.sweep_secrets()).await?;
        if let Some(node) = &self.inner.node
            && !self.patiently_until(until, || self.speak_if_free(node)).await?
        {
            // Another node sees to it, and this one when that is gone.
            return Ok(());
        }
        self.take_up_what_is_left();
        Ok(())
    }

    pub(crate) fn take_up_what_is_left(&self) {
        let (gateway, shutdown) = (self.clone(), self.shutdown_token());
        self.inner.tasks.spawn(async move {
            let taken_up = tokio::select! {
                () = shutdown.cancelled() => return,
                taken_up = gateway.take_up_all() => taken_up,
            };
            if let Err(error) = taken_up {
                tracing::error!(%error, "not all sessions of an earlier gateway were taken up");
            }
        });
    }

    /// Hints were missed: sessions of the runners that this node speaks for may have something to do.
    pub(crate) fn take_up_ours(&self) {
        let (gateway, shutdown) = (self.clone(), self.shutdown_token());
        self.inner.tasks.spawn(async move {
            let places = Arc::new(Semaphore::new(AT_ONCE));
            tokio::select! {
                () = shutdown.cancelled() => {}
                taken_up = gateway.take_up_unfinished(&places, |record| gateway.speaks_for(&record.state)) => {
                    if let Err(error) = taken_up {
                        tracing::error!(%error, "not all sessions with something to do were taken up");
                    }
                }
            }
        });
    }

    /// Whether this node is the one that tells the session's agent what was decided, and knows what is true on its machine.
    pub(crate) fn speaks_for(&self, head: &Head) -> bool {
        self.attached(head).is_some_and(|attached| !self.speaking(&attached).is_cancelled())
    }

    /// Cancelled when this node may not speak for that runner any more.
    fn speaking(&self, attached: &Attached) -> CancellationToken {
        match (&self.inner.node, attached.id()) {
            (None, _) => CancellationToken::new(),
            (Some(node), None) => node.speaks(),
            (Some(node), Some(_)) => node.serves(),
        }
    }

    async fn take_up_all(&self) -> Result<(), GatewayError> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        self.take_up_unfinished(&places, |_| true).await?;
        self.take_up_outdated(&places).await?;
        self.sweep_copies(&self.inner.runners.own().runner, None).await;
        Ok(())
    }

    /// Takes up the sessions of a runner that dialled in.
    pub(crate) async fn take_up_of(&self, runner: Option<RunnerId>) -> Result<(), GatewayError> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        self.take_up_unfinished(&places, |record| {
            self.attached(&record.state).and_then(|attached| attached.id()) == runner
        })
        .await
    }

    async fn take_up_unfinished(
        &self,
        places: &Arc<Semaphore>,
        only: impl Fn(&SessionRecord) -> bool,
    ) -> Result<(), GatewayError> {
        let journal = &self.inner.journal;
        let mut after = None;
        let mut idle = Vec::new();
        loop {
            let page = self.patiently(|| journal.unfinished(after, PAGE)).await?;
            let next = page.last().filter(|_| page.len() == PAGE as usize).map(|last| last.id);
            for record in page {
                if !only(&record) {
                    // Its rules are its owner's: they wait for no machine.
                    self.save_rules(record.id, &record.state);
                } else if is_idle(&record.state) {
                    idle.push(record);
                } else {
                    self.take_up(&record, places).await;
                }
            }
            if next.is_none() {
                break;
            }
            after = next;
        }
        // Somebody waits for the others.
        for record in &idle {
            self.take_up(record, places).await;
        }
        Ok(())
    }

    /// What an older version folded is folded again, which may show that there is something to do. Each once: what cannot be
    /// read stays as it is, and what a node of the older version goes on with beside this one is that node's.
    async fn take_up_outdated(&self, places: &Arc<Semaphore>) -> Result<(), GatewayError> {
        let journal = &self.inner.journal;
        let (mut tried, mut left) = (HashSet::new(), 0);
        loop {
            let limit = PAGE.saturating_add(u32::try_from(left).unwrap_or(u32::MAX));
            let mut outdated = self.patiently(|| journal.outdated(limit)).await?;
            let (found, all) = (outdated.len(), outdated.len() < limit as usize);
            outdated.retain(|id| tried.insert(*id));
            if outdated.is_empty() && all {
                return Ok(());
            }
            left = found - outdated.len();
            for id in outdated {
                let folded = || async move {
                    journal.refold(id).await?;
                    journal.session(id).await
                };
                match self.patiently(folded).await {
                    Ok(Some(record)) if is_unfinished(&record.state) => self.take_up(&record, places).await,
                    Err(GatewayError::Closing) => return Ok(()),
                    // The store has told why it cannot be read.
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }

    /// Asks whose tool was given a response, and never said what follows.
    async fn call_handlers(&self, record: &SessionRecord) {
        let journal = &self.inner.journal;
        match self.patiently(|| journal.under_way(record.id, UnderWay::Submitted)).await {
            Ok(asks) => asks.iter().for_each(|ask| self.spawn_handler(ask.id, record.owner.clone())),
            Err(error) => tracing::error!(session = %record.id, %error, "its tools were not called again"),
        }
    }

    /// Waits for a place, which the session's task gives back when it has done what there was to do.
    async fn take_up(&self, record: &SessionRecord, places: &Arc<Semaphore>) {
        if record.erased.is_some() {
            self.go_on_erasing(record.id);
            return;
        }
        // A gateway that was killed may have saved a rule, and not yet settled what it covers.
        if record.state.live > 0 {
            self.settle_soon(&record.owner, Some(record.id));
        }
        // Or taken an answer, and not yet saved the rule that it gives.
        self.save_rules(record.id, &record.state);
        if record.state.submitted > 0 {
            self.call_handlers(record).await;
        }
        if let Ok(place) = Arc::clone(places).acquire_owned().await {
            self.with_task(record.id, &record.state, |task| task.take_up(place));
        }
    }
}
