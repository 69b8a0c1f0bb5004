//! Calls whose caller cannot wait as long as a person may take.
//!
//! What is asked stays in the journal; the caller is told so in time, and comes back for the answer.

use std::time::Duration;

use holdstead_core::{Cancel, Command, Rejection, digest};
use holdstead_protocol::{AskState, Closing, Digest, InteractionId, Origin, OwnerId, SessionId};
use holdstead_store::AskRecord;
use serde_json::{Value, json};

use super::builtin;
use super::request::pending;
use super::{InteractionError, ToolCall, ToolContext, ToolFailure, ToolOutcome, nobody_answered};
use crate::{Gateway, GatewayError};

/// What a call came to in the time its caller has.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    Done(Value),
    /// A person has not answered this yet. That is no answer.
    Waiting(InteractionId),
}

/// How the id of a call begins whose caller has a key for it.
const KEYED: &str = "key ";

/// The id of a call under a key of its caller's. It names the input too: no call is ever given what another one with the
/// same key was answered.
pub fn keyed_call(tool: &str, key: &str, input: &Value) -> String {
    let digest = digest(input);
    format!("{KEYED}{tool} {key} {}", &digest.as_str()[..16])
}

impl ToolContext {
    /// What every call under this call's key has for its first ask, whatever its input.
    fn under_key(&self) -> Option<InteractionId> {
        let (key, _input) = self.tool_call_id.as_str().strip_prefix(KEYED)?.rsplit_once(' ')?;
        Some(InteractionId::derive(self.session, &format!("tool key\n{key}")))
    }

    /// The id for an ask of this call. A key that was used for another input is refused: whoever sends it means
    /// something else than what was answered.
    pub(super) async fn ask_id(
        &self,
        usual: InteractionId,
        asked: &Digest,
    ) -> Result<InteractionId, GatewayError> {
        let Some(first) = self.under_key() else { return Ok(usual) };
        let Some(earlier) = self.gateway.inner.journal.ask(first).await? else { return Ok(first) };
        if earlier.request.tool_call_id.as_ref() != Some(&self.tool_call_id) {
            return Err(Rejection::AskChanged.into());
        }
        // The same call again, or the next thing that it asks.
        Ok(if earlier.ask.asked == *asked { first } else { usual })
    }
}

impl Gateway {
    /// Calls a tool, and comes back before the caller gives up. The call itself goes on.
    pub async fn call_tool_within(
        &self,
        call: ToolCall,
        patience: Duration,
    ) -> Result<Called, InteractionError> {
        // Waiting for an earlier call needs nothing to go on without its caller.
        if let Some(id) = builtin::awaited(&call) {
            return match tokio::time::timeout(patience, self.call_tool(call)).await {
                Ok(result) => result.map(Called::Done),
                Err(_) => Ok(Called::Waiting(id)),
            };
        }
        let (owner, session, id) = (call.owner.clone(), call.session, call.tool_call_id.clone());
        let (gateway, shutdown) = (self.clone(), self.shutdown_token());
        let mut calling = self.inner.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => Err(GatewayError::Closing.into()),
                result = gateway.call_tool(call) => result,
            }
        });
        let called = match tokio::time::timeout(patience, &mut calling).await {
            Ok(called) => called,
            Err(_) => {
                // It may be about to ask, or busy with something else than a person: whatever happens in its session
                // is a reason to look again.
                let mut changes = self.changes(session);
                loop {
                    match self.open_ask_of_call(&owner, session, id.as_str()).await {
                        Ok(ask) => return Ok(Called::Waiting(ask.request.interaction_id)),
                        Err(GatewayError::NoAsk) => {}
                        Err(error) => return Err(error.into()),
                    }
                    tokio::select! {
                        called = &mut calling => break called,
                        changed = changes.any() => changed?,
                    }
                }
            }
        };
        // A tool that panics is no reason for another answer than an error.
        called.unwrap_or(Err(GatewayError::Closing.into())).map(Called::Done)
    }

    /// Whoever made this call of a tool has given it up: nobody needs to answer what it asked.
    pub async fn give_up_call(
        &self,
        owner: &OwnerId,
        session: SessionId,
        tool_call_id: &str,
    ) -> Result<(), GatewayError> {
        let ask = self.open_ask_of_call(owner, session, tool_call_id).await?;
        match ask.request.origin {
            Origin::Tool => {}
            Origin::Agent | Origin::Attached | Origin::Caller => return Err(GatewayError::NoAsk),
        }
        let cancel = Cancel::Ask(ask.request.interaction_id);
        self.append(session, Command::Cancel(cancel)).await.map(drop)
    }
}

impl ToolContext {
    /// What the tool that asked this made of the answer, as soon as there is one.
    pub(super) async fn outcome_of(&self, id: InteractionId) -> Result<Value, InteractionError> {
        let record = self.over(id).await?;
        match record.ask.state {
            AskState::Settled { .. } => {
                let result = self.gateway.patiently(|| self.gateway.tool_result(&record)).await?;
                let tool = &record.request.tool_name;
                let none = || {
                    ToolFailure(format!("{tool} keeps no results: call it again with the same input and key"))
                };
                Ok(result.unwrap_or_else(|| Err(none()))?)
            }
            AskState::Closed { closing: Closing::Expired | Closing::AnsweredLate } => {
                self.too_late(&record).await
            }
            AskState::Closed { closing: Closing::Cancelled | Closing::Withdrawn } => {
                Err(InteractionError::Cancelled)
            }
            AskState::Open | AskState::Submitted { .. } | AskState::Queued => {
                Ok(pending("The answer comes as a message."))
            }
        }
    }

    /// Its time ran out. An answer that came after that is a message to an agent that is hosted; any other caller has
    /// nobody but us to hear it from.
    async fn too_late(&self, record: &AskRecord) -> Result<Value, InteractionError> {
        if record.ask.late.is_none() {
            return match nobody_answered() {
                ToolOutcome::Complete(words) => Ok(words),
                ToolOutcome::Reprompt(_) | ToolOutcome::Pending { .. } => Err(InteractionError::Expired),
            };
        }
        let session = self.gateway.patiently(|| self.gateway.inner.journal.session(self.session)).await?;
        if session.is_some_and(|session| session.state.hosted) {
            return Ok(pending("The answer comes as a message."));
        }
        let late = self.gateway.patiently(|| self.gateway.late_answer_of(record)).await?;
        Ok(late.map_or(Value::Null, |late| json!({ "ok": true, "late": true, "message": late.text })))
    }

    /// Waits while a person may answer, or the tool makes up its mind.
    async fn over(&self, id: InteractionId) -> Result<AskRecord, GatewayError> {
        let mut changes = self.gateway.changes(self.session);
        loop {
            let record = self.own_ask(id).await?;
            match record.ask.state {
                AskState::Open | AskState::Submitted { .. } => changes.of_ask(id).await?,
                AskState::Queued | AskState::Settled { .. } | AskState::Closed { .. } => return Ok(record),
            }
        }
    }

    /// Nobody waits for what another session asked.
    async fn own_ask(&self, id: InteractionId) -> Result<AskRecord, GatewayError> {
        let record = self.gateway.patiently(|| self.gateway.inner.journal.ask(id)).await?;
        record
            .filter(|record| record.session == self.session && record.request.origin == Origin::Tool)
            .ok_or(GatewayError::NoAsk)
    }
}
