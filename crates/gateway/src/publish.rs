//! Appends, and tells screens, timers, tools and session tasks what is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdstead_core::{Command, Said, Session, concerns_host, shape};
use holdstead_protocol::{AgentState, AskState, Event, EventBody, Seq, SessionId};
use holdstead_store::{AppendError, Appended, StoreError};

use tokio::task::JoinHandle;

use crate::{Gateway, GatewayError};

/// How many of a session's last events are told again when nobody knows which of them were told.
const TAIL: u32 = 64;

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
        let (first, second) = self.inner.journal.append_both(session, first, second);
        let gateway = self.clone();
        let both = self.inner.tasks.spawn(async move {
            gateway.written_earlier(session, earlier).await;
            let appended = gateway.tell(session, first.await);
            // Refused, its session's task finds the journal without it.
            let _seen_to = gateway.tell(session, second.await);
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
        let pending = self.inner.journal.append(session, command);
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            gateway.written_earlier(session, earlier).await;
            gateway.tell(session, pending.await)
        })
    }

    /// Tells everybody what an append came to.
    fn tell(
        &self,
        session: SessionId,
        appended: Result<Appended, AppendError>,
    ) -> Result<Appended, AppendError> {
        match &appended {
            Ok(appended) => self.published(session, appended),
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
        let deadline = |event: &Event| {
            matches!(&event.body, EventBody::InteractionRequest(ask) if ask.deadline.is_some())
                || matches!(&event.body, EventBody::InteractionSnoozed(_))
        };
        if appended.events.iter().any(deadline) {
            self.inner.new_deadline.notify_one();
        }
        if appended.events.iter().any(|event| concerns_host(&event.body, &appended.session)) {
            self.with_task(session, |task| task.wake_at(appended.head, &appended.session.head));
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

    /// The reply to an append was lost: if it was written after all, nobody has been told. Whoever appended may give
    /// up, so the journal is read until it says what there is.
    pub(crate) fn publish_if_written(&self, session: SessionId, error: &AppendError) {
        let AppendError::Store(StoreError::Unknown { .. }) = error else { return };
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            match gateway.patiently(|| gateway.tail(session)).await {
                Ok(Some(tail)) => gateway.published(session, &tail),
                Ok(None) | Err(GatewayError::Closing) => {}
                Err(error) => tracing::error!(%session, %error, "a session could not be read again"),
            }
        });
    }

    /// The session's last events, as if they had just been appended. Telling them twice does no harm.
    async fn tail(&self, session: SessionId) -> Result<Option<Appended>, GatewayError> {
        let journal = &self.inner.journal;
        let Some(record) = journal.session(session).await? else { return Ok(None) };
        let after = Seq(record.head.0.saturating_sub(TAIL.into()));
        let events = journal.read(session, after, TAIL).await?;
        let mut asks = BTreeMap::new();
        for id in events.iter().filter_map(|event| event.body.ask()) {
            if let Some(ask) = journal.ask(id).await? {
                asks.insert(id, ask.ask);
            }
        }
        Ok(Some(Appended {
            events,
            head: record.head,
            session: Session { head: Arc::new(record.state), asks },
        }))
    }
}
