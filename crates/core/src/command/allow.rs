//! Rules that were saved since allow an ask that waits: nobody has to answer it any more.

use holdstead_protocol::{AskState, Decider, EventBody, InteractionId, PromptId, Timestamp};

use super::based::{Rules, not_stopped};
use super::request::settled_by;
use crate::{Rejection, Session};

/// An ask that waits for a person is settled by rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Allow {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// The rules, word for word.
    pub rules: String,
}

pub(crate) fn decide(
    session: &Session,
    allow: &Allow,
    rules: Rules,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = super::ask(session, allow.interaction_id)?;
    // A person was faster, its time is over, or it is none that rules decide.
    let waits = ask.state == AskState::Open && ask.prompt_id == allow.prompt_id && !ask.is_due(now);
    // What is marked since it was read, or may have run already, stays a person's to decide.
    let is_persons = ask.is_marked || session.head.may_have_run.covers(&ask.input_digest);
    if !waits
        || is_persons
        || !ask.is_approval()
        || ask.has_handler
        || !ask.origin.is_agent()
        || !ask.capabilities.scopes
    {
        return Ok(Vec::new());
    }
    rules.check()?;
    not_stopped(&session.head)?;
    let decider = Decider::Rule { name: allow.rules.clone() };
    Ok(vec![settled_by(
        allow.interaction_id,
        allow.prompt_id,
        ask.tool_call_id.clone(),
        (ask.turn_id, ask.response_id),
        decider,
    )])
}
