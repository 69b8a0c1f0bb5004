//! A person puts a session out of the way, or brings it back.

use holdstead_protocol::{AgentState, EventBody, SessionArchived, SessionUnarchived};

use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, archived: &SessionArchived) -> Result<Vec<EventBody>, Rejection> {
    if head.archived.is_some() {
        return Ok(Vec::new());
    }
    if head.live > 0 {
        return Err(Rejection::AsksOpen { open: head.live });
    }
    let at_work = match head.agent {
        AgentState::Ended => false,
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => head.turn.is_some() || !head.pending.is_empty(),
    };
    if at_work {
        return Err(Rejection::AtWork);
    }
    Ok(vec![EventBody::SessionArchived(archived.clone())])
}

pub(crate) fn undo(head: &Head, unarchived: &SessionUnarchived) -> Result<Vec<EventBody>, Rejection> {
    Ok(head.archived.iter().map(|_| EventBody::SessionUnarchived(unarchived.clone())).collect())
}
