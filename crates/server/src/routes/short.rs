//! The short forms: answer by tool call.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use holdstead_gateway::GatewayError;
use holdstead_protocol::api::{Respond, ShortAnswers, ShortApproval, ShortDenial, ShortError};
use holdstead_protocol::{AskBody, FieldErrors, Refusal, ResponseDraft, SessionId};
use serde_json::json;

use crate::App;
use crate::auth::Answerer;
use crate::body::Sent;
use crate::problem::ApiError;

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

/// Where the short forms and the short stream are.
const PLACE: &str = "/api/";

pub(crate) fn is_short(uri: &Uri) -> bool {
    uri.path().starts_with(PLACE)
}

/// Whatever refuses a short form, wherever that happens, it does so in one shape.
pub(crate) fn with_short_error(mut response: Response) -> Response {
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        let body = ShortError { error: refusal.detail, field_errors: refusal.field_errors };
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = Json(body).into_response().into_body();
    }
    response
}

fn short_error(status: StatusCode, words: &str) -> Response {
    (status, Json(ShortError { error: words.to_owned(), field_errors: FieldErrors::new() })).into_response()
}

/// Approve a tool call as it was shown.
#[utoipa::path(post, operation_id = "short_approve", path = "/api/sessions/{id}/approve", tag = "short",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    request_body = ShortApproval, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = ShortError)))]
pub(super) async fn approve(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortApproval>, ApiError>,
) -> Response {
    let approve = ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };
    let given = body.map(|Sent(body)| body.tool_call_id.map(|call| (call, approve)));
    answer(&app, &answerer, id, Wanted::Approval, given).await
}

/// Deny a tool call.
#[utoipa::path(post, operation_id = "short_deny", path = "/api/sessions/{id}/deny", tag = "short",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    request_body = ShortDenial, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = ShortError)))]
pub(super) async fn deny(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortDenial>, ApiError>,
) -> Response {
    let given = body.map(|Sent(ShortDenial { tool_call_id, reason })| {
        tool_call_id.map(|call| (call, ResponseDraft::Deny { reason }))
    });
    answer(&app, &answerer, id, Wanted::Approval, given).await
}

/// Answer the questions of a tool call.
#[utoipa::path(post, operation_id = "short_submit_answers", path = "/api/sessions/{id}/submit-answers", tag = "short",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    request_body = ShortAnswers, responses((status = 200), (status = 400), (status = 404), (status = 422),
        (status = "default", body = ShortError)))]
pub(super) async fn submit_answers(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<ShortAnswers>, ApiError>,
) -> Response {
    let given = body.map(|Sent(ShortAnswers { tool_call_id, answers })| {
        let (call, answers) = tool_call_id.zip(answers)?;
        Some((call, ResponseDraft::Submit { answers: Some(answers.clone()), input: Some(answers) }))
    });
    answer(&app, &answerer, id, Wanted::Question, given).await
}

async fn answer(
    app: &App,
    answerer: &Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    wanted: Wanted,
    given: Result<Option<(String, ResponseDraft)>, ApiError>,
) -> Response {
    let (tool_call_id, response) = match given {
        Ok(Some(given)) => given,
        Ok(None) => return short_error(StatusCode::BAD_REQUEST, wanted.missing()),
        Err(error) => return error.into_response(),
    };
    let Ok(Path(session)) = id else { return short_error(StatusCode::NOT_FOUND, wanted.none_pending()) };
    let person = match answerer.now() {
        Ok(person) => person,
        Err(error) => return error.into_response(),
    };
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
