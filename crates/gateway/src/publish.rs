//! Appends, and tells screens, timers, tools and session tasks what is durable.

use std::time::{Duration, Instant};

use holdstead_core::{Command, Said, concerns_host, shape};
use holdstead_protocol::{AgentState, AskState, Event, EventBody, Seq, SessionId};
use holdstead_store::{AppendError, Appended, StoreError};

use tokio::task::JoinHandle;

use crate::follow::TAIL;
use crate::hints::Whom;
use crate::owner_journal::journal_of;
use crate::saving::gives_rule;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Appends, and tells whoever watches once it is durable.
    ///
    /// The caller may stop waiting at any moment (a browser that closes takes its request with it); what is durable
    /// is told to everybody else all the same.
    pub(crate) async fn append(
        &self,
        session: SessionId,
        command: Command,
    ) -> Result<Appended, GatewayError> {
        let command = self.checked(session, command)?;
        Ok(self.begin_append(session, command).await.unwrap_or(Err(AppendError::Closed))?)
    }

    /// Appends the first, and right behind it the second, so that they share a commit. What becomes of the second is for
    /// whoever reads the journal.
    pub(crate) async fn append_both(
        &self,
        session: SessionId,
        first: Command,
        second: Command,
    ) -> Result<Appended, GatewayError> {
        let first = self.checked(session, first)?;
        let earlier = self.queue_earlier(session);
        let queued = Instant::now();
        let (first, second) = self.inner.journal.append_both(session, first, second);
        let gateway = self.clone();
        let both = self.inner.tasks.spawn(async move {
            gateway.written_earlier(session, earlier).await;
            let appended = gateway.tell(session, queued, first.await);
            // Refused, its session's task finds the journal without it.
            let _seen_to = gateway.tell(session, queued, second.await);
            appended
        });
        Ok(both.await.unwrap_or(Err(AppendError::Closed))?)
    }

    /// Before it is queued: what is too large costs whoever sent it, not the one writer.
    fn checked(&self, session: SessionId, mut command: Command) -> Result<Command, GatewayError> {
        if let Said::Ask(request) = command.said() {
            shape::check(request)?;
        }
        self.inner.masks().command(session, &mut command)?;
        Ok(command)
    }

    /// Queues it by this call, behind what waits of its session; the result comes after everybody was told.
    pub(crate) fn begin_append(
        &self,
        session: SessionId,
        command: Command,
    ) -> JoinHandle<Result<Appended, AppendError>> {
        let earlier = self.queue_earlier(session);
        let queued = Instant::now();
        let pending = self.inner.journal.append(session, command);
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            gateway.written_earlier(session, earlier).await;
            gateway.tell(session, queued, pending.await)
        })
    }

    /// Tells everybody what an append came to.
    fn tell(
        &self,
        session: SessionId,
        queued: Instant,
        appended: Result<Appended, AppendError>,
    ) -> Result<Appended, AppendError> {
        match &appended {
            Ok(appended) => {
                self.inner.counted.append.observe(queued.elapsed());
                self.inner.counted.written(appended, Duration::ZERO);
                self.inner.traces.written(appended, queued.elapsed(), Duration::ZERO);
                self.published(session, appended);
            }
            Err(error) => self.publish_if_written(session, error),
        }
        appended
    }

    /// Tells screens, the timer of deadlines, tools and the session's task what is durable now.
    pub(crate) fn published(&self, session: SessionId, appended: &Appended) {
        self.inner.last_written.set();
        self.inner.hub.publish(session, appended);
        self.forget_secrets(session, appended);
        if appended.session.head.agent == AgentState::Ended {
            self.inner.masks().forget(session);
        }
        self.wake_deadlines(&appended.events);
        let for_host = appended.events.iter().any(|event| concerns_host(&event.body, &appended.session));
        let has_rule = appended.events.iter().any(|event| matches!(event.body, EventBody::GrantAdded(_)));
        let whom = match (has_rule, for_host) {
            (true, _) => Whom::Rules,
            (false, true) => Whom::Host,
            (false, false) => Whom::Followers,
        };
        self.hint_others(session, appended, whom);
        let head = &appended.session.head;
        if has_rule {
            let of_owner = journal_of(&head.owner) == session;
            self.settle_soon(&head.owner, (!of_owner).then_some(session));
        }
        if gives_rule(&appended.events) {
            self.save_rules(session, head);
        }
        if for_host {
            self.with_task(session, head, |task| task.wake_at(appended.head, head));
        }
        for event in &appended.events {
            if let EventBody::InteractionResponse(response) = &event.body
                && let Some(ask) = appended.session.asks.get(&response.interaction_id)
                && matches!(ask.state, AskState::Submitted { .. })
            {
                self.spawn_handler(response.interaction_id, appended.session.head.owner.clone());
            }
        }
    }

    pub(crate) fn wake_deadlines(&self, events: &[Event]) {
        let deadline = |event: &Event| {
            matches!(&event.body, EventBody::InteractionRequest(ask) if ask.deadline.is_some())
                || matches!(&event.body, EventBody::InteractionSnoozed(_))
        };
        if events.iter().any(deadline) {
            self.inner.new_deadline.send_replace(());
        }
    }

    /// The reply to an append was lost: if it was written after all, nobody has been told. Whoever appended may give
    /// up, so the journal is read until it says what there is.
    pub(crate) fn publish_if_written(&self, session: SessionId, error: &AppendError) {
        let AppendError::Store(StoreError::Unknown { .. }) = error else { return };
        self.publish_again(session);
    }

    /// Publishes the journal's last events, of which it is not known whether this node published them.
    pub(crate) fn publish_again(&self, session: SessionId) {
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            match gateway.patiently(|| gateway.tail(session)).await {
                Ok(Some(tail)) => gateway.published(session, &tail),
                Ok(None) | Err(GatewayError::Closing) => {}
                Err(error) => tracing::error!(%session, %error, "a session could not be read again"),
            }
        });
    }

    /// The session's last events: nobody knows which of them were told.
    pub(crate) async fn tail(&self, session: SessionId) -> Result<Option<Appended>, GatewayError> {
        let Some(record) = self.inner.journal.session(session).await? else { return Ok(None) };
        let after = Seq(record.head.0.saturating_sub(TAIL.into()));
        self.since(record, after).await.map(Some)
    }
}
