//! Asks are taken back: by the agent, by an interrupt, or because their turn or session is over.

use holdstead_protocol::{AgentState, Closing, Delivery, Done, EventBody, InteractionId, StopReason};

use super::ask;
use crate::telling::{closed, delivery};
use crate::{Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    pub scope: CancelScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelScope {
    Ask(InteractionId),
    /// Everything that belongs to the turn: its open asks, and answers that were not written to the agent yet.
    Turn,
}

pub(crate) fn decide(session: &Session, command: &Cancel) -> Result<Vec<EventBody>, Rejection> {
    match command.scope {
        CancelScope::Ask(id) => {
            let ask = ask(session, id)?;
            Ok(if ask.is_live() { vec![closed(id, ask, Closing::Cancelled, None)] } else { Vec::new() })
        }
        CancelScope::Turn => Ok(turn(session)),
    }
}

/// An agent that lives ends its turn itself when it is stopped. Without a process the turn ends here: nobody is left
/// to do it.
fn turn(session: &Session) -> Vec<EventBody> {
    let mut events = all(session);
    if let (Some(turn_id), None) = (session.turn, session.alive)
        && session.agent != AgentState::Ended
    {
        events.push(EventBody::Done(Done { turn_id, reason: StopReason::Interrupted, usage: None }));
    }
    events
}

/// The same for a session that ends: what was being written to its agent is nobody's to confirm any more.
pub(super) fn all_for_good(session: &Session) -> Vec<EventBody> {
    let mut events = all(session);
    events.extend(session.undelivered.iter().filter_map(|id| unknown(*id, session.asks.get(id)?)));
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
pub(super) fn all(session: &Session) -> Vec<EventBody> {
    let live = session.live.iter().filter_map(|id| Some((*id, session.asks.get(id)?)));
    let closed = live.map(|(id, ask)| closed(id, ask, Closing::Cancelled, None));
    let dropped = session.undelivered.iter().filter_map(|id| {
        let ask = session.asks.get(id)?;
        (ask.delivery == Some(Delivery::Accepted))
            .then(|| delivery(*id, ask, Delivery::Undeliverable { moved_to: None }))
    });
    closed.chain(dropped).collect()
}
