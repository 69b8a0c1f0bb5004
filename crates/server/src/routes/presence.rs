//! Who watches and would answer, and how a client switches that on or off for itself.

use axum::extract::State;
use axum::http::StatusCode;
use holdstead_gateway::{Answering, Watch, Watching};
use holdstead_protocol::Problem;
use holdstead_protocol::api::SetInteractionMode;
use holdstead_protocol::transport::InteractionMode;

use super::events::Cursor;
use crate::App;
use crate::auth::{Answerer, Reader};
use crate::body::Sent;
use crate::problem::ApiError;

/// Switch answering on or off for one client.
#[utoipa::path(post, operation_id = "set_interaction_mode", path = "/v1/interaction-mode", tag = "events",
    security(("bearer" = ["person", "admin"])),
    request_body = SetInteractionMode,
    responses((status = 204, description = "its open streams count as it says"), (status = "default", body = Problem)))]
pub(super) async fn set_mode(
    State(app): State<App>,
    answerer: Answerer,
    body: Result<Sent<SetInteractionMode>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let Sent(body) = body?;
    app.gateway.set_answering(answerer.now()?, &body.client, body.mode.into());
    Ok(StatusCode::NO_CONTENT)
}

/// Counts whoever reads this stream among those who watch, until the result is dropped.
pub(super) fn watching(app: &App, reader: &Reader, cursor: &Cursor, watch: Watch) -> Watching {
    let answering = reader.answering(cursor.interaction.unwrap_or(InteractionMode::On));
    let given = match answering {
        Answering::On | Answering::Off => cursor.client.clone(),
        // Whoever may not answer has no say in what counts under a name.
        Answering::Never => None,
    };
    let client = given.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    app.gateway.watching(&reader.0.person, &client, answering, watch)
}
