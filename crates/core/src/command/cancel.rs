//! Asks are taken back: by the agent, by an interrupt, or because their turn or session is over.

use holdstead_protocol::{
    AgentState, Delivery, Done, EventBody, InteractionId, SessionStatus, StopReason, TurnId, Usage,
};

use super::ask;
use super::resume::status;
use crate::telling::{cancelled, delivery};
use crate::{Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancel {
    /// Whoever asked takes it back.
    Ask(InteractionId),
    /// This person stops the turn, with everything that belongs to it: its open asks, and answers that were not written
    /// to the agent yet.
    Turn { by: String },
}

pub(crate) fn decide(session: &Session, command: &Cancel) -> Result<Vec<EventBody>, Rejection> {
    match command {
        Cancel::Ask(id) => {
            let ask = ask(session, *id)?;
            Ok(if ask.is_live() { vec![cancelled(*id, ask, None)] } else { Vec::new() })
        }
        // While its program is there, the gateway cannot end its turn.
        Cancel::Turn { .. } if session.head.in_terminal && session.head.alive.is_some() => {
            Err(Rejection::InTerminal)
        }
        Cancel::Turn { by } => Ok(turn(session, by)),
    }
}

/// An agent that lives ends its turn itself when it is stopped. Without a process the turn ends here: nobody is left
/// to do it.
fn turn(session: &Session, by: &str) -> Vec<EventBody> {
    let mut events = all(session, by);
    match (session.head.turn, session.head.alive) {
        (Some(_), _) if session.head.agent == AgentState::Ended => {}
        (Some(turn_id), None) => {
            events.push(done(turn_id, StopReason::Interrupted, Some(by.to_owned()), None))
        }
        // Once is enough to know who.
        (Some(_), Some(_)) if session.head.stopped_by.is_none() => {
            let stopped = SessionStatus { by: Some(by.to_owned()), ..status(session.head.agent) };
            events.push(EventBody::SessionStatus(stopped));
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
    events
}

/// The end of a turn. Only one that was stopped was stopped by somebody.
pub(super) fn done(
    turn_id: TurnId,
    reason: StopReason,
    by: Option<String>,
    usage: Option<Usage>,
) -> EventBody {
    let by = by.filter(|_| reason == StopReason::Interrupted);
    EventBody::Done(Done { turn_id, reason, by, usage })
}

/// The same for a session that ends: what was being written to its agent is nobody's to confirm any more.
pub(super) fn all_for_good(session: &Session, by: &str) -> Vec<EventBody> {
    let mut events = all(session, by);
    events.extend(session.undelivered().filter_map(|(id, ask)| unknown(id, ask)));
    events
}

/// What is known of a delivery that was begun and will never be confirmed.
pub(super) fn unknown(id: InteractionId, ask: &crate::Ask) -> Option<EventBody> {
    match ask.delivery.clone()? {
        Delivery::Delivering { incarnation } | Delivery::Delivered { incarnation } => {
            Some(delivery(id, ask, Delivery::Unknown { incarnation }))
        }
        Delivery::Accepted
        | Delivery::Acknowledged
        | Delivery::Unknown { .. }
        | Delivery::Undeliverable { .. }
        | Delivery::NotRun { .. } => None,
    }
}

/// Closes every live ask, and makes sure that nothing decided before is written to an agent from now on.
fn all(session: &Session, by: &str) -> Vec<EventBody> {
    let live = session.asks.iter().filter(|(_, ask)| ask.is_live());
    let closed = live.map(|(id, ask)| cancelled(*id, ask, Some(by)));
    let untold = session.undelivered().filter(|(_, ask)| ask.delivery == Some(Delivery::Accepted));
    let dropped = untold.map(|(id, ask)| delivery(id, ask, Delivery::NOWHERE));
    closed.chain(dropped).collect()
}
