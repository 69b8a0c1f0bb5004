//! Remembered approvals: look at them, take them back.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdpoint_protocol::api::GrantPage;
use holdpoint_protocol::{GrantId, Problem};

use crate::App;
use crate::auth::{Answerer, Reader};
use crate::problem::ApiError;

#[utoipa::path(get, operation_id = "list_grants", path = "/v1/grants", tag = "grants",
    responses((status = 200, body = GrantPage), (status = "default", body = Problem)))]
pub(super) async fn list(State(app): State<App>, reader: Reader) -> Result<Json<GrantPage>, ApiError> {
    Ok(Json(GrantPage { grants: app.gateway.grants(reader.owner()?).await? }))
}

#[utoipa::path(delete, operation_id = "revoke_grant", path = "/v1/grants/{id}", tag = "grants", params(("id" = GrantId, Path)),
    responses((status = 204, description = "the next match asks"), (status = "default", body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    Answerer(person): Answerer,
    id: Result<Path<GrantId>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    app.gateway.revoke(&person, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
