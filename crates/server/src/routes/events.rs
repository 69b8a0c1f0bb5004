//! The journal of a session and the changes of an inbox, as they happen.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use holdstead_gateway::cursor as place;
use holdstead_gateway::{EventStream, InboxFrame, InboxStream, Told, Watch, Watching};
use holdstead_protocol::api::{EventPage, Resume};
use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{Event, Problem, Seq, SessionId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::presence::watching;
use crate::App;
use crate::auth::Reader;
use crate::body::Asked;
use crate::problem::ApiError;
use crate::sse;

const PAGE: u32 = 500;
const LARGEST_PAGE: u32 = 2_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Cursor {
    /// The last event the client has. `Last-Event-ID` goes before it.
    after: Option<u64>,
    /// How many events a JSON page has.
    limit: Option<u32>,
    /// The name of this client among those of its person.
    pub(super) client: Option<String>,
    /// `off`: this client shows asks and does not answer them.
    #[param(inline)]
    pub(super) interaction: Option<InteractionMode>,
}

impl Cursor {
    /// A browser that reconnects says where it was in a header of its own.
    pub(super) fn place(&self, headers: &HeaderMap) -> Seq {
        let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
        Seq(last.or(self.after).unwrap_or(0))
    }
}

/// A session's events, as a stream or page by page.
#[utoipa::path(get, operation_id = "session_events", path = "/v1/sessions/{id}/events", tag = "events",
    security(("bearer" = ["person", "viewer", "agent", "runner", "admin"])),
    params(("id" = SessionId, Path), Cursor),
    responses(
        (status = 200, content(
            (EventPage = "application/json"),
            (Event = "text/event-stream"),
        ), description = "a page with `Accept: application/json`, else a stream whose ids are `seq`"),
        (status = "default", body = Problem)))]
pub(super) async fn session(
    State(app): State<App>,
    reader: Reader,
    id: Result<Path<SessionId>, PathRejection>,
    query: Result<Asked<Cursor>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (Path(id), Asked(cursor)) = (id?, query?);
    let owner = reader.owner_for(id)?;
    let after = cursor.place(&headers);
    if wants_json(&headers) {
        let limit = cursor.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
        let (events, head) = app.gateway.read(owner, id, after, limit).await?;
        return Ok(Json(EventPage { events, head }).into_response());
    }
    let now = app.gateway.session(owner, id).await?;
    let (after, resume) = place::resume(after, now);
    let watching = watching(&app, &reader, &cursor, Watch::Session(id));
    let events = app.gateway.stream(owner, id, after).await?;
    let tail = Tail { resume: Some(resume), events, _watching: watching };
    Ok(sse::stream(tail, app.gateway.serving_token(), reader.0.lease.clone(), next_event))
}

fn wants_json(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"))
}

struct Tail {
    resume: Option<Resume>,
    events: EventStream,
    _watching: Watching,
}

async fn next_event(mut tail: Tail) -> Option<(Bytes, Tail)> {
    if let Some(resume) = tail.resume.take() {
        return Some((sse::frame("resume", &resume), tail));
    }
    let told = read(&mut tail.events).await?;
    Some((shared_frame(&told), tail))
}

/// The next event. A stream that cannot go on ends: the client comes back with its cursor.
pub(super) async fn read(events: &mut EventStream) -> Option<Arc<Told>> {
    match events.next_told().await {
        Ok(told) => told,
        Err(error) => {
            tracing::error!(%error, "a stream ended");
            None
        }
    }
}

/// The event as it is, in one frame for all who watch.
pub(super) fn shared_frame(told: &Told) -> Bytes {
    let event = &told.event;
    let write = || sse::placed(event.seq, event.body.event_type().as_str(), event);
    told.stream_frame.get_or_init(write).clone()
}

/// What waits for a person, as a stream.
#[utoipa::path(get, operation_id = "inbox_events", path = "/v1/interactions/events", tag = "events",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(Cursor),
    responses(
        (status = 200, content_type = "text/event-stream", body = holdstead_protocol::api::InboxUpsert,
            description = "`snapshot` (an InteractionPage; with `next`, the rest is fetched page by page), then `upsert`s: the higher seq wins. Every reconnect snapshots."),
        (status = "default", body = Problem)))]
pub(super) async fn inbox(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Cursor>, ApiError>,
) -> Result<Response, ApiError> {
    let Asked(cursor) = query?;
    let owner = reader.owner()?;
    let watching = watching(&app, &reader, &cursor, Watch::Inbox);
    let inbox = (app.gateway.inbox(owner), watching);
    Ok(sse::stream(inbox, app.gateway.serving_token(), reader.0.lease.clone(), next_change))
}

async fn next_change(watched: (InboxStream, Watching)) -> Option<(Bytes, (InboxStream, Watching))> {
    let (mut inbox, watching) = watched;
    let frame = match inbox.next().await {
        Ok(frame) => frame?,
        Err(error) => {
            tracing::error!(%error, "an inbox stream ended");
            return None;
        }
    };
    let frame = match frame {
        InboxFrame::Snapshot(page) => sse::frame("snapshot", &page),
        InboxFrame::Upsert(upsert) => sse::frame("upsert", &upsert),
    };
    Some((frame, (inbox, watching)))
}
