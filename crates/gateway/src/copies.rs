//! Machines keep copies of agents' conversations, which go with the session.

use std::sync::Arc;

use holdstead_protocol::{AgentState, RunnerId, SessionId};
use holdstead_runner::Runner;
use holdstead_store::SessionRecord;

use crate::{Gateway, GatewayError};

impl Gateway {
    /// Has a machine delete its copies of sessions that ended while this gateway did not speak for it. It is asked whenever
    /// it is connected, so what fails now is done then.
    pub(crate) async fn sweep_copies(&self, runner: &Arc<Runner>, id: Option<RunnerId>) {
        if let Err(error) = self.discard_ended(runner, id).await {
            tracing::warn!(%error, "a machine may still have copies of conversations that are over");
        }
    }

    async fn discard_ended(&self, runner: &Arc<Runner>, id: Option<RunnerId>) -> Result<(), GatewayError> {
        let mut over: Vec<SessionId> = Vec::new();
        for session in runner.copies().await? {
            // One that this gateway does not know may be another gateway's.
            if let Some(record) = self.inner.journal.session(session).await?
                && is_over(&record)
                // Of an erased session it is not known which machine had its agent.
                && (record.state.runner == id || record.erased.is_some())
            {
                over.push(session);
            }
        }
        if over.is_empty() { Ok(()) } else { Ok(runner.discard(over).await?) }
    }
}

/// Nothing goes on with its conversation any more.
pub(crate) fn is_over(record: &SessionRecord) -> bool {
    record.state.agent == AgentState::Ended && record.state.alive.is_none()
}
