//! Calls that nobody is asked about: decided by rules, and told to the agent with the call's own event.

use holdstead_agents::{Ask, ProjectFiles, Resolution};
use holdstead_core::policy::{Judgement, answer};
use holdstead_core::{Basis, EndedBy, Rejection};
use holdstead_protocol::{CallDecision, MayAllow, Told, ToolCallEnd};

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
        // No append follows a check, and would notice that the rules changed since: they are read anew.
        if ask.may_allow == MayAllow::RulesMayDeny {
            self.rules = None;
        }
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
                    let judged = judged?;
                    return match self.may_run(judged.project_files) {
                        true => Ok(judged),
                        false => Err(GatewayError::TrustEnded { folder: self.folder() }),
                    };
                }
            }
        }
    }

    /// Whether the process may go on, if this is what a person trusts of the folder now.
    fn may_run(&self, now: ProjectFiles) -> bool {
        let runs_with = self.process.as_ref().map(|process| process.running.project_files);
        // What a person started in a terminal runs as they started it.
        self.terminal().is_some() || runs_with != Some(ProjectFiles::Trusted) || now == ProjectFiles::Trusted
    }

    /// Ends a process that would begin a turn with files that no person trusts any more. Says whether it did.
    pub(super) async fn end_untrusted(&mut self) -> Result<bool, GatewayError> {
        if self.may_run(ProjectFiles::Closed) {
            return Ok(false);
        }
        let read = self.gateway.read_rules(self.session).await?;
        let ends = !self.may_run(self.gateway.project_files_now(&read).await?);
        if ends {
            self.kill(EndedBy::TrustEnded);
        }
        Ok(ends)
    }

    fn folder(&self) -> String {
        self.known.as_ref().and_then(|known| known.opened.cwd.clone()).unwrap_or_default()
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

    /// Says whether a rule denies a call that the agent would make by itself.
    pub(super) async fn check(&mut self, ask: &Ask) -> Result<(), GatewayError> {
        let judged = self.judge(ask).await?;
        if let (Judgement::Decided(decision), Some(process)) = (&judged.judgement, &self.process) {
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
            Err(GatewayError::TrustEnded { .. }) => {
                self.kill(EndedBy::TrustEnded);
                return Ok(());
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
