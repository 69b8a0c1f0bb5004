//! A session's events in the short vocabulary.
//!
//! An ask of a tool call is told by that call, in three words: `question_prompt` or `approval_required`, then
//! `interaction_end`. Whoever reads this never learns the ids of such an ask, so no event brings them up; and an ask that
//! a rule or a grant decided is none of theirs.

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use holdstead_gateway::{EventStream, Gateway, Watch, Watching};
use holdstead_protocol::api::{Interaction, ShortError};
use holdstead_protocol::{AskBody, AskChange, Decider, Event, EventBody, OwnerId, SessionId};
use serde_json::{Value, json};

use super::events::{Cursor, read, shared_frame};
use super::presence::watching;
use crate::App;
use crate::auth::Reader;
use crate::body::Asked;
use crate::problem::ApiError;
use crate::sse;

/// Of an ask, and of how it was answered: nothing here can be found by them.
const IDS: [&str; 6] =
    ["interactionId", "promptId", "idempotencyKey", "bodyDigest", "earlierInteractionId", "movedTo"];

/// A session's events in the short vocabulary.
#[utoipa::path(get, operation_id = "short_events", path = "/api/sessions/{id}/events", tag = "short",
    security(("bearer" = ["person", "viewer", "agent", "runner", "admin"])),
    params(("id" = SessionId, Path), Cursor),
    responses((status = 200, content_type = "text/event-stream", body = Event, description = "`question_prompt` and \
        `approval_required` for asks of tool calls that wait for a person, one `interaction_end` with its `outcome` for \
        each of them; the rest as in the journal"), (status = "default", body = ShortError)))]
pub(super) async fn events(
    State(app): State<App>,
    reader: Reader,
    id: Result<Path<SessionId>, PathRejection>,
    query: Result<Asked<Cursor>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (Path(id), Asked(cursor)) = (id?, query?);
    let owner = reader.owner_for(id)?.clone();
    let events = app.gateway.stream(&owner, id, cursor.place(&headers)).await?;
    let watching = watching(&app, &reader, &cursor, Watch::Session(id));
    let shutdown = app.gateway.serving_token();
    let tail = Tail { gateway: app.gateway, owner, events, _watching: watching };
    Ok(sse::stream(tail, shutdown, reader.0.lease.clone(), next))
}

struct Tail {
    gateway: Gateway,
    owner: OwnerId,
    events: EventStream,
    _watching: Watching,
}

async fn next(mut tail: Tail) -> Option<(Bytes, Tail)> {
    loop {
        let shared = read(&mut tail.events).await?;
        let event = &shared.event;
        let ask = match event.body.ask() {
            Some(id) => match tail.gateway.ask_now(&tail.owner, id).await {
                Ok(ask) => ask,
                Err(error) => {
                    tracing::error!(%error, "a stream ended");
                    return None;
                }
            },
            None => None,
        };
        match ask.map_or(Told::AsItIs, |ask| told(&event.body, &ask)) {
            Told::AsItIs => {
                return Some((shared_frame(&shared), tail));
            }
            Told::As(name, data) => {
                let frame = sse::placed(event.seq, name, &json!({ "type": name, "data": data }));
                return Some((frame, tail));
            }
            Told::Not => {}
        }
    }
}

/// How an event about an ask is told.
#[derive(Debug, PartialEq)]
enum Told {
    AsItIs,
    As(&'static str, Value),
    Not,
}

fn told(event: &EventBody, ask: &Interaction) -> Told {
    let Some(call) = &ask.request.tool_call_id else { return Told::AsItIs };
    // The short vocabulary has no word for other kinds.
    if !ask.request.body.is_approval() && !matches!(ask.request.body, AskBody::Question { .. }) {
        return Told::AsItIs;
    }
    match ask.response.as_ref().map(|response| &response.decider) {
        Some(Decider::Grant { .. } | Decider::Rule { .. } | Decider::Earlier { .. }) => return Told::Not,
        Some(Decider::Person { .. }) | None => {}
    }
    if let EventBody::InteractionRequest(request) = event {
        if let AskBody::Question { questions } = &request.body {
            return Told::As("question_prompt", json!({ "toolCallId": call, "questions": questions }));
        }
        let input = request.input.to_string();
        let data = json!({ "toolCallId": call, "toolName": request.tool_name, "input": input });
        return Told::As("approval_required", data);
    }
    let mut data = serde_json::to_value(event).unwrap_or_default()["data"].take();
    if let Value::Object(data) = &mut data {
        data.retain(|key, _| !IDS.contains(&key.as_str()));
        data.insert("toolCallId".to_owned(), json!(call));
        if let Some(turn) = ask.request.turn_id {
            data.entry("turnId").or_insert(json!(turn));
        }
    }
    match outcome(event) {
        Some(outcome) => {
            data["outcome"] = outcome;
            Told::As("interaction_end", data)
        }
        None => Told::As(event.event_type().as_str(), data),
    }
}

/// What became of the ask, if this event is its end.
fn outcome(event: &EventBody) -> Option<Value> {
    match event {
        EventBody::InteractionResponse(response) => response.settlement.map(|how| json!(how)),
        EventBody::InteractionUpdate(update) => match &update.change {
            AskChange::Settled { settlement, .. } => Some(json!(settlement)),
            AskChange::Queued { .. }
            | AskChange::Delivery { .. }
            | AskChange::RanOtherThanApproved { .. }
            | AskChange::InTerminal { .. }
            | AskChange::RuleSaved { .. } => None,
        },
        EventBody::InteractionClosed(closed) => Some(json!(closed.closing)),
        EventBody::SessionOpened(_)
        | EventBody::UserMessage(_)
        | EventBody::TextDelta(_)
        | EventBody::ThinkingDelta(_)
        | EventBody::ToolCallStart(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolCallEnd(_)
        | EventBody::ToolResult(_)
        | EventBody::InteractionRequest(_)
        | EventBody::LateAnswer(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
        | EventBody::TrustAdded(_)
        | EventBody::TrustRevoked(_)
        | EventBody::RulesFileChanged(_)
        | EventBody::VariablesSet(_)
        | EventBody::SessionArchived(_)
        | EventBody::SessionUnarchived(_)
        | EventBody::InteractionSnoozed(_)
        | EventBody::InteractionUnsnoozed(_)
        | EventBody::SessionInitialised(_)
        | EventBody::TurnEndBlocked(_)
        | EventBody::SessionStatus(_)
        | EventBody::Error(_)
        | EventBody::Done(_) => None,
    }
}
