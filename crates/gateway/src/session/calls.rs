//! Calls that nobody is asked about: decided by rules, and told to the agent with the call's own event.

use holdstead_agents::{Ask, Resolution};
use holdstead_core::policy::{Judgement, answer};
use holdstead_core::{Basis, Rejection};
use holdstead_protocol::{CallDecision, Told, ToolCallEnd};

use super::SessionTask;
use super::journal::ask_of;
use crate::GatewayError;
use crate::policy::{CallToJudge, Judged};

const NO_TURN: &str = "No turn is running, so nobody was asked and nothing was decided.";

impl SessionTask {
    /// What counts for this call, by the rules as this task read them last. They may have changed since: the append says so.
    pub(super) async fn judge(&mut self, ask: &Ask) -> Result<Judged, GatewayError> {
        let call = || CallToJudge {
            tool: ask.tool_name.clone(),
            input: ask.input.clone(),
            cwd: ask.cwd.clone(),
            depth: ask.parents.len(),
            may_allow: ask.may_allow,
        };
        loop {
            let read = match self.rules.take() {
                Some(read) => read,
                None => self.gateway.read_rules(self.session).await?,
            };
            match self.gateway.judge(&read, call()).await {
                // A file of rules changed, and that is recorded now.
                Err(GatewayError::Rejected(Rejection::RulesChanged)) => {}
                judged => {
                    self.rules = Some(read);
                    return judged;
                }
            }
        }
    }

    /// The decision is durable with the call's own event before the agent hears of it.
    pub(super) async fn decided(
        &mut self,
        ask: &Ask,
        decision: &CallDecision,
        basis: Basis,
    ) -> Result<(), GatewayError> {
        let Some(turn_id) = self.process.as_ref().and_then(|process| process.turn) else { return Ok(()) };
        let end = ToolCallEnd {
            turn_id,
            tool_call_id: ask.tool_call_id.clone(),
            tool_name: Some(ask.tool_name.clone()),
            input: ask.input.clone(),
            decision: Some(Box::new(decision.clone())),
        };
        self.write_decision(end, basis, ask_of(self.session, &ask.tool_call_id, 1)).await?;
        if let Some(process) = &self.process {
            process.reply(&ask.tool_call_id, resolution(ask, decision));
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
