//! The short forms: answer by tool call, in the short vocabulary.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event as Frame;
use axum::response::{IntoResponse, Response};
use holdstead_gateway::{EventStream, GatewayError, Person};
use holdstead_protocol::api::{Respond, ShortAnswers, ShortApproval, ShortDenial};
use holdstead_protocol::{AskBody, Event, EventBody, Problem, ResponseDraft, SessionId};
use serde_json::{Value, json};

use super::events::{Cursor, event_frame, read};
use crate::App;
use crate::auth::{Answerer, Reader};
use crate::body::{Asked, Sent};
use crate::problem::ApiError;
use crate::sse;

/// What a short form is for: it decides which asks it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Approval,
    Question,
}

impl Wanted {
    const fn fits(self, body: &AskBody) -> bool {
        match self {
            Self::Approval => body.is_approval(),
            Self::Question => !body.is_approval(),
        }
    }

    const fn missing(self) -> &'static str {
        match self {
            Self::Approval => "toolCallId is required",
            Self::Question => "toolCallId and answers are required",
        }
    }

    const fn none_pending(self) -> &'static str {
        match self {
            Self::Approval => "No pending approval",
            Self::Question => "No pending question",
        }
    }
}

fn short_error(status: StatusCode, words: &str) -> Response {
    (status, Json(json!({ "error": words }))).into_response()
}

/// Approve a tool call as it was shown.
#[utoipa::path(post, operation_id = "short_approve", path = "/api/sessions/{id}/approve", tag = "short", params(("id" = SessionId, Path)),
    request_body = ShortApproval, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = Problem)))]
pub(super) async fn approve(
    State(app): State<App>,
    Answerer(person): Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortApproval>, ApiError>,
) -> Response {
    let approve = ResponseDraft::Approve { scope: None, edited_input: None };
    let given = body.map(|Sent(body)| body.tool_call_id.map(|call| (call, approve)));
    answer(&app, &person, id, Wanted::Approval, given).await
}

/// Deny a tool call.
#[utoipa::path(post, operation_id = "short_deny", path = "/api/sessions/{id}/deny", tag = "short", params(("id" = SessionId, Path)),
    request_body = ShortDenial, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = Problem)))]
pub(super) async fn deny(
    State(app): State<App>,
    Answerer(person): Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortDenial>, ApiError>,
) -> Response {
    let given = body.map(|Sent(ShortDenial { tool_call_id, reason })| {
        tool_call_id.map(|call| (call, ResponseDraft::Deny { reason }))
    });
    answer(&app, &person, id, Wanted::Approval, given).await
}

/// Answer the questions of a tool call.
#[utoipa::path(post, operation_id = "short_submit_answers", path = "/api/sessions/{id}/submit-answers", tag = "short", params(("id" = SessionId, Path)),
    request_body = ShortAnswers, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = Problem)))]
pub(super) async fn submit_answers(
    State(app): State<App>,
    Answerer(person): Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortAnswers>, ApiError>,
) -> Response {
    let given = body.map(|Sent(ShortAnswers { tool_call_id, answers })| {
        let (call, answers) = tool_call_id.zip(answers)?;
        Some((call, ResponseDraft::Submit { answers: Some(answers.clone()), input: Some(answers) }))
    });
    answer(&app, &person, id, Wanted::Question, given).await
}

async fn answer(
    app: &App,
    person: &Person,
    id: Result<Path<SessionId>, PathRejection>,
    wanted: Wanted,
    given: Result<Option<(String, ResponseDraft)>, ApiError>,
) -> Response {
    let (tool_call_id, response) = match given {
        Ok(Some(given)) => given,
        Ok(None) => return short_error(StatusCode::BAD_REQUEST, wanted.missing()),
        Err(error) => return short_error(error.status(), &error.words()),
    };
    let Ok(Path(session)) = id else { return short_error(StatusCode::NOT_FOUND, wanted.none_pending()) };
    let ask = match app.gateway.open_ask_of_call(&person.owner, session, &tool_call_id).await {
        Ok(ask) if wanted.fits(&ask.request.body) => ask,
        Ok(_) | Err(GatewayError::NoAsk | GatewayError::NoSession) => {
            return short_error(StatusCode::NOT_FOUND, wanted.none_pending());
        }
        Err(error) => return ApiError::from(error).into_response(),
    };
    let body = Respond {
        prompt_id: ask.request.prompt_id,
        idempotency_key: uuid::Uuid::new_v4().to_string(),
        response,
    };
    match app.gateway.respond(person, ask.request.interaction_id, body).await {
        Ok(_) => Json(json!({ "ok": true })).into_response(),
        Err(error) => {
            let error = ApiError::from(error);
            match error.status() {
                // Somebody was faster: there is nothing pending any more.
                StatusCode::CONFLICT | StatusCode::GONE => {
                    short_error(StatusCode::NOT_FOUND, wanted.none_pending())
                }
                _ => error.into_response(),
            }
        }
    }
}

/// A session's events in the short vocabulary.
#[utoipa::path(get, operation_id = "short_events", path = "/api/sessions/{id}/events", tag = "short", params(("id" = SessionId, Path), Cursor),
    responses((status = 200, content_type = "text/event-stream", body = Event), (status = "default", body = Problem)))]
pub(super) async fn events(
    State(app): State<App>,
    reader: Reader,
    id: Result<Path<SessionId>, PathRejection>,
    query: Result<Asked<Cursor>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (Path(id), Asked(cursor)) = (id?, query?);
    let events = app.gateway.stream(reader.owner_for(id)?, id, cursor.place(&headers)).await?;
    Ok(sse::stream(events, app.gateway.shutdown_token(), next_short).into_response())
}

async fn next_short(mut events: EventStream) -> Option<(Frame, EventStream)> {
    let event = read(&mut events).await?;
    let frame = match short_ask(&event) {
        Some((name, data)) => event_frame(&event, name, &json!({ "type": name, "data": data })),
        None => event_frame(&event, event.body.event_type().as_str(), &event),
    };
    Some((frame, events))
}

/// An ask in the short vocabulary, if it has a word for it.
fn short_ask(event: &Event) -> Option<(&'static str, Value)> {
    let EventBody::InteractionRequest(request) = &event.body else { return None };
    let tool_call_id = request.tool_call_id.as_ref()?;
    if let AskBody::Question { questions } = &request.body {
        let data = json!({ "toolCallId": tool_call_id, "questions": questions });
        return Some(("question_prompt", data));
    }
    let data = json!({
        "toolCallId": tool_call_id,
        "toolName": request.tool_name,
        "input": request.input.to_string(),
    });
    request.body.is_approval().then_some(("approval_required", data))
}
