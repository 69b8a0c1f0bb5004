//! Appends, and tells screens, timers and session tasks what is durable.

use holdstead_core::{Command, concerns_host, shape};
use holdstead_protocol::{AgentState, Event, EventBody, SessionId};
use holdstead_store::Appended;

use crate::session::SessionHandle;
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
        // Before it is queued: what is too large costs whoever sent it, not the one writer.
        shape::check(&command)?;
        let pending = self.inner.journal.append(session, self.inner.masks().command(session, command));
        let gateway = self.clone();
        let told = self.inner.tasks.spawn(async move {
            let appended = pending.await?;
            gateway.published(session, &appended);
            Ok(appended)
        });
        told.await.unwrap_or(Err(GatewayError::Closing))
    }

    /// Tells screens, the timer of deadlines and the session's task what is durable now.
    pub(crate) fn published(&self, session: SessionId, appended: &Appended) {
        self.inner.hub.publish(session, appended);
        self.forget_secrets(appended);
        if appended.session.agent == AgentState::Ended {
            self.inner.masks().forget(session);
        }
        let deadline = |event: &Event| matches!(&event.body, EventBody::InteractionRequest(ask) if ask.deadline.is_some());
        if appended.events.iter().any(deadline) {
            self.inner.new_deadline.notify_one();
        }
        if appended.events.iter().any(|event| concerns_host(&event.body, &appended.session)) {
            self.with_task(session, SessionHandle::wake);
        }
    }
}
