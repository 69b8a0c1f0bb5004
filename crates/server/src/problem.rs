//! Errors as HTTP answers: problem details (RFC 9457), from one place.
//!
//! Words about our own insides go to the log, never to a client.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdpoint_core::Rejection;
use holdpoint_gateway::GatewayError;
use holdpoint_protocol::{Code, FieldErrors, Problem, Timestamp};

#[derive(Debug)]
pub(crate) enum ApiError {
    ForeignHost,
    ForeignOrigin,
    NotJson,
    NoToken,
    /// What this token may not do.
    Forbidden(&'static str),
    BadRequest(String),
    TooLarge,
    NotFound,
    MethodNotAllowed,
    LinkUsed(Timestamp),
    LinkExpired,
    LinkUnknown,
    Gateway(GatewayError),
}

impl From<GatewayError> for ApiError {
    fn from(error: GatewayError) -> Self {
        Self::Gateway(error)
    }
}

impl From<holdpoint_store::StoreError> for ApiError {
    fn from(error: holdpoint_store::StoreError) -> Self {
        Self::Gateway(error.into())
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::NotJson,
            _ => Self::BadRequest(rejection.body_text()),
        }
    }
}

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        // An id that cannot be one names nothing.
        Self::NotFound
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::BadRequest(rejection.body_text())
    }
}

pub(crate) async fn not_found() -> ApiError {
    ApiError::NotFound
}

pub(crate) async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

impl ApiError {
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.problem().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn problem(&self) -> Problem {
        match self {
            Self::ForeignHost => problem(
                403,
                Code::ForeignOrigin,
                "This host name is not one of ours. Use the address that `holdpoint open` prints.",
            ),
            Self::ForeignOrigin => {
                problem(403, Code::ForeignOrigin, "The request came from another site's page.")
            }
            Self::NotJson => {
                problem(415, Code::UnsupportedMediaType, "Send the body with Content-Type: application/json.")
            }
            Self::NoToken => problem(
                401,
                Code::Unauthenticated,
                "There is no valid token with this request. Run `holdpoint open` for a page, or send `Authorization: Bearer …`.",
            ),
            Self::Forbidden(what) => problem(403, Code::Forbidden, what),
            Self::BadRequest(why) => problem(400, Code::BadRequest, why),
            Self::TooLarge => problem(413, Code::TooLarge, "The body is larger than 1 MiB."),
            Self::NotFound => problem(404, Code::NotFound, "There is nothing here."),
            Self::MethodNotAllowed => {
                problem(405, Code::MethodNotAllowed, "This address does not take this method.")
            }
            Self::LinkUsed(at) => problem(
                410,
                Code::LinkUsed,
                &format!("This link was used at {}. New one: `holdpoint open`.", clock(*at)),
            ),
            Self::LinkExpired => {
                problem(410, Code::LinkUsed, "This link is too old. New one: `holdpoint open`.")
            }
            Self::LinkUnknown => problem(
                401,
                Code::Unauthenticated,
                "This link is not one of ours. New one: `holdpoint open`.",
            ),
            Self::Gateway(error) => from_gateway(error),
        }
    }
}

/// Hours and minutes, in universal time: the server does not know where the reader is.
fn clock(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} UTC", text.get(11..16).unwrap_or(&text))
}

fn problem(status: u16, code: Code, detail: &str) -> Problem {
    let title =
        StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Error");
    Problem {
        type_uri: "about:blank".to_owned(),
        title: title.to_owned(),
        status,
        detail: detail.to_owned(),
        code,
        winner: None,
        prompt_id: None,
        field_errors: FieldErrors::new(),
    }
}

fn from_gateway(error: &GatewayError) -> Problem {
    let words = error.to_string();
    match error {
        GatewayError::NoSession | GatewayError::NoAsk => problem(404, Code::NotFound, &words),
        GatewayError::NoAgent { .. } | GatewayError::NoFolder { .. } => problem(422, Code::Invalid, &words),
        GatewayError::Rejected(rejection) => from_rejection(rejection),
        GatewayError::TooLarge { .. } => problem(413, Code::TooLarge, &words),
        GatewayError::Start(_) => problem(422, Code::Invalid, &words),
        GatewayError::Closing => problem(503, Code::Unavailable, &words),
        GatewayError::Store(_) => problem(
            500,
            Code::Internal,
            "Something failed on our side; it is in the log. Nothing was decided.",
        ),
    }
}

fn from_rejection(rejection: &Rejection) -> Problem {
    let words = sentence(&rejection.to_string());
    match rejection {
        Rejection::NotOpened | Rejection::UnknownAsk | Rejection::UnknownGrant => {
            problem(404, Code::NotFound, &words)
        }
        Rejection::Lost { winner } => {
            Problem { winner: Some((**winner).clone()), ..problem(409, Code::Lost, &words) }
        }
        Rejection::StalePrompt { current } => {
            Problem { prompt_id: Some(*current), ..problem(409, Code::StalePrompt, &words) }
        }
        Rejection::Dead { .. } => problem(410, Code::Dead, &words),
        Rejection::Invalid { errors } => {
            Problem { field_errors: errors.clone(), ..problem(422, Code::Invalid, &words) }
        }
        Rejection::WrongAction { .. } | Rejection::BadAsk { .. } | Rejection::EmptyMessage => {
            problem(422, Code::Invalid, &words)
        }
        Rejection::KeyReused | Rejection::AskChanged => problem(422, Code::KeyReused, &words),
        Rejection::AlreadyOpen
        | Rejection::Ended
        | Rejection::NothingToDecide
        | Rejection::TooManyAttempts { .. }
        | Rejection::NotDue
        | Rejection::CannotPark { .. }
        | Rejection::AlreadyAlive
        | Rejection::StaleIncarnation
        | Rejection::WrongAgentState { .. }
        | Rejection::NoSuchTurn
        | Rejection::NotDeliverable
        | Rejection::GrantExists => problem(409, Code::Conflict, &words),
    }
}

fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if let Self::Gateway(GatewayError::Store(error)) = &self {
            tracing::error!(%error, "a request failed");
        }
        let body = self.problem();
        let headers =
            [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")];
        (self.status(), headers, Json(body)).into_response()
    }
}
