//! The agent is given the next message: its turn begins.

use holdstead_protocol::{AgentState, EventBody, SessionStatus, TurnId};

use super::still_open;
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, turn_id: TurnId) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.pending.first().map(|next| next.turn_id) != Some(turn_id) || head.turn.is_some() {
        return Err(Rejection::NoSuchTurn);
    }
    if head.alive.is_none() {
        return Err(Rejection::WrongAgentState { agent: head.agent });
    }
    Ok(vec![EventBody::SessionStatus(SessionStatus {
        turn_id: Some(turn_id),
        ..super::resume::status(AgentState::Running)
    })])
}
