//! Calls that the program may make by itself, without a dialog. Before each, the gateway says whether a rule denies it.

use holdstead_protocol::{MayAllow, ToolCallId};

use super::super::asks::approval;
use super::super::convert::{self, Decision};
use super::super::policy::{Verdict, verdict};
use super::{ClaudeTerminal, call_id, event};
use crate::terminal::{TerminalEffect, not_here};
use crate::{AgentEvent, Resolution};

const TOO_LATE: &str =
    "A rule denies this call, but the program did not wait for the gateway's reply: it may have run.";

#[derive(Debug)]
pub(super) struct Check {
    /// The program's hook, for as long as it waits.
    waits: Option<u64>,
    cwd: Option<String>,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The gateway looks whether a rule denies the call, and writes nothing down.
    Looks,
    /// One does. People see the call, the gateway writes the decision down, and then the program is told.
    Denies,
}

impl Check {
    pub(super) fn passes(self) -> Vec<TerminalEffect> {
        not_here(self.waits)
    }
}

impl ClaudeTerminal {
    pub(super) fn check(&mut self, id: String, waits: u64, cwd: Option<String>) -> Vec<TerminalEffect> {
        let check = Check { waits: Some(waits), cwd, step: Step::Looks };
        match self.asks_rules(&id, &check) {
            Some(ask) => {
                self.checks.insert(id, check);
                vec![ask]
            }
            None => check.passes(),
        }
    }

    /// Questions and plans always come to a dialog, which is asked here, too.
    fn asks_rules(&self, id: &str, check: &Check) -> Option<TerminalEffect> {
        let (call, tool_call_id) = (self.calls.get(id)?, call_id(id)?);
        match verdict(&call.tool_name, &call.input, "", &self.terms) {
            Verdict::Approval(_) => {}
            Verdict::Question | Verdict::Plan | Verdict::Forbidden => return None,
        }
        let may_allow = match check.step {
            Step::Looks => MayAllow::RulesMayDeny,
            Step::Denies => MayAllow::AgentsOwn,
        };
        let mut ask = call.ask(tool_call_id, approval(None), may_allow);
        ask.cwd.clone_from(&check.cwd);
        ask.parents = self.parents(call.agent_id.as_deref());
        Some(event(AgentEvent::Ask(Box::new(ask))))
    }

    pub(super) fn checked(
        &mut self,
        id: &ToolCallId,
        check: Check,
        resolution: &Resolution,
    ) -> Vec<TerminalEffect> {
        let decision = match resolution {
            Resolution::Settled { .. } => convert::decision(resolution),
            Resolution::Closed { .. } | Resolution::Queued { .. } | Resolution::LeftToAgent { .. } => None,
        };
        let words = match decision {
            Some(Decision::Deny { words }) => words,
            // No approval comes of a check: the program goes by its own rules.
            Some(Decision::Allow { .. }) | None => return check.passes(),
        };
        match (check.waits, check.step) {
            (None, _) => vec![event(AgentEvent::Error { message: TOO_LATE.to_owned() })],
            (Some(_), Step::Looks) => {
                let check = Check { step: Step::Denies, ..check };
                let mut effects = self.show_call(id.as_str());
                effects.extend(self.asks_rules(id.as_str(), &check));
                self.checks.insert(id.as_str().to_owned(), check);
                effects
            }
            (Some(waits), Step::Denies) => {
                let answer = Some(convert::hook_refusal(&words));
                vec![TerminalEffect::Answer { waits, answer }]
            }
        }
    }

    /// The program waits no longer for the reply of a check.
    pub(super) fn check_left(&mut self, gone: u64) {
        for check in self.checks.values_mut() {
            check.waits.take_if(|waits| *waits == gone);
        }
    }
}
