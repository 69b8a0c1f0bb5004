//! The agent does not know its conversation any more: its next process begins another one.

use holdstead_protocol::{EventBody, Incarnation, SessionStatus};

use super::resume::status;
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, incarnation: Incarnation) -> Result<Vec<EventBody>, Rejection> {
    if head.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    if head.forgotten {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::SessionStatus(SessionStatus { forgotten: true, ..status(head.agent) })])
}
