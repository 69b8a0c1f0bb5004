//! The plain answer page, embedded: works without a build step.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::App;
use crate::problem::ApiError;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

macro_rules! assets {
    ($($name:literal: $kind:literal,)*) => {
        fn asset(name: &str) -> Option<(&'static str, &'static str)> {
            match name {
                $($name => Some(($kind, include_str!(concat!("page/", $name)))),)*
                _ => None,
            }
        }
    };
}

assets! {
    "answers.js": "text/javascript; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "approval.js": "text/javascript; charset=utf-8",
    "asks.js": "text/javascript; charset=utf-8",
    "card.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "drafts.js": "text/javascript; charset=utf-8",
    "form.js": "text/javascript; charset=utf-8",
    "icon-waiting.svg": "image/svg+xml",
    "icon.svg": "image/svg+xml",
    "inbox.js": "text/javascript; charset=utf-8",
    "index.html": "text/html; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "question.js": "text/javascript; charset=utf-8",
    "refuse.js": "text/javascript; charset=utf-8",
    "session.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "text.js": "text/javascript; charset=utf-8",
    "transcript.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(index))
        .route("/login", get(index))
        .route("/sessions/{id}", get(index))
        .route("/assets/{name}", get(file))
}

async fn index() -> Result<Response, ApiError> {
    serve("index.html")
}

async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    serve(&name)
}

fn serve(name: &str) -> Result<Response, ApiError> {
    let (kind, text) = asset(name).ok_or(ApiError::NotFound)?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, text).into_response())
}
