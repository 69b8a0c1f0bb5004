//! What was asked here was answered in the agent's own terminal.

use holdstead_protocol::{
    AskChange, AskState, Delivery, EventBody, InTerminal, InteractionClosed, InteractionId, TerminalAnswer,
};

use super::ask;
use crate::telling::{cancellation, delivery, update};
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    how: InTerminal,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, interaction_id)?;
    match &ask.state {
        AskState::Open | AskState::Submitted { .. } | AskState::Queued => {
            let closed = InteractionClosed { in_terminal: Some(how), ..cancellation(interaction_id, ask) };
            Ok(vec![EventBody::InteractionClosed(closed)])
        }
        AskState::Settled { .. } => match &ask.delivery {
            Some(Delivery::Accepted | Delivery::Delivering { .. } | Delivery::Delivered { .. }) => {
                let too_late = Delivery::Undeliverable { moved_to: None, in_terminal: Some(how) };
                Ok(vec![delivery(interaction_id, ask, too_late)])
            }
            Some(Delivery::Undeliverable { in_terminal: Some(earlier), .. }) if says_more(how, *earlier) => {
                let too_late = Delivery::Undeliverable { moved_to: None, in_terminal: Some(how) };
                Ok(vec![delivery(interaction_id, ask, too_late)])
            }
            Some(Delivery::Undeliverable { in_terminal: Some(_), .. }) => Ok(Vec::new()),
            None
            | Some(
                Delivery::Acknowledged
                | Delivery::Unknown { .. }
                | Delivery::Undeliverable { .. }
                | Delivery::NotRun { .. },
            ) => Err(Rejection::NotDeliverable),
        },
        AskState::Closed { .. } => Ok(match ask.in_terminal {
            Some(earlier) if says_more(how, earlier) => {
                vec![update(interaction_id, ask, AskChange::InTerminal { how })]
            }
            Some(_) | None => Vec::new(),
        }),
    }
}

/// A program may tell that its dialog is over before its record tells what was answered there.
fn says_more(how: InTerminal, earlier: InTerminal) -> bool {
    let is_known = |how: InTerminal| match how.answer {
        TerminalAnswer::Allowed
        | TerminalAnswer::Refused
        | TerminalAnswer::Answered
        | TerminalAnswer::NotByAPerson => true,
        TerminalAnswer::NotSaid => false,
    };
    is_known(how) && !is_known(earlier)
}
