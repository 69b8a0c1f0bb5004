//! Tickets: how a browser opens a socket, where it can send no header.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use holdstead_protocol::Problem;
use holdstead_protocol::api::Ticket;

use crate::App;
use crate::auth::Caller;
use crate::body::Nothing;
use crate::problem::ApiError;
use crate::tokens::issue_ticket;

/// Make a ticket that opens one socket, for half a minute.
#[utoipa::path(post, operation_id = "make_ticket", path = "/v1/tickets", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 201, body = Ticket), (status = "default", body = Problem)))]
pub(super) async fn make(
    State(app): State<App>,
    caller: Caller,
    _: Nothing,
) -> Result<impl IntoResponse, ApiError> {
    caller.rights()?;
    let ticket = issue_ticket(&app.gateway, caller.token).await?;
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(ticket)))
}
