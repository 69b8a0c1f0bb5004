//! A process was started, after the journal said that it would be.

use holdstead_protocol::{
    AgentBox, AgentState, EventBody, Incarnation, LeftOut, ProcessChange, SessionStatus,
};

use crate::{Head, Rejection};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The life that was started.
    pub incarnation: Incarnation,
    pub pid: u32,
    /// What of its folder's own files it was started without.
    pub left_out: Option<LeftOut>,
    pub boxed: AgentBox,
}

pub(crate) fn decide(head: &Head, command: &Resume) -> Result<Vec<EventBody>, Rejection> {
    // Also if the session ended meanwhile: the process is there, and has to be seen to go.
    if head.alive != Some(command.incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match head.pid {
        None => {}
        Some(pid) if pid == command.pid => return Ok(Vec::new()),
        Some(_) => return Err(Rejection::AlreadyAlive),
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
        _ if head.agent == AgentState::Ended => AgentState::Ended,
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
        starting: false,
        forgotten: false,
        pid: None,
        message: None,
        by: None,
        left_out: None,
        boxed: None,
    }
}
