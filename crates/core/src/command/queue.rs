//! The agent is told that the answer comes later; the ask stays.

use holdstead_protocol::{AskChange, AskState, EventBody, Incarnation, InteractionId, Origin, TurnId};

use super::{ask, still_open};
use crate::telling::update;
use crate::{Ask, Rejection, Session};

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

/// The words for an agent whose tool's ask outlives the call that made it.
const LEFT: &str = "The agent does not wait for this any more. An answer is given to it as a message.";

/// Whose calls are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Life(Incarnation),
    Turn(TurnId),
}

impl Over {
    fn covers(self, ask: &Ask) -> bool {
        match self {
            Self::Life(incarnation) => ask.asked_in == Some(incarnation),
            Self::Turn(turn) => ask.turn_id == Some(turn),
        }
    }
}

/// Asks of tools whose call ends with these. They stay open, and an answer reaches the agent as a message. One that was
/// submitted is left to its tool.
pub(super) fn left_by(session: &Session, over: &[Over]) -> Vec<EventBody> {
    let left = session.asks.iter().filter(|(_, ask)| {
        ask.origin == Origin::Tool && ask.state == AskState::Open && over.iter().any(|one| one.covers(ask))
    });
    left.map(|(id, ask)| update(*id, ask, AskChange::Queued { message: LEFT.to_owned() })).collect()
}
