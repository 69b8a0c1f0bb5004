//! The network face: HTTP, server-sent events, tokens, the OpenAPI document and the page.
//!
//! Every request is checked for Host and Origin and carries a token; who acts is derived from it. This crate
//! decides nothing: it translates between HTTP and the gateway.

mod addresses;
mod auth;
mod body;
mod browser_name;
mod connections;
mod csv;
mod doubtful;
mod guard;
mod limit;
mod listen;
mod mcp;
mod metrics;
mod network;
mod page;
mod problem;
mod qr;
mod refused;
mod routes;
mod signed;
mod sse;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use holdstead_gateway::{Gateway, NonceAge};
use holdstead_protocol::signature::NONCE_HEADER;

use problem::ApiError;

pub use addresses::private_addresses;
pub use connections::ConnectionBounds;
pub use limit::RateLimit;
pub use listen::{ListenError, Listener};
pub use page::has_web_ui;
pub use tokens::{
    LINK_LIFETIME, NewDevice, TokenError, add_device, issue_link, issue_token, named, register,
};

/// The largest body that is read.
const BODY_LIMIT: usize = 1024 * 1024;

/// What the server needs besides the gateway.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Further names under which the server is reached, with port if it is not the default one.
    pub allowed_hosts: Vec<String>,
    /// What one token may send.
    pub rate_limit: RateLimit,
    /// What one machine that runs agents may send.
    pub runner_rate_limit: RateLimit,
    /// How many connections there may be, and for how long they may keep us waiting.
    pub connections: ConnectionBounds,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            rate_limit: RateLimit::default(),
            runner_rate_limit: RateLimit::RUNNER,
            connections: ConnectionBounds::default(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) gateway: Gateway,
    pub(crate) hosts: Arc<guard::AllowedHosts>,
    pub(crate) doors: Arc<network::Doors>,
    pub(crate) openapi: Arc<str>,
    /// Of each token that was let in.
    pub(crate) limits: Arc<limit::Limits>,
    /// Of each machine that runs agents.
    pub(crate) runner_limits: Arc<limit::Limits>,
    pub(crate) doubtful: Arc<doubtful::Doubtful>,
    pub(crate) scrapers: Arc<metrics::Scrapers>,
    pub(crate) answered: Arc<metrics::Answered>,
}

/// The OpenAPI document, from the code.
pub fn openapi() -> serde_json::Value {
    routes::document(&routes::api().split_for_parts().1)
}

/// Every route, for an address it will be reached under. Nothing is opened besides.
pub fn router(gateway: Gateway, config: &ServerConfig, address: SocketAddr) -> Router {
    routed(gateway, config, address).0
}

/// Every route, for an address it will be reached under, and the sockets that are opened by one of them.
fn routed(gateway: Gateway, config: &ServerConfig, address: SocketAddr) -> (Router, network::Opened) {
    let (api, document) = routes::api().split_for_parts();
    let (doors, opened) = network::Doors::new(address);
    let app = App {
        gateway,
        hosts: Arc::new(guard::AllowedHosts::new(address, &config.allowed_hosts)),
        doors: Arc::new(doors),
        openapi: routes::document(&document).to_string().into(),
        limits: Arc::new(limit::Limits::new(config.rate_limit)),
        runner_limits: Arc::new(limit::Limits::new(config.runner_rate_limit)),
        doubtful: Arc::default(),
        scrapers: Arc::default(),
        answered: Arc::default(),
    };
    let router = api
        .merge(page::routes())
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(axum::middleware::from_fn_with_state(app.clone(), around))
        .with_state(app);
    (router, opened)
}

/// Around every route: whoever may not come in does not, and a refusal has the form that its reader expects.
async fn around(State(app): State<App>, request: Request, next: Next) -> Response {
    let in_short = routes::short::is_short(request.uri());
    let as_page = refused::wants_page(request.headers());
    let (response, nonce) = match guard::check(&app, &request) {
        Ok(()) if page::wants_service_worker(&request) => (page::service_worker(request.headers()), None),
        Ok(()) => match signed::read(&app.gateway, request) {
            Ok((request, age)) => (next.run(request).await, age),
            Err(error @ ApiError::NonceRefused) => (error.into_response(), Some(NonceAge::Old)),
            Err(error) => (error.into_response(), None),
        },
        Err(error) => (error.into_response(), None),
    };
    app.answered.count(response.status());
    let response = if in_short { routes::short::with_short_error(response) } else { response };
    let mut response = if as_page { refused::as_page(response) } else { response };
    if nonce == Some(NonceAge::Old)
        && let Ok(next) = HeaderValue::from_str(&app.gateway.nonce())
    {
        response.headers_mut().insert(NONCE_HEADER, next);
    }
    response
}

/// Serves until the gateway goes away. Open streams end then; work under way does not.
pub async fn serve(listener: Listener, gateway: Gateway, config: &ServerConfig) {
    let shutdown = gateway.shutdown_token();
    let (router, opened) = routed(gateway, config, listener.address());
    connections::serve(listener, opened, router, config.connections, shutdown).await;
}
