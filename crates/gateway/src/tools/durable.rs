//! Asks that outlive the process that asked: their tool is found again by its name.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_protocol::{
    AskChange, AskState, EventBody, InteractionId, InteractionUpdate, OwnerId, Seq, SessionId, Settlement,
    ToolCallId, TurnId,
};
use holdstead_store::AskRecord;
use serde_json::Value;
use tokio::sync::Notify;

use super::request::DEFAULT_TIMEOUT;
use super::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome,
    ToolResponse, WhenNobody,
};
use crate::{Gateway, GatewayError};

/// How many events are read at once when a tool's result is looked for.
const PAGE: u32 = 32;

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub owner: OwnerId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The same id is the same call: made again, it finds what it asked before.
    pub tool_call_id: ToolCallId,
    pub name: String,
    pub input: Value,
    pub when_nobody: WhenNobody,
}

/// The asks that somebody in this process follows already.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    asks: Mutex<HashSet<InteractionId>>,
    /// Told when somebody stops following.
    freed: Notify,
}

/// Follows one ask until it is dropped.
#[derive(Debug)]
struct Following<'a> {
    followed: &'a Followed,
    id: InteractionId,
}

impl Followed {
    fn begin(&self, id: InteractionId) -> Option<Following<'_>> {
        let new = self.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        // Only then: one that is made and dropped would end what somebody else follows.
        new.then(|| Following { followed: self, id })
    }

    /// As soon as nobody else does: who follows it now may go away before it is over.
    async fn begin_after_others(&self, id: InteractionId) -> Following<'_> {
        loop {
            let mut freed = pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(following) = self.begin(id) {
                return following;
            }
            freed.await;
        }
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.followed.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.followed.freed.notify_waiters();
    }
}

/// The tool as the handler of one of its asks.
struct Named<'a> {
    tool: &'a dyn Tool,
    context: &'a ToolContext,
    state: &'a Value,
}

#[async_trait]
impl ResponseHandler for Named<'_> {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        self.tool.on_response(self.context, self.state, response).await
    }

    async fn on_timeout(&self) -> Result<ToolOutcome, ToolFailure> {
        self.tool.on_timeout(self.context, self.state).await
    }

    async fn on_cancel(&self) {
        self.tool.on_cancel(self.context, self.state).await;
    }
}

impl ToolContext {
    /// Asks. The tool's own [`Tool::on_response`] says what an answer leads to, with this state, also if another process
    /// has to: after a restart, whoever makes the same call again gets the result.
    pub async fn request_durable(
        &self,
        interaction: Interaction,
        state: Value,
        timeout: Option<Duration>,
    ) -> Result<Value, InteractionError> {
        let tool = self.gateway.tool(&self.tool_name)?;
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let mut request = self.first_prompt(interaction, timeout).await?;
        request.handler_state = Some(state.clone());
        // If another task of this process follows it, it does so with the same tool and state.
        let _following = self.gateway.inner.followed.begin(request.interaction_id);
        let handler = Named { tool: &*tool, context: self, state: &state };
        self.request(request, timeout, &handler).await
    }
}

impl Gateway {
    /// The tools that agents can call.
    pub fn tools(&self) -> &[std::sync::Arc<dyn Tool>] {
        &self.inner.config.tools
    }

    pub(crate) fn tool(&self, name: &str) -> Result<std::sync::Arc<dyn Tool>, GatewayError> {
        let tool = self.tools().iter().find(|tool| tool.name() == name);
        tool.cloned().ok_or_else(|| GatewayError::NoTool { name: name.to_owned() })
    }

    pub async fn call_tool(&self, call: ToolCall) -> Result<Value, InteractionError> {
        let tool = self.tool(&call.name)?;
        let context = ToolContext {
            gateway: self.clone(),
            owner: call.owner,
            session: call.session,
            turn: call.turn,
            tool_call_id: call.tool_call_id,
            tool_name: call.name,
            when_nobody: call.when_nobody,
        };
        tool.call(&context, call.input).await
    }

