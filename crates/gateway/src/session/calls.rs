//! Calls that nobody is asked about: decided by rules, and told to the agent with the call's own event.

use holdstead_agents::{Ask, Resolution};
use holdstead_core::policy::{Judgement, answer, covering};
use holdstead_core::{Output, digest};
use holdstead_protocol::{CallDecision, InteractionId, Scope, Told, ToolCallEnd};

use super::SessionTask;
use crate::GatewayError;
use crate::policy::{CallToJudge, Judged};

const NO_TURN: &str = "No turn is running, so nobody was asked and nothing was decided.";

/// Which way a call goes.
#[derive(Debug)]
pub(super) enum Route {
    /// Nobody is asked.
    Decide(CallDecision),
    /// Through the ask that is or will be on record: a person decides, or did.
    Ask,
}

impl SessionTask {
    /// What counts for this call now.
    pub(super) async fn judge(&mut self, ask: &Ask) -> Result<Judged, GatewayError> {
        let Some(record) = self.gateway.inner.journal.session(self.session).await? else {
            return Err(GatewayError::NoSession);
        };
        let call = CallToJudge {
            tool: ask.tool_name.clone(),
            input: ask.input.clone(),
            cwd: ask.cwd.clone(),
            depth: ask.parents.len(),
            may_allow: ask.may_allow,
        };
        self.gateway.judge(&record, call).await
    }

    /// What a person decided about this very call, or about the same one that never arrived, comes before any rule.
    pub(super) async fn route(&mut self, ask: &Ask, judgement: &Judgement) -> Result<Route, GatewayError> {
        let Judgement::Decided(decision) = judgement else { return Ok(Route::Ask) };
        let id = InteractionId::derive(self.session, ask.tool_call_id.as_str());
        // That the last answer arrived may not be written yet.
        self.gateway.write_earlier(self.session).await;
        let Some(record) = self.gateway.inner.journal.session(self.session).await? else {
            return Err(GatewayError::NoSession);
        };
        let now = record.changed_at;
        let once = covering(&record.state.grants, &[], &ask.tool_name, &digest(&ask.input), now)
            .is_some_and(|grant| grant.scope == Scope::Once);
        let undelivered = record.state.undelivered > 0;
        let asked = self.gateway.inner.journal.ask(id).await?.is_some_and(|record| {
            // Another input is another call, even under the same id.
            record.ask.is_live() || record.ask.input_digest == digest(&ask.input)
        });
        let by_record = asked || (decision.told == Told::Allowed && (once || undelivered));
        Ok(if by_record { Route::Ask } else { Route::Decide(decision.clone()) })
    }

    /// The decision is durable with the call's own event before the agent hears of it.
    pub(super) async fn decided(&mut self, ask: &Ask, decision: CallDecision) -> Result<(), GatewayError> {
        let turn = self.process.as_ref().and_then(|process| Some((process.turn?, process.now)));
        if let Some((turn_id, made)) = turn {
            let resolution = resolution(ask, &decision);
            let decision = Some(Box::new(decision));
            match self.deltas.end_of(&ask.tool_call_id).filter(|end| end.input == ask.input) {
                Some(end) => {
                    end.decision = decision;
                    self.deltas.reaches(made);
                }
                None => {
                    let (tool_call_id, input) = (ask.tool_call_id.clone(), ask.input.clone());
                    let tool_name = Some(ask.tool_name.clone());
                    let end = ToolCallEnd { turn_id, tool_call_id, tool_name, input, decision };
                    self.now(made, Output::ToolCallEnd(end));
                }
            }
            self.keep_words().await?;
            if let Some(process) = &self.process {
                process.reply(&ask.tool_call_id, resolution);
            }
        }
        Ok(())
    }

    /// A subagent in the background may go on after its turn. There is no event of a turn to write to: what would be allowed
    /// by somebody's rule is not; what is built in is the agent's own to decide.
    pub(super) async fn ask_outside_of_turn(&mut self, ask: &Ask) -> Result<(), GatewayError> {
        let resolution = match self.judge(ask).await {
            Ok(Judged { judgement: Judgement::Decided(decision), .. }) if decision.told != Told::Allowed => {
                resolution(ask, &decision)
            }
            Ok(_) => Resolution::Closed { message: NO_TURN.to_owned() },
            Err(error) if error.may_pass_in_its_session() || matches!(error, GatewayError::Closing) => {
                return Err(error);
            }
            Err(error) => Resolution::Closed { message: format!("{NO_TURN} {error}") },
        };
        if let Some(process) = &self.process {
            process.reply(&ask.tool_call_id, resolution);
        }
        Ok(())
    }
}

pub(super) fn resolution(ask: &Ask, decision: &CallDecision) -> Resolution {
    let input = ask.input.clone();
    match answer(decision) {
        Some((settlement, response)) => Resolution::Settled { settlement, response, input },
        None => Resolution::LeftToAgent { input },
    }
}
