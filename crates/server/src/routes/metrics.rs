//! What the gateway counts, for Prometheus.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use holdstead_protocol::Problem;

use crate::App;
use crate::auth::Scraper;
use crate::metrics::{CONTENT, process, text};

/// What this node counts, in Prometheus' text format. For tokens of the roles `metrics` and `admin`.
#[utoipa::path(get, operation_id = "read_metrics", path = "/metrics", tag = "meta",
    security(("bearer" = ["metrics", "admin"])),
    responses((status = 200, description = "metrics", body = String, content_type = "text/plain"),
        (status = "default", body = Problem)))]
pub(super) async fn read(State(app): State<App>, _: Scraper) -> impl IntoResponse {
    let mut metrics = app.gateway.metrics().await;
    metrics.push(app.answered.metric());
    metrics.extend(process());
    ([(CONTENT_TYPE, CONTENT)], text(&metrics))
}
