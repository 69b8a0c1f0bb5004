//! Passkeys of a person: made, removed, asked for what they confirm.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use holdstead_protocol::api::{
    NewPasskey, PasskeyChallenge, PasskeyConfirmation, PasskeyPage, PasskeyPurpose, RequirePasskey,
};
use holdstead_protocol::{PasskeyId, Problem};
use holdstead_store::PasskeyRule;

use crate::App;
use crate::auth::Answerer;
use crate::body::{Asked, NoParams, Sent};
use crate::problem::ApiError;

/// Your passkeys, and whether one has to confirm what is risky.
#[utoipa::path(get, operation_id = "list_passkeys", path = "/v1/passkeys", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    responses((status = 200, body = PasskeyPage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    person: Answerer,
    _: Asked<NoParams>,
) -> Result<Json<PasskeyPage>, ApiError> {
    Ok(Json(app.gateway.passkeys(person.now()?).await?))
}

/// Get what a browser asks a passkey, for one purpose. Only for our own page: browsers say which one it is.
#[utoipa::path(post, operation_id = "challenge_passkey", path = "/v1/passkeys/challenges", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    request_body = PasskeyPurpose,
    responses((status = 201, body = PasskeyChallenge), (status = "default", body = Problem)))]
pub(super) async fn challenge(
    State(app): State<App>,
    person: Answerer,
    headers: HeaderMap,
    Sent(purpose): Sent<PasskeyPurpose>,
) -> Result<(StatusCode, Json<PasskeyChallenge>), ApiError> {
    // It was checked to be ours.
    let origin = headers.get(ORIGIN).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let challenge = app.gateway.passkey_challenge(person.now()?, origin, purpose).await?;
    Ok((StatusCode::CREATED, Json(challenge)))
}

/// Hand over a passkey's answer. What it was asked for may then be done once, from this device, within two minutes.
#[utoipa::path(post, operation_id = "confirm_with_passkey", path = "/v1/passkeys/confirmations", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    request_body = PasskeyConfirmation,
    responses((status = 204, description = "confirmed"), (status = "default", body = Problem)))]
pub(super) async fn confirm(
    State(app): State<App>,
    person: Answerer,
    Sent(given): Sent<PasskeyConfirmation>,
) -> Result<StatusCode, ApiError> {
    app.gateway.confirm_with_passkey(person.now()?, given).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Add a passkey that your browser made.
#[utoipa::path(post, operation_id = "add_passkey", path = "/v1/passkeys", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    request_body = NewPasskey,
    responses((status = 201, body = PasskeyPage), (status = 403, description = "needs a passkey", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn add(
    State(app): State<App>,
    person: Answerer,
    Sent(new): Sent<NewPasskey>,
) -> Result<(StatusCode, Json<PasskeyPage>), ApiError> {
    Ok((StatusCode::CREATED, Json(app.gateway.add_passkey(person.changes_passkeys()?, new).await?)))
}

/// Remove a passkey. Where passkeys are required, one of them has to confirm it.
#[utoipa::path(delete, operation_id = "remove_passkey", path = "/v1/passkeys/{id}", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    params(("id" = PasskeyId, Path)),
    responses((status = 204, description = "it confirms nothing any longer"),
        (status = 403, description = "needs a passkey", body = Problem), (status = "default", body = Problem)))]
pub(super) async fn remove(
    State(app): State<App>,
    person: Answerer,
    id: Result<Path<PasskeyId>, PathRejection>,
    _: Asked<NoParams>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    app.gateway.remove_passkey(person.changes_passkeys()?, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Require a passkey for marked approvals and for sessions in `auto`, or no longer.
#[utoipa::path(put, operation_id = "require_passkey", path = "/v1/passkeys/requirement", tag = "passkeys",
    security(("bearer" = ["person", "admin"])),
    request_body = RequirePasskey,
    responses((status = 204, description = "so it is"), (status = 403, description = "needs a passkey", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn require(
    State(app): State<App>,
    person: Answerer,
    Sent(RequirePasskey { required }): Sent<RequirePasskey>,
) -> Result<StatusCode, ApiError> {
    let rule = if required { PasskeyRule::Required } else { PasskeyRule::NotRequired };
    app.gateway.require_passkey(person.changes_passkeys()?, rule).await?;
    Ok(StatusCode::NO_CONTENT)
}
