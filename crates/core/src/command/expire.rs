//! A time of an ask has come: its deadline, or the end of its snooze. Expiry never allows.

use holdstead_protocol::{
    AskState, Closing, EventBody, InteractionId, InteractionUnsnoozed, PromptId, Timestamp,
};

use super::{ask, snooze};
use crate::attention::closes_at;
use crate::telling::closed;
use crate::{Rejection, Session};

/// Close an ask whose time ran out, or show it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expire {
    pub interaction_id: InteractionId,
    /// The prompt the timer was set for.
    pub prompt_id: PromptId,
    pub cause: ExpireCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpireCause {
    /// The ask's own deadline passed, or its snooze is over.
    Deadline,
    /// The agent was held as long as its hold allows; these words go to it.
    Hold { message: String },
}

pub(crate) fn decide(
    session: &Session,
    command: &Expire,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, command.interaction_id)?;
    if ask.prompt_id != command.prompt_id {
        return Err(Rejection::NotDue);
    }
    let message = match (&command.cause, &ask.state) {
        // Its tool may have a moment longer to close it: that is not cut short by a snooze.
        (ExpireCause::Deadline, AskState::Open | AskState::Queued)
            if snooze::is_over(ask, now) && closes_at(ask).is_none_or(|at| now < at) =>
        {
            let (interaction_id, prompt_id) = (command.interaction_id, ask.prompt_id);
            let unsnoozed = InteractionUnsnoozed { interaction_id, prompt_id, by: None, actor: None };
            return Ok(vec![EventBody::InteractionUnsnoozed(unsnoozed)]);
        }
        (ExpireCause::Deadline, AskState::Open | AskState::Queued) if ask.is_due(now) => None,
        (ExpireCause::Hold { message }, AskState::Open) => Some(message.clone()),
        (ExpireCause::Deadline, AskState::Open | AskState::Queued) => return Err(Rejection::NotDue),
        (ExpireCause::Hold { .. }, AskState::Queued)
        | (_, AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Closed { .. }) => {
            return Err(Rejection::NothingToDecide);
        }
    };
    Ok(vec![closed(command.interaction_id, ask, Closing::Expired, message)])
}
