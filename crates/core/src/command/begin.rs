//! The agent is given the next message: its turn begins.

use holdstead_protocol::{AgentState, EventBody, SessionStatus, TurnId};

use super::still_open;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, turn_id: TurnId) -> Result<Vec<EventBody>, Rejection> {
    still_open(session)?;
    if session.pending.first().map(|next| next.turn_id) != Some(turn_id) || session.turn.is_some() {
        return Err(Rejection::NoSuchTurn);
    }
    if session.alive.is_none() {
        return Err(Rejection::WrongAgentState { agent: session.agent });
    }
    Ok(vec![EventBody::SessionStatus(SessionStatus {
        turn_id: Some(turn_id),
        ..super::resume::status(AgentState::Running)
    })])
}
