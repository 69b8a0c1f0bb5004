//! The agent that called a tool went away before it had the answer: it is told in words, as a message.

use holdstead_protocol::{Decider, EventBody, InteractionId, LateAnswer, MessageId, Response, TurnId};
use serde_json::Value;

use super::{ask, still_open};
use crate::{Rejection, ResponseRecord, Session};

#[derive(Debug, Clone, PartialEq)]
pub struct Retell {
    pub interaction_id: InteractionId,
    /// What the person said.
    pub response: Response,
    /// What the tool made of it, unless it failed.
    pub result: Option<Value>,
    pub turn_id: TurnId,
    pub message_id: MessageId,
}

pub(crate) fn decide(session: &Session, command: &Retell) -> Result<Vec<EventBody>, Rejection> {
    still_open(&session.head)?;
    let ask = ask(session, command.interaction_id)?;
    if !session.head.orphaned_answers().any(|id| id == command.interaction_id) {
        return Ok(Vec::new());
    }
    let Some(ResponseRecord {
        decider: Decider::Person { name, surface, actor },
        key: Some(key),
        body_digest: Some(body_digest),
        ..
    }) = ask.responses.last()
    else {
        return Ok(Vec::new());
    };
    let tool = &ask.tool_name;
    let text = match &command.result {
        Some(result) => format!("Your call of {tool} was cut off before you had its result: {result}"),
        None => format!("Your call of {tool} was cut off, and failed. Make it again if you still need it."),
    };
    Ok(vec![EventBody::LateAnswer(Box::new(LateAnswer {
        interaction_id: command.interaction_id,
        prompt_id: ask.prompt_id,
        tool_call_id: ask.tool_call_id.clone(),
        name: name.clone(),
        surface: *surface,
        actor: *actor,
        response: command.response.clone(),
        idempotency_key: key.clone(),
        body_digest: body_digest.clone(),
        turn_id: command.turn_id,
        message_id: command.message_id,
        text,
    }))])
}
