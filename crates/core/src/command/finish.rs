//! The turn is over. Asks of its agent that are still open have nobody waiting for them any more.

use holdstead_protocol::{
    AskState, Delivery, EventBody, NotRun, SessionError, Settlement, StopReason, TurnId, Usage,
};

use super::cancel::done;
use super::queue::{Over, left_by};
use super::still_open;
use crate::telling::{cancelled, delivery};
use crate::{Ask, Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    pub turn_id: TurnId,
    pub reason: StopReason,
    pub usage: Option<Usage>,
    /// What the person is told about it, in the same append: nobody reads it twice, and no end goes without it.
    pub words: Option<String>,
}

pub(crate) fn decide(session: &Session, command: &Finish) -> Result<Vec<EventBody>, Rejection> {
    still_open(&session.head)?;
    if session.head.turn != Some(command.turn_id) {
        return Err(Rejection::NoSuchTurn);
    }
    let asks = session.asks.iter().filter(|(_, ask)| ask.origin.is_agent());
    let left = asks.filter_map(|(id, ask)| match (&ask.state, ask.delivery.as_ref()) {
        (AskState::Open | AskState::Submitted { .. }, _) => {
            Some(cancelled(*id, ask, session.head.stopped_by.as_deref()))
        }
        (AskState::Settled { settlement: Settlement::Approved }, Some(Delivery::Accepted))
            if is_of_an_earlier_life(session, ask) =>
        {
            Some(delivery(*id, ask, Delivery::NotRun { because: NotRun::NotCalledAgain }))
        }
        (AskState::Settled { .. }, Some(Delivery::Accepted)) => Some(delivery(*id, ask, Delivery::NOWHERE)),
        // It never showed that it has it, and now it never will.
        (
            AskState::Settled { .. },
            Some(Delivery::Delivering { incarnation } | Delivery::Delivered { incarnation }),
        ) => Some(delivery(*id, ask, Delivery::Unknown { incarnation: *incarnation })),
        (
            AskState::Settled { .. },
            None
            | Some(
                Delivery::Acknowledged
                | Delivery::Unknown { .. }
                | Delivery::Undeliverable { .. }
                | Delivery::NotRun { .. },
            ),
        )
        | (AskState::Queued | AskState::Closed { .. }, _) => None,
    });
    let words = command.words.clone();
    let error =
        words.map(|message| EventBody::Error(SessionError { turn_id: Some(command.turn_id), message }));
    let by = session.head.stopped_by.clone();
    let done = done(command.turn_id, command.reason, by, command.usage.clone());
    let of_tools = left_by(session, &[Over::Turn(command.turn_id)]);
    Ok(of_tools.into_iter().chain(left).chain(error).chain([done]).collect())
}

/// The agent that asked died, and another process of it goes on with the turn.
fn is_of_an_earlier_life(session: &Session, ask: &Ask) -> bool {
    session.head.alive.is_some_and(|alive| ask.asked_in.is_some_and(|asked_in| asked_in < alive))
}
