//! A client switches answering on or off for itself.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use holdstead_protocol::Problem;
use holdstead_protocol::api::SetInteractionMode;

use crate::App;
use crate::auth::Answerer;
use crate::problem::ApiError;

#[utoipa::path(post, operation_id = "set_interaction_mode", path = "/v1/interaction-mode", tag = "events", request_body = SetInteractionMode,
    responses((status = 204, description = "its open streams count as it says"), (status = "default", body = Problem)))]
pub(super) async fn set_mode(
    State(app): State<App>,
    Answerer(person): Answerer,
    body: Result<Json<SetInteractionMode>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let Json(body) = body?;
    app.gateway.set_interaction_mode(&person.owner, &body.client, body.mode);
    Ok(StatusCode::NO_CONTENT)
}
