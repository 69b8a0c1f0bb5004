//! The asks of the agent: opened for a person, and told what became of them.

use std::collections::HashSet;
use std::time::Duration;

use holdstead_agents::{Ask, Resolution};
use holdstead_core::policy::Judgement;
use holdstead_core::{Command, Head, Output, Rejection, Request, asking, waits_for};
use holdstead_protocol::{
    AskBody, AskChange, AskState, Capabilities, Closing, Delivery, EventBody, Incarnation, InteractionId,
    InteractionRequest, InteractionUpdate, Origin, PromptId, Scope, Seq, SessionError, Told, ToolCallId,
};
use holdstead_store::AskRecord;
use serde_json::Value;

use super::SessionTask;
use super::calls::Route;
use super::process::Written;
use crate::GatewayError;
use crate::policy::{Judged, named, offered};
use crate::secrets::Revealed;

/// The words for an agent whose ask closed without any of its own.
const EXPIRED: &str = "Nobody answered in time. Nothing was decided and nothing ran.";
/// The words for an agent that is told to go on without its answer.
pub(super) const QUEUED: &str = "The question is queued. Go on; the answer will arrive as a message.";

impl SessionTask {
    /// The agent makes a call, or needs a person.
    pub(super) async fn ask(&mut self, ask: Ask) -> Result<(), GatewayError> {
        let tool_call_id = ask.tool_call_id.clone();
        match self.decide_or_ask(ask).await {
            Ok(()) => Ok(()),
            // The store is away, or the gateway is going: it is asked when they are back.
            Err(error) if error.may_pass() || matches!(error, GatewayError::Closing) => Err(error),
            // It cannot be shown to a person, so nothing is allowed: the agent is told why.
            Err(error) => {
                let message = not_shown(&error);
                let turn_id = self.process.as_mut().and_then(|process| {
                    process.resolve(&tool_call_id, Resolution::Closed { message: message.clone() }, None);
                    process.turn
                });
                self.now(Output::Error(SessionError { turn_id, message }));
                Ok(())
            }
        }
    }

    async fn decide_or_ask(&mut self, ask: Ask) -> Result<(), GatewayError> {
        let judged = self.judge(&ask).await?;
        if let Route::Decide(decision) = self.route(&ask, &judged.judgement).await? {
            return self.decided(&ask, decision).await;
        }
        self.keep_words().await?;
        let tool_call_id = ask.tool_call_id.clone();
        let interaction_id = self.open_ask(ask, &judged).await?;
        if let Some(process) = self.process.as_mut() {
            process.last_ask.insert(tool_call_id.clone(), interaction_id);
            process.asked.insert(tool_call_id, interaction_id);
        }
        self.handle.wake();
        Ok(())
    }

