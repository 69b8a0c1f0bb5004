//! The asks of the agent: opened for a person, and told what became of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use holdstead_agents::{Ask, Resolution};
use holdstead_core::policy::Judgement;
use holdstead_core::{Command, EndedBy, Head, Output, Rejection, Request, asking, waits_for};
use holdstead_protocol::api::LONGEST_TIMEOUT_MS;
use holdstead_protocol::{
    AgentSeq, AskBody, AskChange, AskState, Closing, Delivery, EventBody, Incarnation, InteractionId,
    InteractionRequest, InteractionUpdate, MayAllow, Origin, PromptId, Seq, SessionError, Told, ToolCallId,
};
use holdstead_runner::{Said, Tell};
use holdstead_store::AskRecord;
use serde_json::Value;

use super::SessionTask;
use super::calls::resolution;
use super::journal::ask_of;
use super::process::{Asked, Process};
use crate::GatewayError;
use crate::policy::{Judged, named, wanted};
use crate::secrets::Revealed;

/// How often a call is judged anew because the rules changed meanwhile.
const TIMES_JUDGED: u32 = 8;
/// The words for an agent whose ask closed without any of its own.
const EXPIRED: &str = "Nobody answered in time. Nothing was decided and nothing ran.";
/// The words for an agent that is told to go on without its answer.
pub(super) const QUEUED: &str = "The question is queued. Go on; the answer will arrive as a message.";

impl SessionTask {
    /// The agent makes a call, or needs a person.
    pub(super) async fn ask(&mut self, ask: Ask, made: &Said) -> Result<(), GatewayError> {
        let waits = |process: &Process| process.running.said().waits_for_reply(made.number);
        // Somebody who spoke before us heard this very call and told it. If the ask was there already, no event came of that.
        if !self.process.as_ref().is_some_and(waits) {
            return Ok(());
        }
        let tool_call_id = ask.tool_call_id.clone();
        let words: fn(&GatewayError) -> String = match ask.may_allow {
            MayAllow::RulesMayDeny => not_checked,
            MayAllow::PersonOnly | MayAllow::Rules | MayAllow::RulesOfPeople | MayAllow::AgentsOwn => {
                not_shown
            }
        };
        match self.decide_or_ask(ask, made).await {
            Ok(()) => Ok(()),
            Err(GatewayError::Rejected(
                rejection @ (Rejection::OutOfStep { .. } | Rejection::StaleIncarnation),
            )) => {
                self.is_refused(&rejection);
                Ok(())
            }
            // The store is away, or the gateway is going: it is asked when they are back.
            Err(error) if error.may_pass_in_its_session() || matches!(error, GatewayError::Closing) => {
                Err(error)
            }
            // It gets no reply: nothing more of it runs.
            Err(error @ GatewayError::TrustEnded { .. }) => {
                let turn_id = self.process.as_ref().and_then(|process| process.turn);
                self.kill(EndedBy::TrustEnded);
                self.now(made.number, Output::Error(SessionError { turn_id, message: error.to_string() }));
                Ok(())
            }
            // It cannot be shown to a person, so nothing is allowed: the agent is told why.
            Err(error) => {
                let message = words(&error);
                let turn_id = self.process.as_ref().and_then(|process| {
                    process.reply(&tool_call_id, Resolution::Closed { message: message.clone() });
                    process.turn
                });
                self.now(made.number, Output::Error(SessionError { turn_id, message }));
                Ok(())
            }
        }
    }

