//! A person answers. The first answer to a prompt wins; nothing else ever does.

use holdstead_protocol::{
    Actor, AskState, Closing, Decider, Digest, EventBody, Grant, GrantAdded, GrantId, InteractionId,
    InteractionResponse, MessageId, PromptId, Response, ResponseDraft, Rule, Scope, Settlement, Surface,
    Timestamp, TurnId, Winner,
};

use super::{ask, late_answer};
use crate::state::{Action, ResponseRecord};
use crate::{Act, Ask, Confirmed, Rejection, Session, digest, secret};

/// Whether one answer was sent by itself or with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    Alone,
    WithOthers,
}

/// A person's response.
#[derive(Debug, Clone, PartialEq)]
pub struct Respond {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    pub idempotency_key: String,
    /// Without its secrets: see [`crate::conceal`].
    pub response: ResponseDraft,
    /// Tells two answers apart that differ in their secrets only, and says nothing about them to anybody else.
    pub secrets_mac: Option<String>,
    /// Who, by the token.
    pub name: String,
    pub surface: Surface,
    pub actor: Option<Actor>,
    pub together: Together,
    /// Whether a passkey confirmed it.
    pub confirmed: Confirmed,
    /// For an answer that turns out to be late: the turn and message it becomes.
    pub turn_id: TurnId,
    pub message_id: MessageId,
}

impl Respond {
    /// Of the response as it was sent: the same key with another body is refused.
    pub fn body_digest(&self) -> Digest {
        digest(&match &self.secrets_mac {
            None => serde_json::json!([self.prompt_id, self.response]),
            Some(mac) => serde_json::json!([self.prompt_id, self.response, mac]),
        })
    }
}

pub(crate) fn decide(
    session: &Session,
    command: &Respond,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, command.interaction_id)?;
    let body_digest = command.body_digest();
    if let Some(earlier) = ask.response_with_key(&command.idempotency_key) {
        let same = earlier.body_digest.as_ref() == Some(&body_digest);
        return if same { Ok(Vec::new()) } else { Err(Rejection::KeyReused) };
    }
    // The person saw another prompt, whose words and input may differ. This holds in every state of the ask.
    if command.prompt_id != ask.prompt_id {
        let over = over(session, ask, command.interaction_id, now);
        return Err(over.unwrap_or(Rejection::StalePrompt { current: ask.prompt_id }));
    }
    match (command.together, ask.is_marked) {
        (Together::WithOthers, true) => return Err(Rejection::Marked),
        (Together::Alone, _) | (Together::WithOthers, false) => {}
    }
    match &ask.state {
        AskState::Open if ask.is_due(now) => late_answer::after_deadline(session, ask, command, body_digest),
        AskState::Open => win(ask, command, body_digest, now),
        AskState::Queued => late_answer::queued(session, ask, command, body_digest, now),
        AskState::Closed { closing: Closing::Expired } => {
            late_answer::expired(session, ask, command, body_digest)
        }
        AskState::Submitted { .. } | AskState::Settled { .. } => Err(lost(command.interaction_id, ask)),
        AskState::Closed { closing: Closing::AnsweredLate } => Err(lost(command.interaction_id, ask)),
        AskState::Closed { closing: Closing::Cancelled } => Err(cancelled(ask)),
        AskState::Closed { closing: Closing::Withdrawn } => Err(WITHDRAWN),
    }
}

/// Why the ask takes no response to its current prompt, if it takes none.
fn over(session: &Session, ask: &Ask, id: InteractionId, now: Timestamp) -> Option<Rejection> {
    match &ask.state {
        AskState::Open if !ask.is_due(now) => None,
        AskState::Open | AskState::Closed { closing: Closing::Expired } => {
            late_answer::too_late(session, ask, id)
        }
        AskState::Queued => late_answer::ended(session),
        AskState::Submitted { .. } | AskState::Settled { .. } => Some(lost(id, ask)),
        AskState::Closed { closing: Closing::AnsweredLate } => Some(lost(id, ask)),
        AskState::Closed { closing: Closing::Cancelled } => Some(cancelled(ask)),
        AskState::Closed { closing: Closing::Withdrawn } => Some(WITHDRAWN),
    }
}

