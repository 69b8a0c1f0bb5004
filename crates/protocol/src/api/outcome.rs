//! What became of an ask. Lists, exports, terminals and exit codes take it from here, so that they cannot differ.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{DecisionBy, Interaction};
use crate::{
    AskState, Closing, Decider, Delivery, InTerminal, InteractionRequest, Response, Settlement, Surface,
    TerminalAnswer,
};

/// What became of an ask, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Approved,
    /// Approved with an input that the person changed.
    ApprovedWithEdit,
    /// It ran, and not with the input that was approved.
    ApprovedRanOther,
    /// A hook or a rule of the agent stopped or changed the call, or the agent did not make it again after it died.
    ApprovedNotRun,
    /// The agent died before it confirmed the approval: the call may have run.
    ApprovedMayHaveRun,
    /// The approval did not reach the agent.
    ApprovedNotDelivered,
    Denied,
    Answered,
    /// The answer did not reach the agent.
    AnswerNotDelivered,
    Declined,
    /// A person answered, and the tool that asked failed over the answer.
    ToolFailed,
    /// A person allowed it in the agent's own terminal, and it ran.
    AllowedInTerminal,
    DeniedInTerminal,
    AnsweredInTerminal,
    /// The agent's own settings decided, or a hook of another program.
    DecidedByAgentSettings,
    /// The agent's own terminal asks it no more or alone, and nothing says what was answered there.
    NotKnown,
    Expired,
    /// Its turn was stopped, its session ended, or its agent withdrew it.
    Cancelled,
    AnsweredLate,
    /// The program that asked withdrew it.
    Withdrawn,
}

impl Outcome {
    const fn of_terminal(answer: TerminalAnswer) -> Self {
        match answer {
            TerminalAnswer::Allowed => Self::AllowedInTerminal,
            TerminalAnswer::Refused => Self::DeniedInTerminal,
            TerminalAnswer::Answered => Self::AnsweredInTerminal,
            TerminalAnswer::NotByAPerson => Self::DecidedByAgentSettings,
            TerminalAnswer::NotSaid => Self::NotKnown,
        }
    }

    const fn of_closing(closing: Closing) -> Self {
        match closing {
            Closing::Expired => Self::Expired,
            Closing::Cancelled => Self::Cancelled,
            Closing::AnsweredLate => Self::AnsweredLate,
            Closing::Withdrawn => Self::Withdrawn,
        }
    }
}

/// An answer that was given here when the agent's own terminal had been faster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TooLate {
    pub settlement: Settlement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<DecisionBy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<Surface>,
}

/// What became of an ask, and who or what brought it about.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    pub outcome: Outcome,
    pub by: Option<DecisionBy>,
    pub surface: Option<Surface>,
    pub in_terminal: Option<InTerminal>,
    pub too_late: Option<TooLate>,
    /// The input that a person approved in the place of what was asked.
    pub edited_input: Option<Value>,
}

impl Interaction {
    /// What was answered in the agent's own terminal, where that is what counted.
    pub fn counted_in_terminal(&self) -> Option<InTerminal> {
        match (&self.state, &self.delivery) {
            (AskState::Closed { .. }, _) => self.in_terminal,
            (AskState::Settled { .. }, Some(Delivery::Undeliverable { in_terminal, .. })) => *in_terminal,
            (
                AskState::Settled { .. } | AskState::Open | AskState::Submitted { .. } | AskState::Queued,
                _,
            ) => None,
        }
    }

