//! The agent was told to go away and would not: it keeps waiting where it is.

use holdstead_protocol::{AgentState, EventBody, Incarnation};

use super::resume::{alive_state, status};
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, incarnation: Incarnation) -> Result<Vec<EventBody>, Rejection> {
    if session.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match session.agent {
        AgentState::Parking => Ok(vec![EventBody::SessionStatus(status(alive_state(session)))]),
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parked
        | AgentState::Detached
        | AgentState::Ended => Ok(Vec::new()),
    }
}