    async fn decide_or_ask(&mut self, ask: Ask, made: &Said) -> Result<(), GatewayError> {
        if ask.may_allow == MayAllow::RulesMayDeny {
            return self.check(&ask).await;
        }
        if self.process.as_ref().is_some_and(Process::is_repeated)
            && let Some(decision) = self.decision_on(&ask.tool_call_id, made.number).await?
        {
            let resolution = match (decision.told, self.stopped_by()) {
                (Told::Allowed | Told::LeftToAgent, Some(by)) => {
                    Resolution::Closed { message: Rejection::TurnStopped { by }.to_string() }
                }
                (Told::Denied, _) | (_, None) => resolution(&ask, &decision),
            };
            if let Some(process) = &self.process {
                process.reply(&ask.tool_call_id, resolution);
            }
            return Ok(());
        }
        for _ in 0..TIMES_JUDGED {
            let judged = self.judge(&ask).await?;
            match self.decide_by(&ask, judged, made).await {
                Err(GatewayError::Rejected(Rejection::RulesChanged)) => self.rules = None,
                Err(GatewayError::Rejected(stopped @ Rejection::TurnStopped { .. })) => {
                    if let Some(process) = &self.process {
                        let message = stopped.to_string();
                        process.reply(&ask.tool_call_id, Resolution::Closed { message });
                    }
                    return Ok(());
                }
                decided => return decided,
            }
        }
        // The rules change all the time: a person decides.
        let judged = self.judge(&ask).await?.ask();
        self.decide_by(&ask, judged, made).await
    }

    /// What was judged becomes durable: as a decision beside the call, or as an ask.
    async fn decide_by(&mut self, ask: &Ask, judged: Judged, made: &Said) -> Result<(), GatewayError> {
        // The journal has this call already, and rules decided nothing about it: it is asked.
        let is_asked = self.process.as_ref().is_some_and(Process::is_repeated);
        if let Judgement::Decided(decision) = &judged.judgement
            && let Some(basis) = judged.basis.clone().filter(|_| !is_asked)
        {
            match self.decided(ask, decision, basis).await {
                // A person decides about this very call, or did.
                Err(GatewayError::Rejected(Rejection::OnRecord)) => {}
                decided => return decided,
            }
        }
        self.keep_words().await?;
        let tool_call_id = ask.tool_call_id.clone();
        let opened = self.open_ask(ask.clone(), &judged, made).await?;
        if let Some(process) = self.process.as_mut() {
            match opened {
                Some(ask) => drop(process.asked.insert(tool_call_id, Asked { ask, made: made.number })),
                None => process.running.tell(Tell::NoReply { number: made.number }),
            }
        }
        self.handle.wake();
        Ok(())
    }

