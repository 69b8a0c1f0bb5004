//! Sessions: open, list, show, talk to, stop, end and erase.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdstead_gateway::cursor;
use holdstead_protocol::api::{
    Interrupted, MessageAccepted, OpenSession, SendMessage, Session, SessionFilter, SessionPage, SetVariables,
};
use holdstead_protocol::{Problem, SessionId};
use holdstead_store::{SessionQuery, SessionsOnly};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::App;
use crate::auth::{Answerer, Operator, Reader};
use crate::body::{Asked, Nothing, Sent};
use crate::problem::ApiError;

/// Open a session with an agent.
#[utoipa::path(post, operation_id = "open_session", path = "/v1/sessions", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    request_body = OpenSession,
    responses((status = 201, body = Session), (status = "default", body = Problem)))]
pub(super) async fn open(
    State(app): State<App>,
    operator: Operator,
    body: Result<Sent<OpenSession>, ApiError>,
) -> Result<(StatusCode, Json<Session>), ApiError> {
    let Sent(open) = body?;
    let session = app.gateway.open_session(operator.now()?, open).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// `open` leaves out those that have ended; a state of the agent, like `parked`, leaves out all others; `archived` lists
    /// those that every other list leaves out. Left out: all that are not archived.
    #[param(inline)]
    state: Option<SessionFilter>,
    /// `next` of the page before.
    before: Option<String>,
    limit: Option<u32>,
}

/// The sessions, the newest first.
#[utoipa::path(get, operation_id = "list_sessions", path = "/v1/sessions", tag = "sessions",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(Listing),
    responses((status = 200, body = SessionPage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Listing>, ApiError>,
) -> Result<Json<SessionPage>, ApiError> {
    let Asked(listing) = query?;
    let limit = cursor::page_size(listing.limit);
    let before = listing.before.as_deref().map(cursor::parse).transpose()?;
    let which = listing.state.unwrap_or_default();
    let only = if which == SessionFilter::Archived {
        SessionsOnly::Archived
    } else {
        SessionsOnly::Unarchived(which.states())
    };
    let query = SessionQuery { owner: reader.owner()?.clone(), before, only, limit };
    let sessions = app.gateway.sessions(query).await?;
    let full = sessions.len() == limit as usize;
    let next = sessions.last().filter(|_| full).map(|last| cursor::place(last.opened_at, last.session_id));
    Ok(Json(SessionPage { sessions, next }))
}

/// One session as it is now.
#[utoipa::path(get, operation_id = "show_session", path = "/v1/sessions/{id}", tag = "sessions",
    security(("bearer" = ["person", "viewer", "agent", "runner", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 200, body = Session), (status = "default", body = Problem)))]
pub(super) async fn show(
    State(app): State<App>,
    reader: Reader,
    id: Result<Path<SessionId>, PathRejection>,
) -> Result<Json<Session>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.session(reader.owner_for(id)?, id).await?))
}

/// End a session: its agent stops, its asks are cancelled.
#[utoipa::path(delete, operation_id = "end_session", path = "/v1/sessions/{id}", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 204, description = "ended; its asks are cancelled"), (status = "default", body = Problem)))]
pub(super) async fn end(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<SessionId>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    app.gateway.end(operator.now()?, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Erase what was said in an ended session.
#[utoipa::path(post, operation_id = "erase_session", path = "/v1/sessions/{id}/erase", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 204, description = "what was said is gone; that it was said, and by whom it was erased, is kept"),
        (status = 409, description = "it has not ended", body = Problem), (status = "default", body = Problem)))]
pub(super) async fn erase(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<SessionId>, PathRejection>,
    _: Nothing,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    app.gateway.erase(operator.now()?, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Archive a session: it leaves the lists until something is said or asked in it again.
#[utoipa::path(post, operation_id = "archive_session", path = "/v1/sessions/{id}/archive", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 200, body = Session),
        (status = 409, description = "asks are open, its agent is at work, or it was erased", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn archive(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    _: Nothing,
) -> Result<Json<Session>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.archive(answerer.now()?, id).await?))
}

/// Bring an archived session back.
#[utoipa::path(delete, operation_id = "unarchive_session", path = "/v1/sessions/{id}/archive", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 200, body = Session), (status = "default", body = Problem)))]
pub(super) async fn unarchive(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
) -> Result<Json<Session>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.unarchive(answerer.now()?, id).await?))
}

/// Send the agent a message. It answers no ask.
#[utoipa::path(post, operation_id = "send_message", path = "/v1/sessions/{id}/messages", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    request_body = SendMessage,
    responses((status = 202, body = MessageAccepted), (status = "default", body = Problem)))]
pub(super) async fn message(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<SendMessage>, ApiError>,
) -> Result<(StatusCode, Json<MessageAccepted>), ApiError> {
    let (Path(id), Sent(message)) = (id?, body?);
    let accepted = app.gateway.message(operator.now()?, id, message).await?;
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// Set variables that rules ask about. Those that are not named stay; `null` removes one.
#[utoipa::path(put, operation_id = "set_variables", path = "/v1/sessions/{id}/variables", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    request_body = SetVariables,
    responses((status = 200, body = Session), (status = "default", body = Problem)))]
pub(super) async fn set_variables(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<SessionId>, PathRejection>,
    body: Result<Sent<SetVariables>, ApiError>,
) -> Result<Json<Session>, ApiError> {
    let (Path(id), Sent(set)) = (id?, body?);
    Ok(Json(app.gateway.set_variables(answerer.now()?, id, set.variables).await?))
}

/// Stop what the agent does now; its asks are cancelled.
#[utoipa::path(post, operation_id = "interrupt_session", path = "/v1/sessions/{id}/interrupt", tag = "sessions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = SessionId, Path)),
    responses((status = 200, body = Interrupted), (status = "default", body = Problem)))]
pub(super) async fn interrupt(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<SessionId>, PathRejection>,
    _: Nothing,
) -> Result<Json<Interrupted>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.interrupt(operator.now()?, id).await?))
}
