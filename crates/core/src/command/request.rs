//! Somebody needs a person.

use holdstead_protocol::{
    AskState, CallSource, Decider, Delivery, EventBody, Grant, GrantRevoked, InteractionId,
    InteractionRequest, InteractionResponse, MessageId, Origin, PromptId, Response, RevokedWhy, Scope,
    Settlement, Timestamp, ToolCallId, TurnId,
};

use super::based::{Rules, not_stopped};
use super::still_open;
use crate::policy::ExactCall;
use crate::telling::delivery;
use crate::{Ask, AskSpec, Quota, Rejection, Session, asked, digest, policy, secret, shape};

/// An ask to be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub request: InteractionRequest,
    /// The owner's always-grants. The session's own are in its state. They count only in a [`super::based::Based`] command.
    pub owner_grants: Vec<Grant>,
    /// A rule, by name, that allows this without a person. It counts only in a [`super::based::Based`] command.
    pub allowed_by: Option<String>,
    /// What may wait for a person in this session.
    pub quota: Quota,
}

pub(crate) fn decide(
    session: &Session,
    command: &Request,
    rules: Rules,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let request = &command.request;
    // Also when the session has ended: who asks again after a restart wants to know what became of it.
    if let Some(ask) = session.asks.get(&request.interaction_id) {
        return asked_before(ask, request);
    }
    still_open(&session.head)?;
    // The agent is about to end its turn: its call does not run, and a person is not asked about it.
    if request.origin == Origin::Agent {
        not_stopped(&session.head)?;
    }
    if let Some(why) = flaw(request) {
        return Err(Rejection::BadAsk { why });
    }
    let mut request = request.clone();
    request.attempt = 1;
    secret::not_shown_again(&mut request);
    let source = session.head.source_of(&request);
    policy::reach::limit(&mut request, &source)?;
    let id = request.interaction_id;
    if !request.body.is_approval() {
        room(session, &request, command.quota)?;
        return Ok(vec![EventBody::InteractionRequest(Box::new(request))]);
    }
    request.may_have_run = session.head.may_have_run.covers(&request.input_digest);

    // Who allows it without asking: first an answer to the very same call that never reached the agent, then a
    // grant, then a rule. A call that may have run already always goes to a person.
    if !request.may_have_run {
        let settled_by = |decider| {
            let call = request.tool_call_id.clone();
            settled_by(id, request.prompt_id, call, (request.turn_id, request.response_id), decider)
        };
        if let Some((earlier, ask)) = identical(session, &request, &source) {
            let settled = settled_by(Decider::Earlier { interaction_id: earlier });
            let moved =
                delivery(earlier, ask, Delivery::Undeliverable { moved_to: Some(id), in_terminal: None });
            return Ok(vec![EventBody::InteractionRequest(Box::new(request)), settled, moved]);
        }
        let grants = &session.head.grants;
        if !command.owner_grants.is_empty() || command.allowed_by.is_some() {
            rules.check()?;
        }
        let call = ExactCall {
            source: &source,
            tool_name: &request.tool_name,
            input: &request.input_digest,
            is_marked: !request.marks.is_empty(),
        };
        if let Some(grant) = policy::covering(grants, &command.owner_grants, &call, now) {
            not_stopped(&session.head)?;
            let settled = settled_by(Decider::Grant { grant_id: grant.grant_id });
            let mut events = vec![EventBody::InteractionRequest(Box::new(request)), settled];
            if grant.scope == Scope::Once {
                events.push(EventBody::GrantRevoked(GrantRevoked {
                    grant_id: grant.grant_id,
                    why: RevokedWhy::Used { interaction_id: id },
                }));
            }
            return Ok(events);
        }
        if let Some(name) = &command.allowed_by {
            not_stopped(&session.head)?;
            let settled = settled_by(Decider::Rule { name: name.clone() });
            return Ok(vec![EventBody::InteractionRequest(Box::new(request)), settled]);
        }
    }
    room(session, &request, command.quota)?;
    Ok(vec![EventBody::InteractionRequest(Box::new(request))])
}

/// Whether one more may wait for a person.
fn room(session: &Session, request: &InteractionRequest, quota: Quota) -> Result<(), Rejection> {
    let open = session.head.live;
    if open >= quota.asks {
        return Err(Rejection::TooManyOpen { open });
    }
    let bytes = session.head.live_bytes + shape::bytes(request);
    if bytes > quota.bytes {
        return Err(Rejection::TooMuchOpen { open, bytes, limit: quota.bytes });
    }
    Ok(())
}

/// Asking the same thing again is no new ask; asking another thing under the same id is refused.
fn asked_before(ask: &Ask, request: &InteractionRequest) -> Result<Vec<EventBody>, Rejection> {
    let same = ask.spec.is_of_kind(&request.body) && ask.asked == asked(&request.input, &request.body);
    if same && ask.tool_name == request.tool_name { Ok(Vec::new()) } else { Err(Rejection::AskChanged) }
}

/// An approval of the same tool and input whose asking process died before it was written. One with edited input is
/// left out: it answered another call.
fn identical<'a>(
    session: &'a Session,
    request: &InteractionRequest,
    source: &CallSource,
) -> Option<(InteractionId, &'a Ask)> {
    session.undelivered().find(|(_, ask)| {
        ask.delivery == Some(Delivery::Accepted)
            && ask.state == AskState::Settled { settlement: Settlement::Approved }
            && ask.asked_in != session.head.alive
            && !ask.edited
            && ask.origin == request.origin
            // Somebody may have refused it in the terminal since.
            && ask.origin == Origin::Agent
            && ask.source == *source
            && ask.tool_name == request.tool_name
            && ask.input_digest == request.input_digest
    })
}

/// Approved once, by something that is no person.
pub(super) fn settled_by(
    interaction_id: InteractionId,
    prompt_id: PromptId,
    tool_call_id: Option<ToolCallId>,
    (turn_id, response_id): (Option<TurnId>, Option<MessageId>),
    decider: Decider,
) -> EventBody {
    EventBody::InteractionResponse(Box::new(InteractionResponse {
        interaction_id,
        prompt_id,
        tool_call_id,
        turn_id,
        response_id,
        decider,
        response: Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None },
        idempotency_key: None,
        body_digest: None,
        settlement: Some(Settlement::Approved),
        gives: None,
    }))
}

/// Why this cannot be shown to a person, if it cannot.
pub(super) fn flaw(request: &InteractionRequest) -> Option<String> {
    if request.tool_name.trim().is_empty() {
        return Some("it does not say which tool asks".to_owned());
    }
    if digest(&request.input) != request.input_digest {
        return Some("its digest is not that of its input".to_owned());
    }
    AskSpec::of(&request.body).flaw(&request.input)
}