    /// Opens the ask, or finds the one that this very call opened in an earlier life of the agent.
    async fn open_ask(&mut self, ask: Ask, judged: &Judged) -> Result<InteractionId, GatewayError> {
        let Some(process) = &self.process else { return Err(GatewayError::Closing) };
        let (capabilities, turn_id) = (process.capabilities, process.turn);
        let response_id = process.made_by.get(&ask.tool_call_id).map(|(message, _)| *message);
        let hold = ask.hold.unwrap_or(self.gateway.inner.config.hold);
        let deadline = match ask.timeout_ms {
            Some(after) => Some(self.gateway.inner.journal.now().await?.after(Duration::from_millis(after))),
            None => None,
        };
        let mut shown = ask.input.clone();
        if self.gateway.inner.masks().of(self.session).is_some_and(|secrets| secrets.value(&mut shown)) {
            self.unmasked.insert(ask.tool_call_id.clone(), ask.input.clone());
        }
        let carried = ask.capabilities.unwrap_or(capabilities.ask);
        let body = with_scopes(ask.body, &ask.tool_name, &ask.input, judged, carried);
        let is_approval = body.is_approval();
        let (verdict, allowed_by) = match &judged.judgement {
            Judgement::Ask(verdict) => (is_approval.then(|| verdict.clone()), None),
            Judgement::Decided(decision) => (None, (decision.told == Told::Allowed).then(|| named(decision))),
        };
        let mut request = InteractionRequest {
            turn_id,
            response_id,
            tool_call_id: Some(ask.tool_call_id.clone()),
            parents: ask.parents,
            agent_says: ask.agent_says,
            cwd: ask.cwd,
            verdict,
            marks: if is_approval { judged.marks.clone() } else { Vec::new() },
            decision_reason: ask.decision_reason,
            hold,
            deadline,
            can_park: ask.can_park && capabilities.parks,
            ..asking(
                InteractionId::derive(self.session, ask.tool_call_id.as_str()),
                PromptId::generate(),
                Origin::Agent,
                ask.tool_name,
                ask.input,
                body,
                carried,
            )
        };
        let host_limit = ask.host_limit_ms.map(Duration::from_millis);
        // The same call may have been asked, and be over: in an earlier life, or with an input that a hook of the agent's
        // changed since. Then this is a new ask of it.
        for repeat in 2_u32.. {
            let command = Request {
                request: request.clone(),
                owner_grants: Vec::new(),
                allowed_by: allowed_by.clone(),
                quota: self.gateway.inner.config.quota,
            };
            let id = request.interaction_id;
            match self.gateway.append(self.session, Command::Request(Box::new(command))).await {
                Ok(appended) => {
                    let Some(ask) = appended.session.asks.get(&id) else { return Err(GatewayError::NoAsk) };
                    if waits_for(ask, turn_id) {
                        if ask.state == AskState::Open {
                            self.holds.begin(id, ask.hold, host_limit);
                        }
                        return Ok(id);
                    }
                }
                // A person can decide on the whole input without a preview of what it does.
                Err(GatewayError::TooLarge { .. }) if drop_preview(&mut request.body) => continue,
                Err(GatewayError::Rejected(Rejection::AskChanged)) if self.is_over(id).await? => {}
                Err(error) => return Err(error),
            }
            let call = request.tool_call_id.as_ref().map_or("", ToolCallId::as_str);
            request.interaction_id = InteractionId::derive(self.session, &format!("{call}\n{repeat}"));
        }
        Err(GatewayError::NoAsk)
    }

    async fn is_over(&mut self, id: InteractionId) -> Result<bool, GatewayError> {
        Ok(self.gateway.inner.journal.ask(id).await?.is_some_and(|record| !record.ask.is_live()))
    }

