//! Folders whose own files a person trusts: look at them, trust them, take that back.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdstead_protocol::api::{FolderFiles, TrustFolder, TrustPage};
use holdstead_protocol::{Problem, Trust, TrustId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::App;
use crate::auth::{Answerer, Reader};
use crate::body::{Asked, NoParams, Sent};
use crate::problem::ApiError;

/// The folders whose own files are trusted.
#[utoipa::path(get, operation_id = "list_trusts", path = "/v1/trusts", tag = "trusts",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = TrustPage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    reader: Reader,
    _: Asked<NoParams>,
) -> Result<Json<TrustPage>, ApiError> {
    Ok(Json(TrustPage { trusts: app.gateway.trusts(reader.owner()?).await? }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Folder {
    /// The kind of agent.
    agent: String,
    /// A whole path.
    folder: String,
    /// The machine that has it, where there are several.
    runner: Option<String>,
}

/// What a folder brings for an agent, and whether it is trusted as it is.
#[utoipa::path(get, operation_id = "show_folder_files", path = "/v1/trusts/folder", tag = "trusts",
    security(("bearer" = ["person", "admin"])),
    params(Folder),
    responses((status = 200, body = FolderFiles), (status = "default", body = Problem)))]
pub(super) async fn folder(
    State(app): State<App>,
    answerer: Answerer,
    folder: Result<Asked<Folder>, ApiError>,
) -> Result<Json<FolderFiles>, ApiError> {
    let Asked(Folder { agent, folder, runner }) = folder?;
    let owner = &answerer.now()?.owner;
    Ok(Json(app.gateway.folder_files(owner, &agent, &folder, runner.as_deref()).await?))
}

/// Trusts a folder's own files as they were shown. Only a person may.
#[utoipa::path(post, operation_id = "trust_folder", path = "/v1/trusts", tag = "trusts",
    security(("bearer" = ["person", "admin"])),
    request_body = TrustFolder,
    responses((status = 200, body = Trust), (status = "default", body = Problem)))]
pub(super) async fn trust(
    State(app): State<App>,
    answerer: Answerer,
    body: Result<Sent<TrustFolder>, ApiError>,
) -> Result<Json<Trust>, ApiError> {
    let Sent(wanted) = body?;
    Ok(Json(app.gateway.trust(answerer.now()?, wanted).await?))
}

/// Takes a trust back: the next start of an agent there is without the folder's own files.
#[utoipa::path(delete, operation_id = "revoke_trust", path = "/v1/trusts/{id}", tag = "trusts",
    security(("bearer" = ["person", "admin"])),
    params(("id" = TrustId, Path)),
    responses((status = 204, description = "the next start is without them"), (status = "default", body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<TrustId>, PathRejection>,
    _: Asked<NoParams>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    app.gateway.distrust(answerer.now()?, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