    /// Goes on with an ask whose tool has something to say, and whose caller may be gone.
    pub(crate) fn spawn_handler(&self, ask: InteractionId, owner: OwnerId) {
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            let shutdown = gateway.shutdown_token();
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = gateway.run_handler(ask, owner) => {}
            }
        });
    }

    async fn run_handler(&self, ask: InteractionId, owner: OwnerId) {
        if let Err(error) = self.handle_submitted(ask, owner).await {
            tracing::warn!(%ask, %error, "a tool did not go on with its ask");
        }
    }

    /// A tool that is a value of one process handles its own.
    async fn handle_submitted(&self, ask: InteractionId, owner: OwnerId) -> Result<(), InteractionError> {
        let read = || self.inner.journal.ask(ask);
        let Some(record) = self.patiently(read).await? else { return Ok(()) };
        let Some(state) = record.request.handler_state else { return Ok(()) };
        let _following = self.inner.followed.begin_after_others(ask).await;
        match self.patiently(read).await? {
            Some(record) if matches!(record.ask.state, AskState::Submitted { .. }) => {
                self.call_handler(&record, &state, owner).await
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn call_handler(
        &self,
        record: &AskRecord,
        state: &Value,
        owner: OwnerId,
    ) -> Result<(), InteractionError> {
        let tool = self.tool(&record.request.tool_name)?;
        let Some(tool_call_id) = record.request.tool_call_id.clone() else { return Ok(()) };
        let context = ToolContext {
            gateway: self.clone(),
            owner,
            session: record.session,
            turn: record.request.turn_id,
            tool_call_id,
            tool_name: record.request.tool_name.clone(),
            when_nobody: WhenNobody::Wait,
        };
        let opened = record.ask.opened_at;
        let timeout = record.ask.deadline.map_or(DEFAULT_TIMEOUT, |deadline| deadline.since(opened));
        let handler = Named { tool: &*tool, context: &context, state };
        context.follow(record.id, timeout, &handler).await.map(drop)
    }

    /// Why the tool failed over the answer, if it did.
    pub(crate) async fn failure(&self, record: &AskRecord) -> Result<Option<String>, GatewayError> {
        if record.ask.state != (AskState::Settled { settlement: Settlement::Failed }) {
            return Ok(None);
        }
        Ok(self.tool_result(record).await?.and_then(Result::err).map(|failure| failure.0))
    }

    /// What a tool made of the answer, if it said so, or why it failed.
    pub(crate) async fn tool_result(
        &self,
        record: &AskRecord,
    ) -> Result<Option<Result<Value, ToolFailure>>, GatewayError> {
        let (AskState::Settled { .. }, Some(answered)) = (&record.ask.state, record.ask.responses.last())
        else {
            return Ok(None);
        };
        let mut after: Seq = answered.seq;
        loop {
            let events = self.inner.journal.read(record.session, after, PAGE).await?;
            let Some(last) = events.last() else { return Ok(None) };
            after = last.seq;
            for event in events {
                if let EventBody::InteractionUpdate(InteractionUpdate {
                    interaction_id,
                    change: AskChange::Settled { result, failure, .. },
                    ..
                }) = event.body
                    && interaction_id == record.id
                {
                    return Ok(failure.map(|words| Err(ToolFailure(words))).or(result.map(Ok)));
                }
            }
            if after >= record.ask.seq {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_is_followed_once_however_often_somebody_tries() {
        let followed = Followed::default();
        let owner = OwnerId::new("local").unwrap();
        let id = InteractionId::derive(SessionId::generate(&owner), "a");
        let following = followed.begin(id);
        assert!(following.is_some());
        for _ in 0..3 {
            assert!(followed.begin(id).is_none());
        }
        drop(following);
        assert!(followed.begin(id).is_some());
    }
}