    /// Tells the agent what became of the calls that it waits for.
    pub(super) async fn resolve_asks(&mut self, head: &Head) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let asked: Vec<_> = process.asked.iter().map(|(call, id)| (call.clone(), *id)).collect();
        let waits =
            if asked.len() > 1 && head.blocking > 0 { self.blocking().await? } else { HashSet::new() };
        for (tool_call_id, interaction_id) in asked.into_iter().filter(|(_, id)| !waits.contains(id)) {
            let Some(record) = self.gateway.inner.journal.ask(interaction_id).await? else { continue };
            let resolution = match &record.ask.state {
                AskState::Open | AskState::Submitted { .. } => continue,
                AskState::Settled { .. } => {
                    self.deliver(&tool_call_id, record).await?;
                    continue;
                }
                AskState::Queued | AskState::Closed { closing: Closing::AnsweredLate } => {
                    Some(Resolution::Queued {
                        message: self.words(&record).await?.unwrap_or(QUEUED.to_owned()),
                    })
                }
                AskState::Closed { closing: Closing::Expired } => Some(Resolution::Closed {
                    message: self.words(&record).await?.unwrap_or(EXPIRED.to_owned()),
                }),
                // The agent withdrew it, or its turn was stopped: a dead ask is never answered.
                AskState::Closed { closing: Closing::Cancelled } => None,
            };
            self.resolved(&tool_call_id, interaction_id);
            if let (Some(process), Some(resolution)) = (self.process.as_mut(), resolution) {
                process.resolve(&tool_call_id, resolution, None);
            }
        }
        Ok(())
    }

    /// The asks that keep the agent waiting: of many, they are not read one by one.
    async fn blocking(&mut self) -> Result<HashSet<InteractionId>, GatewayError> {
        let Some(known) = &self.known else { return Ok(HashSet::new()) };
        let live = self.gateway.live_asks_of(&known.owner, self.session).await?;
        Ok(live.into_iter().filter(|record| record.ask.is_blocking()).map(|record| record.id).collect())
    }

    /// Durable before the first byte; then the bytes; then durable that they were written.
    async fn deliver(&mut self, tool_call_id: &ToolCallId, record: AskRecord) -> Result<(), GatewayError> {
        let Some(incarnation) = self.process.as_ref().map(|process| process.incarnation) else {
            return Ok(());
        };
        let interaction_id = record.id;
        let (body, mut response) = (&record.request.body, record.response.clone());
        let revealed = match &mut response {
            Some(response) => self.gateway.reveal(self.session, body, response).await?,
            None => Revealed::Whole,
        };
        // If it is being parked, the next life gets it.
        if !self.is_delivering(&record, incarnation).await? {
            return Ok(());
        }
        self.resolved(tool_call_id, interaction_id);
        let (AskState::Settled { settlement }, Some(response)) = (record.ask.state, response) else {
            return Ok(());
        };
        // It gets what it asked about, which is not always what was shown.
        let input = self.unmasked.remove(tool_call_id).unwrap_or(record.request.input);
        let settled = match revealed {
            Revealed::Whole => Resolution::Settled { settlement, response: response.response, input },
            Revealed::Gone => {
                let message = GatewayError::SecretGone.to_string();
                self.now(Output::Error(SessionError {
                    turn_id: record.ask.turn_id,
                    message: message.clone(),
                }));
                Resolution::Closed { message }
            }
        };
        if let Some(process) = self.process.as_mut() {
            process.written.insert(tool_call_id.clone(), interaction_id);
            process.resolve(tool_call_id, settled, Some(interaction_id));
        }
        Ok(())
    }

    /// Makes it durable that this is about to be written. It may have been before, if the reply that said so was lost:
    /// nothing is written without one, so nothing was.
    pub(super) async fn is_delivering(
        &mut self,
        record: &AskRecord,
        incarnation: Incarnation,
    ) -> Result<bool, GatewayError> {
        if record.ask.delivery == Some(Delivery::Delivering { incarnation }) {
            return Ok(true);
        }
        let delivering = Command::Delivering { interaction_id: record.id, incarnation };
        Ok(self.unless_refused(delivering).await?.is_some())
    }

    /// Something was handed over to the agent. If it was not, the agent's end is on its way.
    pub(super) fn written(&mut self, written: &Written) {
        let Some(incarnation) = self.process.as_ref().map(|process| process.incarnation) else { return };
        if written.result.is_ok() {
            for interaction_id in written.settlements.iter().copied() {
                let delivered = Command::Delivered { interaction_id, incarnation };
                self.gateway.append_later(self.session, delivered);
            }
        }
    }

    fn resolved(&mut self, tool_call_id: &ToolCallId, interaction_id: InteractionId) {
        self.holds.forget(interaction_id);
        if let Some(process) = self.process.as_mut() {
            process.asked.remove(tool_call_id);
        }
    }

    /// The words recorded with the change, for the agent.
    async fn words(&mut self, record: &AskRecord) -> Result<Option<String>, GatewayError> {
        let before = Seq(record.ask.seq.0.saturating_sub(1));
        let event = self.gateway.inner.journal.read(self.session, before, 1).await?.into_iter().next();
        Ok(match event.map(|event| event.body) {
            Some(EventBody::InteractionClosed(closed)) => closed.message,
            Some(EventBody::InteractionUpdate(InteractionUpdate {
                change: AskChange::Queued { message },
                ..
            })) => Some(message),
            Some(_) | None => None,
        })
    }
}

/// An agent does not say how far an approval may reach: we do.
fn with_scopes(
    mut body: AskBody,
    tool_name: &str,
    input: &Value,
    judged: &Judged,
    carried: Capabilities,
) -> AskBody {
    if let AskBody::Approval { offered_scopes, .. } = &mut body {
        *offered_scopes = offered(tool_name, input, judged);
        if !carried.scopes {
            offered_scopes.retain(|offered| offered.scope == Scope::Once);
        }
    }
    body
}

/// Says whether there was one.
fn drop_preview(body: &mut AskBody) -> bool {
    if let AskBody::Approval { preview, .. } = body { preview.take().is_some() } else { false }
}

/// What an agent is told whose ask nobody will see.
fn not_shown(error: &GatewayError) -> String {
    let why = if let GatewayError::TooLarge { bytes, limit } = error {
        format!(
            "it has {bytes} bytes, and {limit} can be shown. Make it in smaller parts, such as one file in several steps"
        )
    } else {
        error.to_string()
    };
    format!("This could not be shown to a person, so nothing was decided and nothing ran: {why}")
}
