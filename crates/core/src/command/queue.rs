//! The agent is told that the answer comes later; the ask stays.

use holdstead_protocol::{AskChange, AskState, EventBody, InteractionId, InteractionUpdate};

use super::{ask, still_open};
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    message: &str,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(session)?;
    let ask = ask(session, interaction_id)?;
    match ask.state {
        AskState::Open => Ok(vec![EventBody::InteractionUpdate(InteractionUpdate {
            interaction_id,
            prompt_id: ask.prompt_id,
            change: AskChange::Queued { message: message.to_owned() },
        })]),
        AskState::Queued => Ok(Vec::new()),
        AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Closed { .. } => {
            Err(Rejection::NothingToDecide)
        }
    }
}