    /// Opens the ask, or finds the one that this very call opened before: in an earlier life of the agent, or under an
    /// earlier task. Nothing, if that is over: a dead ask is not answered.
    async fn open_ask(
        &mut self,
        ask: Ask,
        judged: &Judged,
        made: &Said,
    ) -> Result<Option<InteractionId>, GatewayError> {
        let Some(process) = &self.process else { return Err(GatewayError::Closing) };
        let (capabilities, turn_id, running) =
            (process.capabilities, process.turn, Arc::clone(&process.running));
        let (fence, repeated) = (process.heard_now(), process.is_repeated());
        let response_id = made.made_by.as_ref().map(|(message, _)| *message);
        let hold = ask.hold.unwrap_or(self.gateway.inner.config.hold);
        let deadline = match ask.timeout_ms {
            Some(after) => {
                let after = Duration::from_millis(after.min(LONGEST_TIMEOUT_MS));
                Some(self.gateway.inner.journal.now().await?.after(after))
            }
            None => None,
        };
        let carried = ask.capabilities.unwrap_or(capabilities.ask);
        let body = with_scopes(ask.body, &ask.tool_name, &ask.input, judged);
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
                ask_of(self.session, &ask.tool_call_id, 1),
                PromptId::generate(),
                if self.terminal().is_some() { Origin::Attached } else { Origin::Agent },
                ask.tool_name,
                ask.input,
                body,
                carried,
            )
        };
        let limit = ask.host_limit_ms.map(|limit| made.at + Duration::from_millis(limit));
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
            let command = Command::Request(Box::new(command));
            let command = match judged.basis.clone() {
                Some(basis) => command.based_on(basis, None),
                None => command,
            };
            let command = command.fenced(fence);
            match self.gateway.append(self.session, command).await {
                Ok(appended) => {
                    self.knows(&appended.session.head);
                    let Some(ask) = appended.session.asks.get(&id) else {
                        return if repeated && repeat > 2 { Ok(None) } else { Err(GatewayError::NoAsk) };
                    };
                    // Whoever was about to tell it may have gone before that.
                    let being_told = ask.delivery
                        == Some(Delivery::Delivering { incarnation: running.incarnation })
                        && !running.is_told(id);
                    if waits_for(ask, turn_id) || being_told {
                        if ask.state == AskState::Open {
                            let held = match appended.events.is_empty() {
                                true => self.gateway.inner.journal.now().await?.since(ask.opened_at),
                                false => Duration::ZERO,
                            };
                            self.holds.begin(id, ask.hold, held, limit);
                        }
                        return Ok(Some(id));
                    }
                }
                // A person can decide on the whole input without a preview of what it does.
                Err(GatewayError::TooLarge { .. }) if drop_preview(&mut request.body) => continue,
                Err(GatewayError::Rejected(Rejection::AskChanged)) if self.is_over(id).await? => {}
                Err(error) => return Err(error),
            }
            if let Some(call) = &request.tool_call_id {
                request.interaction_id = ask_of(self.session, call, repeat);
            }
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
        for (tool_call_id, Asked { ask: interaction_id, made }) in
            asked.into_iter().filter(|(_, asked)| !waits.contains(&asked.ask))
        {
            let Some(record) = self.gateway.inner.journal.ask(interaction_id).await? else { continue };
            let resolution = match &record.ask.state {
                AskState::Open | AskState::Submitted { .. } => continue,
                AskState::Settled { .. } => {
                    self.deliver(&tool_call_id, made, record).await?;
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
                AskState::Closed { closing: Closing::Cancelled | Closing::Withdrawn } => None,
            };
            self.resolved(&tool_call_id, interaction_id);
            if let (Some(process), Some(resolution)) = (&self.process, resolution) {
                process.resolve(made, tool_call_id, resolution, None);
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
    async fn deliver(
        &mut self,
        tool_call_id: &ToolCallId,
        made: AgentSeq,
        record: AskRecord,
    ) -> Result<(), GatewayError> {
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
        let input = record.request.input;
        let settled = match revealed {
            Revealed::Whole => Resolution::Settled { settlement, response: response.response, input },
            Revealed::Gone => {
                let message = GatewayError::SecretGone.to_string();
                self.complain(record.ask.turn_id, message.clone());
                Resolution::Closed { message }
            }
        };
        if let Some(process) = self.process.as_mut() {
            process.written.insert(tool_call_id.clone(), interaction_id);
            process.resolve(made, tool_call_id.clone(), settled, Some(interaction_id));
        }
        Ok(())
    }

    /// Makes it durable that this is about to be written. It may have been before: then it is written now, unless it was.
    pub(super) async fn is_delivering(
        &mut self,
        record: &AskRecord,
        incarnation: Incarnation,
    ) -> Result<bool, GatewayError> {
        let is_marked =
            |record: &AskRecord| record.ask.delivery == Some(Delivery::Delivering { incarnation });
        if is_marked(record) {
            return Ok(true);
        }
        let delivering = Command::Delivering { interaction_id: record.id, incarnation };
        if self.unless_refused(delivering).await?.is_some() {
            return Ok(true);
        }
        // Somebody who spoke before us may have been faster, or what came with the answer is a commit behind it.
        Ok(self.gateway.inner.journal.ask(record.id).await?.is_some_and(|now| is_marked(&now)))
    }

    /// These were handed over to the agent.
    pub(super) fn written(&self, settlements: &[InteractionId]) {
        let Some(incarnation) = self.process.as_ref().map(|process| process.incarnation) else { return };
        for interaction_id in settlements.iter().copied() {
            let delivered = Command::Delivered { interaction_id, incarnation };
            self.gateway.append_later(self.session, delivered);
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

/// An agent does not say how far an approval may reach.
fn with_scopes(mut body: AskBody, tool_name: &str, input: &Value, judged: &Judged) -> AskBody {
    if let AskBody::Approval { offered_scopes, .. } = &mut body {
        *offered_scopes = wanted(tool_name, input, judged);
    }
    body
}

/// Says whether there was one.
fn drop_preview(body: &mut AskBody) -> bool {
    if let AskBody::Approval { preview, .. } = body { preview.take().is_some() } else { false }
}

/// What an agent is told whose ask nobody will see.
fn not_checked(error: &GatewayError) -> String {
    format!("No rule could be looked at for this call, so the program went by its own rules: {error}")
}

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
