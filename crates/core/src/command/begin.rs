//! The agent is given the next message: its turn begins. With the first one the session is initialised.

use holdstead_protocol::{
    AgentState, ContextSaid, EventBody, RuleText, SessionInitialised, SessionStatus, TurnId, Variables,
};

use super::still_open;
use crate::{Head, Rejection};

/// What a session starts with, as its rules are now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Start {
    pub defaults: Variables,
    pub context: Vec<ContextSaid>,
    /// Rules about the turn's end that this agent cannot be held to.
    pub not_kept: Vec<RuleText>,
}

pub(crate) fn decide(head: &Head, turn_id: TurnId, start: &Start) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.pending.first().map(|next| next.turn_id) != Some(turn_id) || head.turn.is_some() {
        return Err(Rejection::NoSuchTurn);
    }
    if head.alive.is_none() {
        return Err(Rejection::WrongAgentState { agent: head.agent });
    }
    let Start { defaults, context, not_kept } = start.clone();
    let initialised = (!head.initialised).then_some(EventBody::SessionInitialised(SessionInitialised {
        turn_id,
        defaults,
        context,
        not_kept,
    }));
    let begun = EventBody::SessionStatus(SessionStatus {
        turn_id: Some(turn_id),
        ..super::resume::status(AgentState::Running)
    });
    Ok(initialised.into_iter().chain([begun]).collect())
}
