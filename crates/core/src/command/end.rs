//! The session ends: its asks are cancelled, and nothing more is written to its agent.

use holdstead_protocol::{AgentState, EventBody, SessionStatus};

use super::cancel;
use super::resume::status;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, name: &str) -> Result<Vec<EventBody>, Rejection> {
    match session.head.agent {
        AgentState::Ended => Ok(Vec::new()),
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => {
            let mut events = cancel::all_for_good(session, name);
            let ended = SessionStatus { by: Some(name.to_owned()), ..status(AgentState::Ended) };
            events.push(EventBody::SessionStatus(ended));
            Ok(events)
        }
    }
}
