//! A process is gone. What was being written to it when it died is unknown from now on.

use holdpoint_protocol::{AgentState, Delivery, EventBody, Incarnation, SessionStatus};

use super::cancel::delivery;
use super::resume::status;
use crate::{Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub incarnation: Incarnation,
    /// It went because it was told to park.
    pub parked: bool,
    /// What is known about why it went.
    pub message: Option<String>,
}

pub(crate) fn decide(session: &Session, command: &Exit) -> Result<Vec<EventBody>, Rejection> {
    if session.alive != Some(command.incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    let unknown = session.undelivered.iter().filter_map(|id| {
        let ask = session.asks.get(id)?;
        match ask.delivery.clone()? {
            Delivery::Delivering { incarnation } | Delivery::Delivered { incarnation } => {
                Some(delivery(*id, ask, Delivery::Unknown { incarnation }))
            }
            Delivery::Accepted
            | Delivery::Acknowledged
            | Delivery::Unknown { .. }
            | Delivery::Undeliverable { .. } => None,
        }
    });
    let agent = match session.agent {
        AgentState::Parking if command.parked => AgentState::Parked,
        AgentState::Ended => AgentState::Ended,
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => {
            if session.turn.is_some() {
                AgentState::Detached
            } else {
                AgentState::Idle
            }
        }
    };
    let gone = EventBody::SessionStatus(SessionStatus {
        incarnation: Some(command.incarnation),
        message: command.message.clone(),
        ..status(agent)
    });
    Ok(unknown.chain([gone]).collect())
}
