//! The asking tool says what a response, or its absence, leads to.

use holdstead_protocol::{
    AskChange, AskState, Closing, EventBody, InteractionId, InteractionRequest, PromptId, Settlement,
    Timestamp,
};

use serde_json::Value;

use super::{ask, request, respond, still_open};
use crate::telling::{closed, update};
use crate::{Ask, Rejection, Session, policy, secret};

/// How often one ask may be shown.
pub const MAX_ATTEMPTS: u32 = 5;

#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    pub trigger: Trigger,
    pub verdict: Verdict,
}

/// What the tool was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    Response,
    Timeout,
}

/// What the tool wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The call is over, with this result for whoever made it.
    Complete { result: Option<Value> },
    /// Show it again, with errors and what was typed.
    Reprompt(Box<InteractionRequest>),
    /// Tell the agent that the answer comes later.
    Pending { message: String },
    /// The tool cannot go on. The call is over; whoever made it is told why, and so is the person.
    Failed { message: String },
}

pub(crate) fn decide(
    session: &Session,
    command: &Outcome,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(&session.head)?;
    let ask = ask(session, command.interaction_id)?;
    match (&ask.state, command.trigger) {
        (AskState::Submitted { prompt_id }, Trigger::Response) if *prompt_id == command.prompt_id => {}
        (AskState::Open, Trigger::Timeout) if ask.prompt_id == command.prompt_id && ask.is_due(now) => {}
        (AskState::Open, Trigger::Timeout) => return Err(Rejection::NotDue),
        (AskState::Submitted { .. }, Trigger::Response | Trigger::Timeout)
        | (AskState::Open, Trigger::Response)
        | (AskState::Queued | AskState::Settled { .. } | AskState::Closed { .. }, _) => {
            return Err(Rejection::NothingToDecide);
        }
    }
    match &command.verdict {
        Verdict::Complete { result } => {
            let record = ask.responses.last();
            let settlement = record.map(|record| respond::settlement(record.action));
            Ok(vec![over(ask, command, settlement, result.clone(), None)?])
        }
        Verdict::Failed { message } => {
            Ok(vec![over(ask, command, Some(Settlement::Failed), None, Some(message.clone()))?])
        }
        Verdict::Reprompt(again) => Ok(vec![reprompt(ask, command, again)?]),
        Verdict::Pending { message } => {
            let queued = AskChange::Queued { message: message.clone() };
            Ok(vec![update(command.interaction_id, ask, queued)])
        }
    }
}

fn over(
    ask: &Ask,
    command: &Outcome,
    settlement: Option<Settlement>,
    result: Option<Value>,
    failure: Option<String>,
) -> Result<EventBody, Rejection> {
    match command.trigger {
        // Nobody answered: the tool may end its call, but no person decided anything.
        Trigger::Timeout => Ok(closed(command.interaction_id, ask, Closing::Expired, None)),
        Trigger::Response => {
            let settlement = settlement.ok_or(Rejection::NothingToDecide)?;
            let settled = AskChange::Settled { settlement, result, failure };
            Ok(update(command.interaction_id, ask, settled))
        }
    }
}

fn reprompt(ask: &Ask, command: &Outcome, again: &InteractionRequest) -> Result<EventBody, Rejection> {
    if ask.attempt >= MAX_ATTEMPTS {
        return Err(Rejection::TooManyAttempts { attempts: ask.attempt });
    }
    if again.interaction_id != command.interaction_id || again.prompt_id == ask.prompt_id {
        return Err(Rejection::BadAsk { why: "asking again needs the same ask and a new prompt".to_owned() });
    }
    if !ask.spec.is_of_kind(&again.body) {
        return Err(Rejection::BadAsk { why: "asking again cannot make it another kind of ask".to_owned() });
    }
    if let Some(why) = request::flaw(again) {
        return Err(Rejection::BadAsk { why });
    }
    let mut again = InteractionRequest { attempt: ask.attempt + 1, ..again.clone() };
    secret::not_shown_again(&mut again);
    policy::reach::limit(&mut again, &ask.source)?;
    Ok(EventBody::InteractionRequest(Box::new(again)))
}