const WITHDRAWN: Rejection = Rejection::Dead { closing: Closing::Withdrawn };

pub(super) fn cancelled(ask: &Ask) -> Rejection {
    match (&ask.closed_by, ask.in_terminal) {
        (Some(by), _) => Rejection::Stopped { by: by.clone() },
        (None, Some(how)) => Rejection::AnsweredInTerminal { how },
        (None, None) => Rejection::Dead { closing: Closing::Cancelled },
    }
}

fn win(
    ask: &Ask,
    command: &Respond,
    body_digest: Digest,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let response = ask.check(&command.response)?;
    command.confirmed.check(Act::Answer { is_marked: ask.is_marked, response: &command.response })?;
    if secret::in_the_clear(&ask.spec, &response) {
        return Err(Rejection::SecretInTheClear);
    }
    let grant = given(ask, command, &response, now);
    // A session's own is saved with the answer that gave it. One that reaches further is saved in the owner's journal.
    let (here, gives) = match grant {
        Some(grant) if grant.scope == Scope::Session => (Some(grant), None),
        further => (None, further),
    };
    let here = here.map(|grant| EventBody::GrantAdded(GrantAdded { grant }));
    let won = EventBody::InteractionResponse(Box::new(InteractionResponse {
        interaction_id: command.interaction_id,
        prompt_id: command.prompt_id,
        tool_call_id: ask.tool_call_id.clone(),
        turn_id: ask.turn_id,
        response_id: ask.response_id,
        decider: Decider::Person {
            name: command.name.clone(),
            surface: command.surface,
            actor: command.actor,
        },
        settlement: (!ask.has_handler).then(|| settlement(Action::of(&response))),
        gives,
        response,
        idempotency_key: Some(command.idempotency_key.clone()),
        body_digest: Some(body_digest),
    }));
    Ok(std::iter::once(won).chain(here).collect())
}

/// What an approval with a reach saves: the very rule that was shown with it.
fn given(ask: &Ask, command: &Respond, response: &Response, now: Timestamp) -> Option<Grant> {
    let Response::Approve { scope, lines, .. } = response else { return None };
    match scope {
        Scope::Once => return None,
        Scope::Session | Scope::Hour | Scope::Always => {}
    }
    Some(Grant {
        grant_id: GrantId::from_answer(command.prompt_id),
        rule: ask.spec.saved_rule(*scope, lines)?.clone(),
        scope: *scope,
        given_by: command.name.clone(),
        interaction_id: Some(command.interaction_id),
        given_at: now,
        expires_at: scope.expires_at(now),
    })
}

/// A late approval is good for one call of the very same input.
pub(super) fn late_grant(ask: &Ask, command: &Respond, now: Timestamp) -> Grant {
    Grant {
        grant_id: GrantId::from_answer(command.prompt_id),
        rule: Rule::ExactInput {
            tool_name: ask.tool_name.clone(),
            input_digest: ask.input_digest.clone(),
            source: Some(ask.source.clone()),
        },
        scope: Scope::Once,
        given_by: command.name.clone(),
        interaction_id: Some(command.interaction_id),
        given_at: now,
        expires_at: None,
    }
}

/// What a response settles an ask as.
pub(super) const fn settlement(action: Action) -> Settlement {
    match action {
        Action::Approve => Settlement::Approved,
        Action::Deny => Settlement::Denied,
        Action::Submit => Settlement::Answered,
        Action::Cancel => Settlement::Declined,
    }
}

pub(super) fn lost(id: InteractionId, ask: &Ask) -> Rejection {
    match ask.late.as_ref().or(ask.responses.last()) {
        Some(record) => Rejection::Lost { winner: Box::new(winner(id, record)) },
        // A settled or submitted ask has a response; without one there is nothing left to answer.
        None => Rejection::Dead { closing: Closing::Cancelled },
    }
}

fn winner(id: InteractionId, record: &ResponseRecord) -> Winner {
    Winner {
        interaction_id: id,
        decider: record.decider.clone(),
        action: record.action.as_str().to_owned(),
        at: record.at,
    }
}
