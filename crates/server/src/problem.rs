//! Errors as HTTP answers: problem details (RFC 9457), from one place.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdstead_gateway::GatewayError;
use holdstead_protocol::{Code, Problem, Refusal, Timestamp};

use crate::network::NotOpened;

/// The way in for whoever has a link that works no longer.
const NEW_LINK: &str =
    "Each link works once, for 10 minutes. New one: `holdstead open`, or `holdstead pair` for a phone.";

#[derive(Debug)]
pub(crate) enum ApiError {
    ForeignHost,
    ForeignOrigin,
    NotJson,
    NoToken,
    /// What this token may not do.
    Forbidden(&'static str),
    /// The network was not opened.
    NotOpened(NotOpened),
    /// A phone would not reach the gateway there.
    NotReached,
    BadRequest(String),
    TooLarge,
    /// Of a caller that is not known yet.
    NotBrief,
    /// Too many requests; how long to wait.
    TooMany(Duration),
    /// Too many of them at once.
    TooManyAtOnce,
    NotFound,
    MethodNotAllowed,
    LinkUsed(Timestamp),
    LinkExpired,
    LinkUnknown,
    BadTicket,
    /// A browser is to sign again, with the nonce that goes with this answer.
    NonceRefused,
    BadSignature,
    /// A browser could sign here, and did not.
    SignatureNeeded,
    /// A browser sent a token in place of a signature.
    ExchangeNeeded,
    Gateway(GatewayError),
    Refused(Box<Refusal>),
}

impl From<GatewayError> for ApiError {
    fn from(error: GatewayError) -> Self {
        Self::Gateway(error)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<holdstead_store::StoreError> for ApiError {
    fn from(error: holdstead_store::StoreError) -> Self {
        Self::Gateway(error.into())
    }
}

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        // An id that cannot be one names nothing.
        Self::NotFound
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
        status(self.refusal().code)
    }

    fn refusal(&self) -> Refusal {
        let refusal = |code, words: &str| Refusal::new(code, words);
        match self {
            Self::ForeignHost => refusal(
                Code::ForeignOrigin,
                "Holdstead does not answer under this address. Open the one that `holdstead open` prints, or on a \
                 phone `holdstead pair`. If a proxy or a name of yours leads here, add the name to `allowed_hosts` in \
                 the settings: `holdstead config` says where they are.",
            ),
            Self::ForeignOrigin => refusal(
                Code::ForeignOrigin,
                "The request came from another site's page, so Holdstead did nothing. Close that page.",
            ),
            Self::NotJson => {
                refusal(Code::UnsupportedMediaType, "Send the body with Content-Type: application/json.")
            }
            Self::NoToken => refusal(
                Code::Unauthenticated,
                "There is no valid token with this request. Run `holdstead open` for a page, or send \
                 `Authorization: Bearer …`.",
            ),
            Self::Forbidden(what) => refusal(Code::Forbidden, what),
            Self::NotOpened(NotOpened::Unknown) => refusal(
                Code::Invalid,
                "This is not an address of the gateway's machine in a private network, so it stays closed. \
                 GET /v1/network lists those that can be opened.",
            ),
            Self::NotOpened(NotOpened::Failed(error)) => {
                Refusal::new(Code::Conflict, format!("It stays closed: {error}."))
            }
            Self::NotReached => refusal(
                Code::Invalid,
                "No other machine reaches Holdstead there. Open it first with `holdstead pair`, or add the name to \
                 `allowed_hosts` in the settings: `holdstead config` says where they are.",
            ),
            Self::BadRequest(why) => refusal(Code::BadRequest, why),
            Self::TooLarge => refusal(Code::TooLarge, "The body is larger than 1 MiB."),
            Self::NotBrief => {
                refusal(Code::TooLarge, "The body is larger than 4 KiB, which is enough to log in.")
            }
            Self::TooMany(_) => {
                refusal(Code::RateLimited, "Too many requests with this token. Wait a moment.")
            }
            Self::TooManyAtOnce => refusal(
                Code::RateLimited,
                "This token has too many requests and streams open at once. Close some, then try again.",
            ),
            Self::NotFound => refusal(Code::NotFound, "There is nothing here."),
            Self::MethodNotAllowed => {
                refusal(Code::MethodNotAllowed, "This address does not take this method.")
            }
            Self::LinkUsed(at) => {
                let words = format!("This link was used at {}. {NEW_LINK}", clock(*at));
                Refusal::new(Code::LinkUsed, words)
            }
            Self::LinkExpired => Refusal::new(Code::LinkUsed, format!("This link is too old. {NEW_LINK}")),
            Self::LinkUnknown => {
                let words = format!("This link is not one of ours. {NEW_LINK}");
                Refusal::new(Code::Unauthenticated, words)
            }
            Self::BadTicket => refusal(
                Code::Unauthenticated,
                "This ticket was used, or is too old. Get another one with POST /v1/tickets.",
            ),
            Self::NonceRefused => refusal(
                Code::NonceRefused,
                "The nonce of this signature counts no longer. Sign again with the one in the header Holdstead-Nonce.",
            ),
            Self::BadSignature => refusal(
                Code::BadSignature,
                "The signature does not fit this request. Reload the page. If that does not help, `holdstead open` logs this \
                 browser in again.",
            ),
            Self::SignatureNeeded => refusal(
                Code::SignatureNeeded,
                "This log-in was not signed, so nobody was logged in. Reload the page. If that does not help, update the browser.",
            ),
            Self::ExchangeNeeded => refusal(
                Code::ExchangeNeeded,
                "This browser still sends a token. Reload the page: it exchanges the token for a key.",
            ),
            Self::Gateway(error) => Refusal::from(error),
            Self::Refused(refusal) => (**refusal).clone(),
        }
    }
}

/// Hours and minutes, in universal time: the server does not know where the reader is.
fn clock(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} UTC", text.get(11..16).unwrap_or(&text))
}

pub(crate) const fn status(code: Code) -> StatusCode {
    match code {
        Code::BadRequest => StatusCode::BAD_REQUEST,
        Code::Unauthenticated
        | Code::NonceRefused
        | Code::BadSignature
        | Code::SignatureNeeded
        | Code::ExchangeNeeded => StatusCode::UNAUTHORIZED,
        Code::Forbidden | Code::ForeignOrigin | Code::AnsweringDisabled | Code::PasskeyRequired => {
            StatusCode::FORBIDDEN
        }
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::AlreadyAnswered | Code::StalePrompt | Code::Conflict => StatusCode::CONFLICT,
        Code::Closed | Code::LinkUsed => StatusCode::GONE,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::Invalid | Code::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Seconds until it is worth trying again what was not available: most of it is back by then.
const UNAVAILABLE_FOR: u64 = 2;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let refusal = self.refusal();
        let status = status(refusal.code);
        let body = Problem {
            type_uri: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            refusal: refusal.clone(),
        };
        let headers =
            [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")];
        let mut response = (status, headers, Json(body)).into_response();
        response.extensions_mut().insert(refusal);
        let wait = if let Self::TooMany(wait) = self {
            // Whole seconds, as the header wants them: never less than it takes.
            Some(wait.as_secs() + 1)
        } else {
            (status == StatusCode::SERVICE_UNAVAILABLE).then_some(UNAVAILABLE_FOR)
        };
        if let Some(seconds) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