    /// Nothing while it waits.
    pub fn ending(&self) -> Option<Ending> {
        let here = self.response.as_ref().map(|response| by(&response.decider, &self.request));
        let (by_here, surface_here) = here.unzip();
        let surface_here = surface_here.flatten();
        let edited_input = self.edited_input().cloned();
        let Some(how) = self.counted_in_terminal() else {
            let (outcome, by, surface) = match self.state {
                AskState::Open | AskState::Submitted { .. } | AskState::Queued => return None,
                AskState::Settled { settlement } => (self.settled(settlement), by_here, surface_here),
                AskState::Closed { closing } => {
                    let late = self.late.as_ref();
                    let by = late.map(|late| &late.name).or(self.closed_by.as_ref());
                    let by = by.map(|name| DecisionBy::Person { name: name.clone() });
                    (Outcome::of_closing(closing), by, late.map(|late| late.surface))
                }
            };
            return Some(Ending { outcome, by, surface, in_terminal: None, too_late: None, edited_input });
        };
        let (by, surface) = match how.answer {
            TerminalAnswer::Allowed | TerminalAnswer::Refused | TerminalAnswer::Answered => {
                (Some(DecisionBy::PersonInTerminal {}), Some(Surface::AgentTerminal))
            }
            TerminalAnswer::NotByAPerson => (Some(DecisionBy::AgentSettings {}), None),
            TerminalAnswer::NotSaid => (None, None),
        };
        let too_late = match self.state {
            AskState::Settled { settlement } => {
                Some(TooLate { settlement, by: by_here, surface: surface_here })
            }
            AskState::Open | AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => None,
        };
        let outcome = Outcome::of_terminal(how.answer);
        Some(Ending { outcome, by, surface, in_terminal: Some(how), too_late, edited_input: None })
    }

    fn edited_input(&self) -> Option<&Value> {
        match &self.response.as_ref()?.response {
            Response::Approve { edited_input, .. } => edited_input.as_ref(),
            Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. } => None,
        }
    }

    fn settled(&self, settlement: Settlement) -> Outcome {
        match settlement {
            Settlement::Approved if self.ran_other_than_approved => Outcome::ApprovedRanOther,
            Settlement::Approved => self.approved(),
            // What did not reach the agent did not run either.
            Settlement::Denied => Outcome::Denied,
            Settlement::Answered if self.delivery == Some(Delivery::NOWHERE) => Outcome::AnswerNotDelivered,
            Settlement::Answered => Outcome::Answered,
            Settlement::Declined => Outcome::Declined,
            Settlement::Failed => Outcome::ToolFailed,
        }
    }

    fn approved(&self) -> Outcome {
        let is_edited = self.edited_input().is_some();
        let as_decided = if is_edited { Outcome::ApprovedWithEdit } else { Outcome::Approved };
        match &self.delivery {
            Some(Delivery::NotRun { .. }) => Outcome::ApprovedNotRun,
            Some(Delivery::Unknown { .. }) => Outcome::ApprovedMayHaveRun,
            Some(Delivery::Undeliverable { moved_to: None, .. }) => Outcome::ApprovedNotDelivered,
            None
            | Some(
                Delivery::Accepted
                | Delivery::Delivering { .. }
                | Delivery::Delivered { .. }
                | Delivery::Acknowledged
                // The identical repeat was given this approval.
                | Delivery::Undeliverable { moved_to: Some(_), .. },
            ) => as_decided,
        }
    }
}

/// Who or what decided, and where. The verdict of an ask names the rules that spoke about it, and whose they are.
fn by(decider: &Decider, request: &InteractionRequest) -> (DecisionBy, Option<Surface>) {
    match decider {
        Decider::Person { name, surface, .. } => (DecisionBy::Person { name: name.clone() }, Some(*surface)),
        Decider::Rule { name } => {
            let parts = request.verdict.iter().flat_map(|verdict| &verdict.parts);
            let rule = parts.filter_map(|part| part.rule.as_ref()).find(|rule| rule.text == *name);
            (DecisionBy::Rule { text: name.clone(), layer: rule.map(|rule| rule.layer) }, None)
        }
        Decider::Grant { grant_id } => (DecisionBy::Grant { grant_id: *grant_id }, None),
        Decider::Earlier { interaction_id } => {
            (DecisionBy::Earlier { interaction_id: *interaction_id }, None)
        }
    }
}
