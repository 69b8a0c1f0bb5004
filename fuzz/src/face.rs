//! A gateway in this process, for the targets that go through the whole network face.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use holdstead_gateway::{Gateway, GatewayConfig, HintsBy, Masks, PolicyConfig, Quota, SecretsKey};
use holdstead_protocol::OwnerId;
use holdstead_protocol::api::Role;
use holdstead_server::{RateLimit, ServerConfig};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const HOST: &str = "127.0.0.1:4780";
/// After so many requests everything begins anew: a journal that only grows would slow the rest down.
const REQUESTS: u32 = 5_000;
/// The longest a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Face {
    runtime: Runtime,
    world: Option<World>,
    left: u32,
}

#[derive(Debug)]
struct World {
    gateway: Gateway,
    router: Router,
    token: String,
    /// An ask that is open, and its prompt.
    ask: String,
    prompt: String,
    session: String,
}

impl Default for Face {
    fn default() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, world: None, left: 0 }
    }
}

impl Face {
    /// Sends one request. `{ask}`, `{prompt}` and `{session}` in its path and body stand for what is there.
    /// The gateway answers every input in time, and never with an internal error.
    pub fn send(&mut self, method: &Method, path: &str, body: &[u8]) -> StatusCode {
        let Self { runtime, world, left } = self;
        if *left == 0 {
            *left = REQUESTS;
            if let Some(old) = world.take() {
                runtime.block_on(old.gateway.stop());
            }
            *world = Some(runtime.block_on(World::new()));
        }
        *left -= 1;
        let world = world.as_ref().expect("just made");
        let sent =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, world.send(method, path, body)).await });
        let status = sent.expect("answered in time");
        assert!(!status.is_server_error(), "{method} {path}: {status}");
        status
    }
}

impl World {
    async fn new() -> Self {
        let journal = holdstead_store::open("sqlite::memory:").await.expect("a journal");
        let config = GatewayConfig {
            hold: GatewayConfig::DEFAULT_HOLD,
            secrets_key: SecretsKey::generate(),
            masks: Masks::default(),
            tools: Vec::new(),
            mcp_url: None,
            quota: Quota::default(),
            policy: PolicyConfig::default(),
            node: None,
            hints_by: HintsBy::Notify,
            age_out: None,
        };
        let gateway = Gateway::start(Arc::clone(&journal), Vec::new(), config).await.expect("a gateway");
        let owner = OwnerId::new("local").expect("a name");
        let token = holdstead_server::issue_token(journal.as_ref(), &owner, Role::Person, "ana", None);
        let token = token.await.expect("a token");
        let server = ServerConfig {
            rate_limit: RateLimit { burst: f64::INFINITY, per_second: f64::INFINITY },
            ..ServerConfig::default()
        };
        let router = holdstead_server::router(gateway.clone(), &server, HOST.parse().expect("an address"));
        let empty = String::new;
        let mut world = Self { gateway, router, token, ask: empty(), prompt: empty(), session: empty() };
        let question = json!({"id": "q", "header": "Q", "question": "Which?", "options": [{"label": "a"}]});
        let call = json!({"key": "k", "toolName": "t", "kind": "question", "questions": [question]});
        let (status, asked) =
            world.answer(&Method::POST, "/v1/interactions", call.to_string().as_bytes()).await;
        assert_eq!(status, StatusCode::CREATED, "{asked}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        world.ask = text(&asked["request"]["interactionId"]);
        world.prompt = text(&asked["request"]["promptId"]);
        world.session = text(&asked["sessionId"]);
        world
    }

    async fn send(&self, method: &Method, path: &str, body: &[u8]) -> StatusCode {
        self.answer(method, path, body).await.0
    }

    async fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (StatusCode, Value) {
        let named = |text: &str| {
            let text = text.replace("{ask}", &self.ask).replace("{prompt}", &self.prompt);
            text.replace("{session}", &self.session)
        };
        let body = match std::str::from_utf8(body) {
            Ok(text) => named(text).into_bytes(),
            Err(_) => body.to_vec(),
        };
        let request = Request::builder()
            .method(method)
            .uri(named(path))
            .header("host", HOST)
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(Body::from(body))
            .expect("a request");
        let response = TowerToHyperService::new(self.router.clone()).call(request).await.expect("infallible");
        let status = response.status();
        // A stream has no end.
        let is_stream =
            response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        if is_stream {
            return (status, Value::Null);
        }
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
