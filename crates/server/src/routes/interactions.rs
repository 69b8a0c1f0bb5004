//! Asks: the inbox, asking, looking and answering.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{LINK, LOCATION};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use holdstead_gateway::{cursor, interaction_off};
use holdstead_protocol::api::{
    AskCall, Interaction, InteractionPage, ManyReceipts, Receipt, Respond, RespondMany, SnoozeAsk,
};
use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{InteractionId, Problem, SessionId};
use holdstead_store::{AskFilter, AskQuery};
use serde::Deserialize;
use utoipa::IntoParams;

use super::aliases::in_our_words;
use crate::App;
use crate::auth::{Answerer, Asker, Reader, answers_here};
use crate::body::{Asked, Sent, Whole, fitting};
use crate::problem::ApiError;

/// The longest a request waits for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Inbox {
    /// `open` (what can still be answered) or `all`.
    #[param(inline)]
    state: Option<Which>,
    #[param(value_type = Option<String>)]
    session: Option<SessionId>,
    /// `next` of the page before.
    after: Option<String>,
    limit: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Which {
    Open,
    All,
}

/// The asks, the oldest first.
#[utoipa::path(get, operation_id = "list_interactions", path = "/v1/interactions", tag = "interactions",
    security(("bearer" = ["person", "viewer", "agent", "runner", "admin"])),
    params(Inbox),
    responses((status = 200, body = InteractionPage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Inbox>, ApiError>,
) -> Result<Json<InteractionPage>, ApiError> {
    let Asked(inbox) = query?;
    let owner = match inbox.session {
        Some(session) => reader.owner_for(session)?,
        None => reader.owner()?,
    };
    let only = match inbox.state.unwrap_or(Which::Open) {
        Which::Open => AskFilter::Live,
        Which::All => AskFilter::All,
    };
    let limit = cursor::page_size(inbox.limit);
    let after = inbox.after.as_deref().map(cursor::parse).transpose()?;
    let query = AskQuery { owner: owner.clone(), session: inbox.session, only, after, limit };
    Ok(Json(app.gateway.page(query).await?))
}

/// Ask a person, from any program. The same key finds the same ask.
#[utoipa::path(post, path = "/v1/interactions", tag = "interactions",
    security(("bearer" = ["person", "agent", "runner", "admin"])),
    request_body = AskCall,
    responses(
        (status = 201, body = Interaction, headers(
            ("Location" = String, description = "the ask; with `?wait=60s` its answer, as soon as there is one"),
            ("Link" = String, description = "where a person answers it, as `rel=\"alternate\"`"))),
        (status = "default", body = Problem)))]
pub(super) async fn ask(
    State(app): State<App>,
    asker: Asker,
    body: Result<Whole, ApiError>,
) -> Result<(StatusCode, [(HeaderName, String); 2], Json<Interaction>), ApiError> {
    let Whole(call) = body?;
    let call: AskCall = fitting(in_our_words(call)?)?;
    let place = asker.place(call.session_id)?;
    let interaction = app.gateway.ask(asker.now()?, place, call).await?;
    // Whoever waits for the answer hears nothing until it comes: here they can say what for, and where to give it.
    let (id, session) = (interaction.request.interaction_id, interaction.session_id);
    let page = format!("</sessions/{session}?ask={id}>; rel=\"alternate\"; type=\"text/html\"");
    let headers = [(LOCATION, format!("/v1/interactions/{id}")), (LINK, page)];
    Ok((StatusCode::CREATED, headers, Json(interaction)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Waiting {
    /// How long to wait until it is settled or closed, in seconds, like `30s`. Left out: not at all. More than `60s`
    /// counts as a minute. Nothing is sent before the answer: tell whoever runs the program what it waits for.
    wait: Option<String>,
}

/// One ask, and with `wait` its answer as soon as there is one.
#[utoipa::path(get, operation_id = "show_interaction", path = "/v1/interactions/{id}", tag = "interactions",
    security(("bearer" = ["person", "viewer", "agent", "runner", "admin"])),
    params(("id" = InteractionId, Path), Waiting),
    responses((status = 200, body = Interaction), (status = "default", body = Problem)))]
pub(super) async fn show(
    State(app): State<App>,
    reader: Reader,
    id: Result<Path<InteractionId>, PathRejection>,
    query: Result<Asked<Waiting>, ApiError>,
) -> Result<Json<Interaction>, ApiError> {
    let (Path(id), Asked(waiting)) = (id?, query?);
    let first = app.gateway.interaction(&reader.now()?.owner, id).await?;
    reader.owner_for(first.session_id)?;
    let wait = waiting.wait.as_deref().map(seconds).transpose()?;
    let interaction = match wait.filter(|_| !first.state.is_over()) {
        None => first,
        Some(wait) => {
            let wait = wait.min(LONGEST_WAIT);
            reader.0.while_good(app.gateway.wait_settled(reader.now()?, first, wait)).await??
        }
    };
    let person = reader.now()?;
    let handed = if reader.is_program() {
        app.gateway.fetched(interaction).await?
    } else {
        app.gateway.read_by(person, interaction).await?
    };
    Ok(Json(handed))
}

pub(super) fn seconds(text: &str) -> Result<Duration, ApiError> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| ApiError::BadRequest("Write the wait like `30s`.".to_owned()))
}

