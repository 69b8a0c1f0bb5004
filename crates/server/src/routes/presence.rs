//! A client switches answering on or off for itself.

use axum::extract::State;
use axum::http::StatusCode;
use holdstead_protocol::Problem;
use holdstead_protocol::api::SetInteractionMode;

use crate::App;
use crate::auth::Answerer;
use crate::body::Sent;
use crate::problem::ApiError;

/// Switch answering on or off for one client.
#[utoipa::path(post, operation_id = "set_interaction_mode", path = "/v1/interaction-mode", tag = "events", request_body = SetInteractionMode,
    responses((status = 204, description = "its open streams count as it says"), (status = "default", body = Problem)))]
pub(super) async fn set_mode(
    State(app): State<App>,
    Answerer(person): Answerer,
    body: Result<Sent<SetInteractionMode>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let Sent(body) = body?;
    app.gateway.set_interaction_mode(&person.owner, &body.client, body.mode);
    Ok(StatusCode::NO_CONTENT)
}
