//! A call ran with another input than the one that was approved, or before anybody approved it.

use holdstead_protocol::{AskChange, Digest, EventBody, InteractionId};
use serde_json::Value;

use super::ask;
use crate::telling::update;
use crate::{Rejection, Session, digest};

/// What is larger is kept as its digest alone: an event has a limit.
const LARGEST: usize = 64 * 1024;

/// The input that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct RanOther {
    pub interaction_id: InteractionId,
    pub ran_digest: Digest,
    /// Nothing, if it is too large to be kept.
    pub ran: Option<Value>,
}

impl RanOther {
    pub fn new(interaction_id: InteractionId, input: Value) -> Self {
        let ran_digest = digest(&input);
        let ran = (input.to_string().len() <= LARGEST).then_some(input);
        Self { interaction_id, ran_digest, ran }
    }
}

pub(crate) fn decide(session: &Session, command: &RanOther) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, command.interaction_id)?;
    // The first time is what the mark is for.
    if ask.ran_other_than_approved {
        return Ok(Vec::new());
    }
    let change =
        AskChange::RanOtherThanApproved { ran_digest: command.ran_digest.clone(), ran: command.ran.clone() };
    Ok(vec![update(command.interaction_id, ask, change)])
}
