//! A process is about to be started. Durable before it is: whatever runs afterwards has a life that the journal knows.

use holdstead_protocol::{EventBody, Incarnation, ProcessChange, TurnId};

use super::resume::status;
use super::still_open;
use crate::{Head, Rejection};

pub(crate) fn decide(
    head: &Head,
    incarnation: Incarnation,
    turn: Option<TurnId>,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.alive.is_some() {
        return Err(Rejection::AlreadyAlive);
    }
    if incarnation.0 != head.incarnations + 1 {
        return Err(Rejection::StaleIncarnation);
    }
    // What it was to go on with was stopped meanwhile, or another turn was begun.
    if head.turn != turn {
        return Err(Rejection::NoSuchTurn);
    }
    let starting = ProcessChange::Starting { incarnation };
    Ok(vec![EventBody::SessionStatus(status(head.agent).with_process(starting))])
}