/// Withdraw an ask: only the token that asked can, until a person answers. A repeat changes nothing.
#[utoipa::path(delete, operation_id = "withdraw_interaction", path = "/v1/interactions/{id}", tag = "interactions",
    security(("bearer" = ["person", "agent", "runner", "admin"])),
    params(("id" = InteractionId, Path)),
    responses(
        (status = 200, body = Interaction),
        (status = 403, description = "another token asked", body = Problem),
        (status = 409, description = "a person answered first; `winner` says who", body = Problem),
        (status = 410, description = "the ask closed in another way", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn withdraw(
    State(app): State<App>,
    asker: Asker,
    id: Result<Path<InteractionId>, PathRejection>,
) -> Result<Json<Interaction>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.withdraw(asker.now()?, id).await?))
}

/// Answer an ask. The first answer wins.
#[utoipa::path(post, path = "/v1/interactions/{id}/respond", tag = "interactions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = InteractionId, Path)), request_body = Respond,
    responses(
        (status = 200, body = Receipt),
        (status = 403, description = "answering is off for this client", body = Problem),
        (status = 409, description = "lost, or the prompt is stale", body = Problem),
        (status = 410, description = "the ask is closed", body = Problem),
        (status = 422, description = "the answer does not fit; fieldErrors says where", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn respond(
    State(app): State<App>,
    answerer: Answerer,
    headers: HeaderMap,
    id: Result<Path<InteractionId>, PathRejection>,
    body: Result<Sent<Respond>, ApiError>,
) -> Result<Json<Receipt>, ApiError> {
    let (Path(id), Sent(body)) = (id?, body?);
    if answers_here(&headers) == InteractionMode::Off {
        return Err(interaction_off().into());
    }
    Ok(Json(app.gateway.respond(answerer.now()?, id, body).await?))
}

/// Put an ask out of sight for a while, on every screen. It stays as it is, and so does its deadline.
#[utoipa::path(put, operation_id = "snooze_interaction", path = "/v1/interactions/{id}/snooze", tag = "interactions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = InteractionId, Path)), request_body = SnoozeAsk,
    responses(
        (status = 200, body = Interaction),
        (status = 409, description = "the prompt is stale, or the ask was answered", body = Problem),
        (status = 410, description = "the ask is closed", body = Problem),
        (status = 422, description = "`until` is past or more than seven days away", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn snooze(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<InteractionId>, PathRejection>,
    body: Result<Sent<SnoozeAsk>, ApiError>,
) -> Result<Json<Interaction>, ApiError> {
    let (Path(id), Sent(body)) = (id?, body?);
    Ok(Json(app.gateway.snooze(answerer.now()?, id, body).await?))
}

/// Show a snoozed ask again, on every screen.
#[utoipa::path(delete, operation_id = "unsnooze_interaction", path = "/v1/interactions/{id}/snooze", tag = "interactions",
    security(("bearer" = ["person", "admin"])),
    params(("id" = InteractionId, Path)),
    responses((status = 200, body = Interaction), (status = "default", body = Problem)))]
pub(super) async fn unsnooze(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<InteractionId>, PathRejection>,
) -> Result<Json<Interaction>, ApiError> {
    let Path(id) = id?;
    Ok(Json(app.gateway.unsnooze(answerer.now()?, id).await?))
}

/// Answer several asks at once: each has its own prompt, key, decision and receipt. Marked ones are refused.
#[utoipa::path(post, operation_id = "respond_to_many", path = "/v1/interactions/respond", tag = "interactions",
    security(("bearer" = ["person", "admin"])),
    request_body = RespondMany,
    responses(
        (status = 200, body = ManyReceipts),
        (status = 403, description = "answering is off for this client", body = Problem),
        (status = "default", body = Problem)))]
pub(super) async fn respond_to_many(
    State(app): State<App>,
    answerer: Answerer,
    headers: HeaderMap,
    body: Result<Sent<RespondMany>, ApiError>,
) -> Result<Json<ManyReceipts>, ApiError> {
    let Sent(body) = body?;
    if answers_here(&headers) == InteractionMode::Off {
        return Err(interaction_off().into());
    }
    Ok(Json(app.gateway.respond_to_many(answerer.now()?, body).await?))
}
