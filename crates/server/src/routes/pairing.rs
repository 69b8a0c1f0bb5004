//! Letting a phone in: where it reaches the gateway, and a link that its camera reads.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use holdstead_gateway::Manages;
use holdstead_protocol::Problem;
use holdstead_protocol::api::{Network, NewPairing, OpenNetwork, Pairing};

use crate::App;
use crate::auth::Caller;
use crate::body::{Asked, NoParams, Sent};
use crate::problem::ApiError;
use crate::qr;
use crate::tokens::issue_link;

/// Where other machines reach this gateway, and where they could.
#[utoipa::path(get, operation_id = "show_network", path = "/v1/network", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = Network), (status = "default", body = Problem)))]
pub(super) async fn network(
    State(app): State<App>,
    caller: Caller,
    _: Asked<NoParams>,
) -> Result<Json<Network>, ApiError> {
    caller.rights()?;
    caller.now()?;
    Ok(Json(app.doors.look()))
}

/// Let a private network reach this gateway until it ends. For admins.
#[utoipa::path(post, operation_id = "open_network", path = "/v1/network", tag = "login",
    security(("bearer" = ["admin"])),
    request_body = OpenNetwork,
    responses((status = 200, body = Network), (status = "default", body = Problem)))]
pub(super) async fn open(
    State(app): State<App>,
    caller: Caller,
    Sent(wanted): Sent<OpenNetwork>,
) -> Result<Json<Network>, ApiError> {
    caller.rights()?;
    match caller.now()?.manages {
        Manages::All => Ok(Json(app.doors.open(&wanted.url).map_err(ApiError::NotOpened)?)),
        Manages::Own => Err(ApiError::Forbidden(
            "Only an admin may let other machines reach this gateway. Ask whoever runs it.",
        )),
    }
}

/// Make a link that logs a phone of yours in once, as a picture that its camera reads.
#[utoipa::path(post, operation_id = "pair", path = "/v1/pairings", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    request_body = NewPairing,
    responses((status = 201, body = Pairing), (status = "default", body = Problem)))]
pub(super) async fn pair(
    State(app): State<App>,
    caller: Caller,
    Sent(NewPairing { url }): Sent<NewPairing>,
) -> Result<impl IntoResponse, ApiError> {
    // Whoever has a screen: it gets what the token has, and no more.
    caller.lets_others_in()?;
    let url = url.trim_end_matches('/');
    if !app.hosts.allows_origin(url) && !app.doors.look().open.iter().any(|open| open == url) {
        return Err(ApiError::NotReached);
    }
    let link = issue_link(app.gateway.journal().as_ref(), caller.person_id).await?;
    let whole = format!("{url}/login#{}", link.code);
    // A name of the settings that no QR code can hold is none that a browser could open.
    let qr = qr::rows(&whole).ok_or(ApiError::NotReached)?;
    let pairing = Pairing { link: whole, expires_at: link.expires_at, qr };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(pairing)))
}
