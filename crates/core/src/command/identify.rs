//! The agent told us its own name for the conversation: with it, it can be resumed.

use holdstead_protocol::{EventBody, Incarnation, SessionStatus};

use super::{resume::status, still_open};
use crate::{Head, Rejection};

pub(crate) fn decide(
    head: &Head,
    incarnation: Incarnation,
    agent_ref: &str,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    if head.agent_ref.as_deref() == Some(agent_ref) && !head.forgotten {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::SessionStatus(SessionStatus {
        agent_ref: Some(agent_ref.to_owned()),
        ..status(head.agent)
    })])
}
