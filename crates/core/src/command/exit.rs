//! A process is gone. What was being written to it when it died is unknown from now on.

use holdstead_protocol::{
    AgentState, Delivery, EventBody, Incarnation, ProcessChange, SessionError, SessionStatus, StopReason,
};

use super::cancel::{done, unknown};
use super::queue::{Over, left_by};
use super::resume::status;
use crate::{Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub incarnation: Incarnation,
    /// It went because it was told to park.
    pub parked: bool,
    /// What is known about why it went.
    pub message: Option<String>,
    /// How its turn ends if nothing is left that another life could be told. Left out: it does not end.
    pub turn_end: Option<TurnEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    pub reason: StopReason,
    /// What the person is told about it.
    pub words: Option<String>,
}

pub(crate) fn decide(session: &Session, command: &Exit) -> Result<Vec<EventBody>, Rejection> {
    if session.head.alive != Some(command.incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    let unknown = session.undelivered().filter_map(|(id, ask)| unknown(id, ask));
    let agent = match session.head.agent {
        AgentState::Parking if command.parked => AgentState::Parked,
        AgentState::Ended => AgentState::Ended,
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => match (session.head.turn, session.head.resumes_at_call) {
            (Some(_), true) => AgentState::Parked,
            (Some(_), false) => AgentState::Detached,
            (None, _) => AgentState::Idle,
        },
    };
    let ended = ProcessChange::Ended { incarnation: command.incarnation };
    let gone = SessionStatus { message: command.message.clone(), ..status(agent) }.with_process(ended);
    let turn_end = end_of_turn(session, command, agent);
    let mut over = vec![Over::Life(command.incarnation)];
    over.extend(session.head.turn.filter(|_| !turn_end.is_empty()).map(Over::Turn));
    let left = left_by(session, &over);
    Ok(left.into_iter().chain(unknown).chain([EventBody::SessionStatus(gone)]).chain(turn_end).collect())
}

/// A turn in which nothing is open ends with its process: nobody can say what it was doing. Both are one append, so
/// that a gateway that dies in between does not leave a turn that nobody ends.
fn end_of_turn(session: &Session, command: &Exit, agent: AgentState) -> Vec<EventBody> {
    let (Some(turn_id), Some(end)) = (session.head.turn, &command.turn_end) else { return Vec::new() };
    // Only that the gateway listens to it no more is known: its turn goes on in the terminal.
    if session.head.in_terminal {
        return Vec::new();
    }
    let answered = session.undelivered().any(|(_, ask)| {
        ask.origin.is_agent() && (ask.delivery == Some(Delivery::Accepted) || !ask.is_approval())
    });
    // What it was parked at closed meanwhile: it comes back to be told.
    let resumes_at_call = agent == AgentState::Parked && end.reason == StopReason::Failed;
    if agent == AgentState::Ended || session.head.blocking > 0 || answered || resumes_at_call {
        return Vec::new();
    }
    let words = end.words.clone();
    let error = words.map(|message| EventBody::Error(SessionError { turn_id: Some(turn_id), message }));
    let done = done(turn_id, end.reason, session.head.stopped_by.clone(), None);
    error.into_iter().chain([done]).collect()
}
