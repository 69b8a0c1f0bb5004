//! MCP over streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use holdstead_protocol::Problem;
use holdstead_protocol::json::{self, BadJson};
use holdstead_protocol::mcp::flawed;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use utoipa::IntoParams;

use super::interactions::seconds;
use crate::auth::Asker;
use crate::body::{Asked, not_json};
use crate::mcp::{HEADER, Mcp, Named, USUAL_PATIENCE};
use crate::problem::ApiError;
use crate::{App, BODY_LIMIT};

/// The longest a call waits before it says that nobody has answered yet.
const LONGEST_PATIENCE: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Patience {
    /// How long a call may wait for a person before it returns `pending`, in seconds, like `240s`. Left out: `50s`. At
    /// most half an hour, and less than the client's own limit.
    wait: Option<String>,
}

/// One message of the Model Context Protocol, in any of its versions. Its answer is JSON, or a stream of events while
/// a call waits.
#[utoipa::path(post, operation_id = "mcp", path = "/mcp", tag = "mcp",
    security(("bearer" = ["person", "agent", "runner", "admin"])),
    params(Patience), request_body = Object,
    responses((status = 200, description = "a JSON-RPC answer"), (status = 202, description = "a notification was taken"),
        (status = "default", body = Problem)))]
pub(super) async fn serve(
    State(app): State<App>,
    asker: Asker,
    query: Result<Asked<Patience>, ApiError>,
    request: Request,
) -> Result<Response, ApiError> {
    let Asked(patience) = query?;
    let (parts, body) = request.into_parts();
    let body = Request::from_parts(parts.clone(), body);
    let bytes = Bytes::from_request(body, &app).await?;
    let (message, flaw) = json::read_flawed(&bytes).map_err(not_json)?;
    if let Some(flaw) = flaw {
        let refused = || not_json(BadJson::Flaw(flaw.clone()));
        return flawed(&message, &flaw).map(|answer| Json(answer).into_response()).ok_or_else(refused);
    }
    let request = Request::from_parts(parts, Body::from(bytes));
    let patience = match patience.wait.as_deref() {
        Some(text) => seconds(text)?.min(LONGEST_PATIENCE),
        None => USUAL_PATIENCE,
    };
    let id = request.headers().get(HEADER).and_then(|id| id.to_str().ok());
    let mcp = Mcp {
        place: asker.place(None)?,
        caller: asker.now()?.clone(),
        client: id.and_then(Named::from_id).map(|Named(name)| name),
        introduced: Arc::default(),
        patience,
        gateway: app.gateway.clone(),
    };
    let introduced = Arc::clone(&mcp.introduced);
    // Host and Origin were checked for every route.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT)
        .with_cancellation_token(app.gateway.shutdown_token())
        .disable_allowed_hosts();
    let service =
        StreamableHttpService::new(move || Ok(mcp.clone()), Arc::new(NeverSessionManager::default()), config);
    // A device that is revoked meanwhile hears nothing more. What was asked stays.
    let lease = asker.0.lease.clone();
    let response = asker.0.while_good(service.handle(request)).await?;
    let mut response = response.map(Body::new);
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
        let ended = Box::pin(async move { lease.ended().await });
        response = response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)));
    }
    if let Some(name) = introduced.get()
        && let Ok(id) = HeaderValue::from_str(&Named(name.clone()).to_id())
    {
        response.headers_mut().insert(HEADER, id);
    }
    Ok(response)
}
