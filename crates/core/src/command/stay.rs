//! The agent was told to go away and would not: it keeps waiting where it is.

use holdstead_protocol::{AgentState, EventBody, Incarnation};

use super::resume::{alive_state, status};
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, incarnation: Incarnation) -> Result<Vec<EventBody>, Rejection> {
    if head.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match head.agent {
        AgentState::Parking => Ok(vec![EventBody::SessionStatus(status(alive_state(head)))]),
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parked
        | AgentState::Detached
        | AgentState::Ended => Ok(Vec::new()),
    }
}
