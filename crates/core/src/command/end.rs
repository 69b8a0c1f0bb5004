//! The session ends: its asks are cancelled, and nothing more is written to its agent.

use holdstead_protocol::{AgentState, EventBody, ProcessChange, SessionStatus};

use super::cancel;
use super::resume::status;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, name: &str) -> Result<Vec<EventBody>, Rejection> {
    Ok(if has_ended(session) { Vec::new() } else { ended(session, name, status(AgentState::Ended)) })
}

/// Nobody can see any more whether a process lives there: for the journal it is gone.
pub(crate) fn remove(session: &Session, by: &str, machine: &str) -> Result<Vec<EventBody>, Rejection> {
    if has_ended(session) && session.head.alive.is_none() {
        return Ok(Vec::new());
    }
    let message = Some(format!("Its machine `{machine}` was removed."));
    let status = SessionStatus { message, ..status(AgentState::Ended) };
    Ok(match session.head.alive {
        Some(incarnation) => ended(session, by, status.with_process(ProcessChange::Ended { incarnation })),
        None => ended(session, by, status),
    })
}

fn has_ended(session: &Session) -> bool {
    match session.head.agent {
        AgentState::Ended => true,
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => false,
    }
}

fn ended(session: &Session, name: &str, status: SessionStatus) -> Vec<EventBody> {
    let mut events = cancel::all_for_good(session, name);
    events.push(EventBody::SessionStatus(SessionStatus { by: Some(name.to_owned()), ..status }));
    events
}
