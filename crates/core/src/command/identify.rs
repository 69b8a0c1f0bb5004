//! The agent told us its own name for the conversation: with it, it can be resumed.

use holdstead_protocol::{EventBody, Incarnation, SessionStatus};

use super::{resume::status, still_open};
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    incarnation: Incarnation,
    agent_ref: &str,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(session)?;
    if session.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    if session.agent_ref.as_deref() == Some(agent_ref) {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::SessionStatus(SessionStatus {
        agent_ref: Some(agent_ref.to_owned()),
        ..status(session.agent)
    })])
}
