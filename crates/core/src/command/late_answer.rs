//! An answer that comes after its ask was queued or expired.
//!
//! It never settles anything: a question's answer goes to the agent as a message that quotes the question, and the
//! approval of a queued call is good for one identical call.

use std::fmt::Write as _;

use holdstead_protocol::{
    AgentState, Answer, Closing, Digest, EventBody, GrantAdded, InteractionId, LateAnswer, Question,
    Response, Timestamp,
};
use serde_json::Value;

use super::respond::{Respond, late_grant, lost};
use crate::telling::closed;
use crate::{Act, Ask, Rejection, Session};

/// So many characters of a call's input are said again.
const MOST_QUOTED: usize = 2_000;

/// The deadline passed, but no timer closed the ask yet: the answer is late all the same.
pub(super) fn after_deadline(
    session: &Session,
    ask: &Ask,
    command: &Respond,
    body_digest: Digest,
) -> Result<Vec<EventBody>, Rejection> {
    let closed = closed(command.interaction_id, ask, Closing::Expired, None);
    match expired(session, ask, command, body_digest) {
        Ok(late) => Ok(std::iter::once(closed).chain(late).collect()),
        // Whoever is told that it is over must be right: an answer that was in time may be on its way into the journal, and
        // this closing then comes too late. A tool may still say what happens.
        Err(Rejection::Dead { closing: Closing::Expired }) if !ask.has_handler => Ok(vec![closed]),
        Err(rejection) => Err(rejection),
    }
}

pub(super) fn expired(
    session: &Session,
    ask: &Ask,
    command: &Respond,
    body_digest: Digest,
) -> Result<Vec<EventBody>, Rejection> {
    match too_late(session, ask, command.interaction_id) {
        Some(why) => Err(why),
        None => Ok(vec![late_answer(ask, command, body_digest)?]),
    }
}

/// Why an ask whose time ran out takes no late answer, if it takes none.
pub(super) fn too_late(session: &Session, ask: &Ask, id: InteractionId) -> Option<Rejection> {
    if ask.late.is_some() {
        return Some(lost(id, ask));
    }
    let over = ask.is_approval() || session.head.agent == AgentState::Ended;
    over.then_some(Rejection::Dead { closing: Closing::Expired })
}

/// Why a queued ask takes no late answer, if it takes none: its session has ended.
pub(super) fn ended(session: &Session) -> Option<Rejection> {
    let ended = session.head.agent == AgentState::Ended;
    ended.then_some(Rejection::Dead { closing: Closing::Cancelled })
}

pub(super) fn queued(
    session: &Session,
    ask: &Ask,
    command: &Respond,
    body_digest: Digest,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    if let Some(why) = ended(session) {
        return Err(why);
    }
    let late = late_answer(ask, command, body_digest)?;
    let closed = closed(command.interaction_id, ask, Closing::AnsweredLate, None);
    let EventBody::LateAnswer(answer) = &late else { return Ok(vec![late, closed]) };
    match answer.response {
        Response::Approve { .. } => {
            let grant = late_grant(ask, command, now);
            Ok(vec![late, EventBody::GrantAdded(GrantAdded { grant }), closed])
        }
        Response::Deny { .. }
        | Response::Answer { .. }
        | Response::Submit { .. }
        | Response::Cancel { .. } => Ok(vec![late, closed]),
    }
}

fn late_answer(ask: &Ask, command: &Respond, body_digest: Digest) -> Result<EventBody, Rejection> {
    let response = ask.check(&command.response)?;
    command.confirmed.check(Act::Answer { is_marked: ask.is_marked, response: &command.response })?;
    match response {
        // It would become a message, and messages are kept.
        Response::Answer { .. } | Response::Submit { .. } if ask.spec.has_secrets() => {
            return Err(Rejection::SecretTooLate);
        }
        Response::Approve { .. }
        | Response::Deny { .. }
        | Response::Answer { .. }
        | Response::Submit { .. }
        | Response::Cancel { .. } => {}
    }
    Ok(EventBody::LateAnswer(Box::new(LateAnswer {
        interaction_id: command.interaction_id,
        prompt_id: ask.prompt_id,
        tool_call_id: ask.tool_call_id.clone(),
        name: command.name.clone(),
        surface: command.surface,
        actor: command.actor,
        text: message(ask, &response, "was queued"),
        response,
        idempotency_key: command.idempotency_key.clone(),
        body_digest,
        turn_id: command.turn_id,
        message_id: command.message_id,
    })))
}

/// The words for an agent whose call was lost with its process. Approving lets it make that call once more. They say which call
/// it was: agents write down what they did a moment later, and one that was killed in between does not know of it.
pub fn told_after_loss(ask: &Ask, input: &Value, response: &Response) -> String {
    let mut input = input.to_string();
    if let Some((most, _)) = input.char_indices().nth(MOST_QUOTED) {
        input.truncate(most);
        input.push('…');
    }
    message(ask, response, &format!("was lost when your process ended, {input},"))
}

/// The words the agent reads.
fn message(ask: &Ask, response: &Response, what: &str) -> String {
    match response {
        Response::Answer { answers } => quote(ask.spec.questions(), answers),
        Response::Submit { input } => {
            format!("Late answer to the form of {}: {}", ask.tool_name, Value::Object(input.clone()))
        }
        Response::Approve { edited_input: None, .. } => format!(
            "The call of {} that {what} is approved. Make the very same call again to run it once.",
            ask.tool_name
        ),
        Response::Approve { edited_input: Some(input), .. } => format!(
            "The call of {} that {what} did not run. The person would approve it with this input: {input}",
            ask.tool_name
        ),
        Response::Deny { reason } => match reason {
            Some(reason) => format!("The call of {} that {what} is denied: {reason}", ask.tool_name),
            None => format!("The call of {} that {what} is denied.", ask.tool_name),
        },
        Response::Cancel { reason } => match reason {
            Some(reason) => format!("The person declined to answer {}: {reason}", ask.tool_name),
            None => format!("The person declined to answer {}.", ask.tool_name),
        },
    }
}

fn quote(questions: &[Question], answers: &[Answer]) -> String {
    let mut text = String::from("Late answer to your question:");
    for answer in answers {
        let words = questions.iter().find(|question| question.id == answer.question_id);
        let words = words.map_or(answer.question_id.as_str(), |question| question.question.as_str());
        let given: Vec<&str> = answer.values().collect();
        // Writing to a String cannot fail.
        let _infallible = write!(text, "\n> {words}\n{}", given.join(", "));
    }
    text
}
