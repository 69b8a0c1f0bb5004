//! From a terminal to a browser: a link that works once becomes a cookie.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdstead_protocol::Problem;
use holdstead_protocol::api::{LoginLink, Role, UseLoginLink};
use holdstead_store::{LinkUse, token_hash};

use crate::App;
use crate::auth::{Answerer, COOKIE, Caller, cookie};
use crate::body::{Nothing, Sent};
use crate::problem::ApiError;
use crate::tokens::{comes_of, issue_link, register_token, secret_of_link};

/// How long a browser stays logged in: thirty days.
const COOKIE_SECONDS: u32 = 30 * 24 * 60 * 60;

/// Make a link that logs a browser in once.
#[utoipa::path(post, operation_id = "make_login_link", path = "/v1/login-links", tag = "login",
    responses((status = 201, body = LoginLink), (status = "default", body = Problem)))]
pub(super) async fn make_link(
    State(app): State<App>,
    Answerer(person): Answerer,
    _: Nothing,
) -> Result<(StatusCode, Json<LoginLink>), ApiError> {
    let link = issue_link(app.gateway.journal().as_ref(), &person.owner, &person.name).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Log a browser in with the code of a link.
#[utoipa::path(post, path = "/v1/login", tag = "login", request_body = UseLoginLink, security(()),
    responses((status = 204, description = "sets the cookie"), (status = 410, body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn login(
    State(app): State<App>,
    caller: Result<Caller, ApiError>,
    headers: HeaderMap,
    body: Result<Sent<UseLoginLink>, ApiError>,
) -> Result<Response, ApiError> {
    let link = match body {
        Ok(Sent(link)) => link,
        // A login without a code is one with a wrong code.
        Err(ApiError::Refused(refusal)) if refusal.field_errors.contains_key("code") => {
            return Err(ApiError::LinkUnknown);
        }
        Err(error) => return Err(error),
    };
    let journal = app.gateway.journal();
    let (owner, name) = match journal.use_login_link(&token_hash(&link.code)).await? {
        LinkUse::Ok { owner, name } => (owner, name),
        // The browser that the link logged in goes on.
        LinkUse::UsedAt(_)
            if caller.is_ok() && cookie(&headers).is_some_and(|its| comes_of(&its, &link.code)) =>
        {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        LinkUse::UsedAt(at) => return Err(ApiError::LinkUsed(at)),
        LinkUse::Expired(_) => return Err(ApiError::LinkExpired),
        LinkUse::Unknown => return Err(ApiError::LinkUnknown),
    };
    let secret = secret_of_link(&link.code);
    register_token(journal.as_ref(), &secret, &owner, Role::Person, &name, None).await?;
    let set = format!("{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_SECONDS}");
    let mut response = StatusCode::NO_CONTENT.into_response();
    let value = HeaderValue::from_str(&set).map_err(|_| ApiError::LinkUnknown)?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    Ok(response)
}
