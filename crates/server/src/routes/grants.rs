//! Remembered approvals: look at them, take them back.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdstead_protocol::api::GrantPage;
use holdstead_protocol::{GrantId, Problem, SessionId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::App;
use crate::auth::{Answerer, Reader};
use crate::body::{Asked, NoParams};
use crate::problem::ApiError;

/// The approvals that are remembered.
#[utoipa::path(get, operation_id = "list_grants", path = "/v1/grants", tag = "grants",
    responses((status = 200, body = GrantPage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    reader: Reader,
    _: Asked<NoParams>,
) -> Result<Json<GrantPage>, ApiError> {
    Ok(Json(GrantPage { grants: app.gateway.grants(reader.owner()?).await? }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// The session of an approval that ends with it.
    session: Option<SessionId>,
}

/// Revoke a remembered approval: the next such call asks again.
#[utoipa::path(delete, operation_id = "revoke_grant", path = "/v1/grants/{id}", tag = "grants", params(("id" = GrantId, Path), Place),
    responses((status = 204, description = "the next match asks"), (status = "default", body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<GrantId>, PathRejection>,
    place: Result<Asked<Place>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let (Path(id), Asked(place)) = (id?, place?);
    app.gateway.revoke(answerer.now()?, id, place.session).await?;
    Ok(StatusCode::NO_CONTENT)
}
