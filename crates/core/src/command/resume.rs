//! A process was started: the first one, or one that goes on where another stopped.

use holdstead_protocol::{
    AgentBox, AgentState, EventBody, Incarnation, LeftOut, ProcessChange, SessionStatus,
};

use super::still_open;
use crate::{Head, Rejection};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The number of this life: one more than the last.
    pub incarnation: Incarnation,
    pub pid: u32,
    /// What of its folder's own files it was started without.
    pub left_out: Option<LeftOut>,
    pub boxed: AgentBox,
}

pub(crate) fn decide(head: &Head, command: &Resume) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.alive.is_some() {
        return Err(Rejection::AlreadyAlive);
    }
    if command.incarnation.0 != head.incarnations + 1 {
        return Err(Rejection::StaleIncarnation);
    }
    let began = ProcessChange::Began { incarnation: command.incarnation, pid: command.pid };
    let status = SessionStatus {
        left_out: command.left_out.clone().map(Box::new),
        boxed: Some(command.boxed.clone()),
        ..status(alive_state(head))
    };
    Ok(vec![EventBody::SessionStatus(status.with_process(began))])
}

/// What an agent with a process is doing.
pub(super) fn alive_state(head: &Head) -> AgentState {
    match (head.turn, head.blocking) {
        (None, _) => AgentState::Idle,
        (Some(_), 0) => AgentState::Running,
        (Some(_), 1..) => AgentState::Waiting,
    }
}

/// A bare change of the agent's state.
pub(super) const fn status(agent: AgentState) -> SessionStatus {
    SessionStatus {
        agent,
        turn_id: None,
        incarnation: None,
        agent_ref: None,
        pid: None,
        message: None,
        by: None,
        left_out: None,
        boxed: None,
    }
}
