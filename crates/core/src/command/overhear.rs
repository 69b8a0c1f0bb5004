//! A person wrote something where the agent runs, and its turn has begun with it.

use holdstead_protocol::{AgentState, EventBody, SessionInitialised, SessionStatus, StopReason, UserMessage};

use super::begin::Start;
use super::{finish, still_open};
use crate::{Finish, Rejection, Session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overhear {
    pub message: UserMessage,
    pub start: Start,
}

pub(crate) fn decide(session: &Session, command: &Overhear) -> Result<Vec<EventBody>, Rejection> {
    let head = &session.head;
    still_open(head)?;
    // Somebody else was about to begin one here.
    let over = head.turn.map(|turn_id| {
        let (reason, usage, words) = (StopReason::Interrupted, None, None);
        finish::decide(session, &Finish { turn_id, reason, usage, words })
    });
    let over = over.transpose()?.unwrap_or_default();
    let turn_id = command.message.turn_id;
    // What rules would tell the agent first is not said: it has begun.
    let Start { defaults, not_kept, .. } = command.start.clone();
    let initialised = (!head.initialised).then_some(EventBody::SessionInitialised(SessionInitialised {
        turn_id,
        defaults,
        context: Vec::new(),
        not_kept,
    }));
    let begun = EventBody::SessionStatus(SessionStatus {
        turn_id: Some(turn_id),
        ..super::resume::status(AgentState::Running)
    });
    let said = EventBody::UserMessage(command.message.clone());
    Ok(over.into_iter().chain([said]).chain(initialised).chain([begun]).collect())
}
