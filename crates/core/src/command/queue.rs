//! The agent is told that the answer comes later; the ask stays.

use holdstead_protocol::{AskChange, AskState, EventBody, InteractionId};

use super::{ask, still_open};
use crate::telling::update;
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    message: &str,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(&session.head)?;
    let ask = ask(session, interaction_id)?;
    match ask.state {
        AskState::Open => {
            Ok(vec![update(interaction_id, ask, AskChange::Queued { message: message.to_owned() })])
        }
        AskState::Queued => Ok(Vec::new()),
        AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Closed { .. } => {
            Err(Rejection::NothingToDecide)
        }
    }
}
