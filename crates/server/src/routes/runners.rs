//! Machines that run agents: they dial in over a socket of their own.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_gateway::{Dialled, Ended, Wire};
use holdstead_protocol::Problem;
use holdstead_protocol::api::{RemoveRunner, RemovedRunner, Runners};
use tokio::sync::mpsc;

use super::socket::message_size;
use crate::App;
use crate::auth::{Caller, Hosting, Operator, Reader};
use crate::body::Sent;
use crate::limit::{Cost, Key};
use crate::problem::ApiError;

/// What a runner sends may be as large as what an agent says.
const FRAME_LIMIT: usize = 64 * 1024 * 1024;
/// How many frames wait to be taken in.
const QUEUE: usize = 64;
/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The machines that run this owner's agents and are connected.
#[utoipa::path(get, operation_id = "list_runners", path = "/v1/runners", tag = "runners",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = Runners), (status = "default", body = Problem)))]
pub(super) async fn list(State(app): State<App>, reader: Reader) -> Result<Json<Runners>, ApiError> {
    Ok(Json(Runners { runners: app.gateway.connected_runners(reader.owner()?).await? }))
}

/// Remove a machine: its token is taken back and its sessions end, with words. Answers it was not handed are never delivered.
#[utoipa::path(post, operation_id = "remove_runner", path = "/v1/runners/remove", tag = "runners",
    security(("bearer" = ["admin"])),
    request_body = RemoveRunner, responses((status = 200, body = RemovedRunner), (status = "default", body = Problem)))]
pub(super) async fn remove(
    State(app): State<App>,
    operator: Operator,
    body: Result<Sent<RemoveRunner>, ApiError>,
) -> Result<Json<RemovedRunner>, ApiError> {
    let Sent(runner) = body?;
    Ok(Json(app.gateway.remove_runner(operator.now()?, &runner.name).await?))
}

/// A runner dials in: it runs agents on its machine, and this gateway speaks for them while the socket is open.
#[utoipa::path(get, operation_id = "connect_runner", path = "/v1/runner", tag = "runners",
    security(("bearer" = ["runner"])),
    responses((status = 101, description = "frames between a runner and its gateway, of the same version"),
        (status = "default", body = Problem)))]
pub(super) async fn connect(
    State(app): State<App>,
    hosting: Hosting,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    hosting.0.now()?;
    let upgrade = upgrade.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let upgrade = upgrade.max_message_size(FRAME_LIMIT).max_frame_size(FRAME_LIMIT);
    Ok(upgrade.on_upgrade(|socket| attend(app, hosting, socket)))
}

/// One for the machine, however many connections it opens.
fn bucket(caller: &Caller) -> Key {
    let mut key = Key::default();
    key[..16].copy_from_slice(caller.person_id.uuid().as_bytes());
    key
}

async fn attend(app: App, Hosting(caller): Hosting, socket: WebSocket) {
    let (mut sink, mut incoming) = socket.split();
    let (send, mut to_send) = mpsc::unbounded_channel::<String>();
    let (taken, receive) = mpsc::channel(QUEUE);
    let mut writer = tokio::spawn(async move {
        while let Some(text) = to_send.recv().await {
            if sink.send(Message::text(text)).await.is_err() {
                return;
            }
        }
        // The other side may be gone already.
        drop(sink.close().await);
    });
    let (limits, runner, lease) = (Arc::clone(&app.runner_limits), bucket(&caller), caller.lease.clone());
    let reader = tokio::spawn(async move {
        while let Some(Ok(message)) = incoming.next().await {
            // What comes next stays with the machine until its quota has room.
            limits.paid(&runner, Cost::frame(message_size(&message))).await;
            // Its token may have been revoked while the frame waited.
            if !lease.is_good() {
                return;
            }
            let text = match message {
                Message::Text(text) => text.as_str().to_owned(),
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Binary(_) | Message::Close(_) => return,
            };
            if taken.send(text).await.is_err() {
                return;
            }
        }
    });
    let dialled = Dialled {
        id: caller.person_id.into(),
        name: caller.person.name.clone(),
        owner: caller.person.owner.clone(),
    };
    let shutdown = app.gateway.shutdown_token();
    let ended = tokio::select! {
        // Frames that wait in the queue count only while its token is good.
        biased;
        () = caller.lease.ended() => Ended::Refused("its token was revoked".to_owned()),
        ended = app.gateway.host_runner(dialled, Wire { send, receive }) => ended,
        () = shutdown.cancelled() => Ended::LetGo,
    };
    tracing::debug!(runner = caller.person.name, %ended, "the socket of a runner ends");
    reader.abort();
    // It ends with its queue, unless the other side does not read.
    if tokio::time::timeout(LAST_WORDS, &mut writer).await.is_err() {
        writer.abort();
    }
}
