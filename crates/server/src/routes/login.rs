//! From a terminal to a browser: a link that works once becomes a token that the page keeps for its own origin.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use holdstead_protocol::Problem;
use holdstead_protocol::api::{LoggedIn, LoginLink, UseLoginLink};
use holdstead_store::{LinkUse, token_hash};

use crate::App;
use crate::auth::{Caller, presented};
use crate::body::{Nothing, Sent};
use crate::browser_name::browser_name;
use crate::problem::ApiError;
use crate::tokens::{comes_of, issue_browser_token, issue_link};

/// Make a link that logs a browser of yours in once.
#[utoipa::path(post, operation_id = "make_login_link", path = "/v1/login-links", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 201, body = LoginLink), (status = "default", body = Problem)))]
pub(super) async fn make_link(
    State(app): State<App>,
    caller: Caller,
    _: Nothing,
) -> Result<(StatusCode, Json<LoginLink>), ApiError> {
    // Whoever has a screen: it gets what the token has, and no more.
    caller.rights()?;
    caller.now()?;
    let link = issue_link(app.gateway.journal().as_ref(), caller.person_id).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Log a browser in with the code of a link. The browser that a link logged in may use it again, and keeps its token.
#[utoipa::path(post, path = "/v1/login", tag = "login", request_body = UseLoginLink, security((), ("bearer" = [])),
    responses((status = 200, body = LoggedIn), (status = 410, body = Problem), (status = "default", body = Problem)))]
pub(super) async fn login(
    State(app): State<App>,
    caller: Result<Caller, ApiError>,
    headers: HeaderMap,
    body: Result<Sent<UseLoginLink>, ApiError>,
) -> Result<impl IntoResponse, ApiError> {
    let link = match body {
        Ok(Sent(link)) => link,
        // A login without a code is one with a wrong code.
        Err(ApiError::Refused(refusal)) if refusal.field_errors.contains_key("code") => {
            return Err(ApiError::LinkUnknown);
        }
        Err(error) => return Err(error),
    };
    let journal = app.gateway.journal();
    let own = presented(&headers).filter(|its| caller.is_ok() && comes_of(its, &link.code));
    let token = match (journal.use_login_link(&token_hash(&link.code)).await?, own) {
        (LinkUse::Ok(person), _) => {
            let said = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
            let name = browser_name(said.unwrap_or_default());
            issue_browser_token(journal.as_ref(), &link.code, person, &name).await?
        }
        (LinkUse::UsedAt(_), Some(its)) => its.to_owned(),
        (LinkUse::UsedAt(at), None) => return Err(ApiError::LinkUsed(at)),
        (LinkUse::Expired(_), _) => return Err(ApiError::LinkExpired),
        (LinkUse::Unknown, _) => return Err(ApiError::LinkUnknown),
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(LoggedIn { token })))
}
