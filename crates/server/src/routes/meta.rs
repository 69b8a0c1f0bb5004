//! About the server itself.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use holdstead_protocol::Problem;
use holdstead_protocol::api::{Agents, WhoAmI};

use crate::App;
use crate::auth::{Caller, Reader};
use crate::problem::ApiError;

/// Who this token speaks for.
#[utoipa::path(get, path = "/v1/me", tag = "meta",
    security(("bearer" = ["person", "viewer", "agent", "runner", "metrics", "admin"])),
    responses((status = 200, body = WhoAmI), (status = "default", body = Problem)))]
pub(super) async fn me(caller: Caller) -> Json<WhoAmI> {
    Json(WhoAmI {
        person_id: caller.person_id,
        device_id: caller.device_id,
        name: caller.person.name,
        role: caller.role,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// The agents that can be hosted here, and what is not installed.
#[utoipa::path(get, operation_id = "list_agents", path = "/v1/agents", tag = "meta",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = Agents), (status = "default", body = Problem)))]
pub(super) async fn agents(State(app): State<App>, reader: Reader) -> Result<Json<Agents>, ApiError> {
    Ok(Json(Agents { agents: app.gateway.agents(reader.owner()?).await? }))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "meta",
    security(("bearer" = ["person", "viewer", "agent", "runner", "metrics", "admin"])),
    responses((status = 200, description = "this document"), (status = "default", body = Problem)))]
pub(super) async fn openapi(State(app): State<App>, _caller: Caller) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], app.openapi.to_string())
}

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "meta",
    security(("bearer" = ["person", "viewer", "agent", "runner", "metrics", "admin"])),
    responses((status = 204), (status = "default", body = Problem)))]
pub(super) async fn healthz(_caller: Caller) -> StatusCode {
    StatusCode::NO_CONTENT
}

/// The journal can be read and written, too.
#[utoipa::path(get, path = "/readyz", tag = "meta",
    security(("bearer" = ["person", "viewer", "agent", "runner", "metrics", "admin"])),
    responses((status = 204), (status = "default", body = Problem)))]
pub(super) async fn readyz(State(app): State<App>, _caller: Caller) -> Result<StatusCode, ApiError> {
    app.gateway.ready().await?;
    Ok(StatusCode::NO_CONTENT)
}
