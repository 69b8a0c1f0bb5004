//! A program takes its ask back. Only the device that asked can, and only until a person answers.

use holdstead_protocol::{AskState, Closing, DeviceId, EventBody, InteractionId};

use super::ask;
use super::respond::{cancelled, lost};
use crate::telling::closed;
use crate::{Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdraw {
    pub interaction_id: InteractionId,
    /// The device whose token came with the request.
    pub by: DeviceId,
}

pub(crate) fn decide(session: &Session, command: &Withdraw) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, command.interaction_id)?;
    // Only asks of programs name the device that asked.
    if ask.asked_by != Some(command.by) {
        return Err(Rejection::NotTheAsker);
    }
    match &ask.state {
        AskState::Open | AskState::Queued => {
            Ok(vec![closed(command.interaction_id, ask, Closing::Withdrawn, None)])
        }
        AskState::Closed { closing: Closing::Withdrawn } => Ok(Vec::new()),
        AskState::Closed { closing: Closing::Expired } if ask.late.is_none() => {
            Err(Rejection::Dead { closing: Closing::Expired })
        }
        AskState::Closed { closing: Closing::Cancelled } => Err(cancelled(ask)),
        AskState::Closed { closing: Closing::Expired | Closing::AnsweredLate }
        | AskState::Submitted { .. }
        | AskState::Settled { .. } => Err(lost(command.interaction_id, ask)),
    }
}
