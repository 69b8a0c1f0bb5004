//! From a terminal to a browser: a link that works once makes a browser one of a person's devices.
//!
//! A browser that can sign is known by its key from then on. One that cannot, over plain http at a network address, is given a
//! token that works under that address only.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use holdstead_protocol::Problem;
use holdstead_protocol::api::{ExchangeToken, LoggedIn, LoginLink, UseLoginLink};
use holdstead_store::{LinkUse, token_hash};

use crate::App;
use crate::auth::{Caller, Claimant, Newcomer};
use crate::body::{Brief, Nothing};
use crate::browser_name::browser_name;
use crate::problem::ApiError;
use crate::tokens::{add_browser, issue_link};

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
    caller.lets_others_in()?;
    let link = issue_link(app.gateway.journal().as_ref(), caller.person_id).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Log a browser in with the code of a link. The browser signs this request with the key that identifies it from then on.
#[utoipa::path(post, path = "/v1/login", tag = "login", request_body = UseLoginLink, security((), ("bearer" = [])),
    responses((status = 200, body = LoggedIn), (status = 410, body = Problem), (status = "default", body = Problem)))]
pub(super) async fn login(
    State(app): State<App>,
    claimant: Claimant,
    headers: HeaderMap,
    body: Result<Brief<UseLoginLink>, ApiError>,
) -> Result<impl IntoResponse, ApiError> {
    let link = match body {
        Ok(Brief(link)) => link,
        // A login without a code is one with a wrong code.
        Err(ApiError::Refused(refusal)) if refusal.field_errors.contains_key("code") => {
            return Err(ApiError::LinkUnknown);
        }
        Err(error) => return Err(error),
    };
    let newcomer = app.doubtful.codes.look_up(log_in(&app, claimant, &link, &headers)).await?;
    Ok(logged_in(newcomer))
}

async fn log_in(
    app: &App,
    claimant: Claimant,
    link: &UseLoginLink,
    headers: &HeaderMap,
) -> Result<Newcomer, ApiError> {
    let newcomer = claimant.check()?;
    // Its first answer may have been lost.
    if newcomer.is_known(app).await? {
        return Ok(newcomer);
    }
    let journal = app.gateway.journal();
    match journal.use_login_link(&token_hash(&link.code)).await? {
        LinkUse::Ok(person) => {
            let said = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
            let name = browser_name(said.unwrap_or_default());
            add_browser(journal.as_ref(), person, &name, newcomer.hash, newcomer.identified_by).await?;
            Ok(newcomer)
        }
        LinkUse::UsedAt(at) => Err(ApiError::LinkUsed(at)),
        LinkUse::Expired(_) => Err(ApiError::LinkExpired),
        LinkUse::Unknown => Err(ApiError::LinkUnknown),
    }
}

/// Exchange the token that a browser had before browsers signed for the key that signs this request. The token is good no longer.
#[utoipa::path(post, operation_id = "exchange_token", path = "/v1/login/exchange", tag = "login",
    request_body = ExchangeToken, security((), ("bearer" = [])),
    responses((status = 200, body = LoggedIn), (status = "default", body = Problem)))]
pub(super) async fn exchange(
    State(app): State<App>,
    claimant: Claimant,
    Brief(ExchangeToken { token }): Brief<ExchangeToken>,
) -> Result<impl IntoResponse, ApiError> {
    let exchange = async {
        let newcomer = claimant.check()?;
        // Another tab of this browser may have been first.
        if newcomer.is_known(&app).await? {
            return Ok(newcomer);
        }
        // JSON can hold what no header can, such as the bytes that the hash of a key is made of.
        let is_one = token.starts_with("hs_") && token.bytes().all(|byte| byte.is_ascii_graphic());
        let (old, new) = (token_hash(&token), newcomer.hash);
        if !is_one || !app.gateway.exchange_browser(&old, &new, newcomer.identified_by).await? {
            return Err(ApiError::NoToken);
        }
        Ok(newcomer)
    };
    Ok(logged_in(app.doubtful.codes.look_up(exchange).await?))
}

fn logged_in(newcomer: Newcomer) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(LoggedIn { token: newcomer.token }))
}
