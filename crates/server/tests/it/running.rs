//! A gateway and its server on a free port, and clients with tokens of every role.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use holdstead_agents::host::Host;
use holdstead_agents::scripted::ScriptedDriver;
use holdstead_agents::{BoxSetting, Boxes};
use holdstead_client::Browser;
use holdstead_gateway::{Gateway, GatewayConfig, HintsBy, Masks, PolicyConfig, Quota, SecretsKey, Tool};
use holdstead_protocol::OwnerId;
use holdstead_protocol::api::Role;
use holdstead_server::{Listener, ServerConfig};
use holdstead_store::{DeviceRecord, Journal};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) gateway: Gateway,
    http: reqwest::Client,
    key: SecretsKey,
    serving: JoinHandle<()>,
    _state: TempDir,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_with(ServerConfig::default()).await
    }

    pub(crate) async fn start_with(server: ServerConfig) -> Self {
        Self::serving(server, Vec::new()).await
    }

    /// With tools of somebody's own.
    pub(crate) async fn start_with_tools(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::serving(ServerConfig::default(), tools).await
    }

    async fn serving(server: ServerConfig, tools: Vec<Arc<dyn Tool>>) -> Self {
        let journal = holdstead_store::open("sqlite::memory:").await.expect("a journal");
        Self::on(journal, server, tools).await
    }

    /// On a journal of the test's own.
    pub(crate) async fn on(
        journal: Arc<dyn Journal>,
        server: ServerConfig,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let address = "127.0.0.1:0".parse().expect("an address");
        Self::with_key(journal, server, tools, SecretsKey::generate(), address).await
    }

    /// Another node of the same deployment, as far as SQLite has any.
    pub(crate) async fn beside(&self) -> Self {
        let (journal, address) = (self.gateway.journal().clone(), "127.0.0.1:0".parse().expect("an address"));
        Self::with_key(journal, ServerConfig::default(), Vec::new(), self.key.clone(), address).await
    }

    /// The next process, at the same address.
    pub(crate) async fn restarted(self) -> Self {
        let address = self.url.trim_start_matches("http://").parse().expect("an address");
        self.gateway.stop().await;
        self.serving.await.expect("it served to its end");
        let journal = self.gateway.journal().clone();
        Self::with_key(journal, ServerConfig::default(), Vec::new(), self.key, address).await
    }

    async fn with_key(
        journal: Arc<dyn Journal>,
        server: ServerConfig,
        tools: Vec<Arc<dyn Tool>>,
        key: SecretsKey,
        address: SocketAddr,
    ) -> Self {
        let state = TempDir::new().expect("a folder");
        let host =
            Host::new(vec![scripted_agent(), "agent-host".to_owned()], Boxes::new(BoxSetting::None, &[]));
        let driver = ScriptedDriver::new(host, vec![scripted_agent()], state.path().to_owned());
        let config = GatewayConfig {
            node: None,
            hints_by: HintsBy::Notify,
            age_out: None,
            hold: GatewayConfig::DEFAULT_HOLD,
            secrets_key: key.clone(),
            masks: Masks::default(),
            tools,
            mcp_url: None,
            quota: Quota::default(),
            policy: PolicyConfig::default(),
        };
        let gateway = Gateway::start(journal, vec![Arc::new(driver)], config).await.expect("a gateway");
        let listener = Listener::bind(address).expect("a port");
        let url = format!("http://{}", listener.address());
        let serving = gateway.clone();
        let serving = tokio::spawn(async move { holdstead_server::serve(listener, serving, &server).await });
        let http = holdstead_client::requests_to(&url).build().expect("a client");
        Self { url, gateway, http, key, serving, _state: state }
    }

    pub(crate) async fn client(&self, role: Role, name: &str) -> Client<'_> {
        self.client_in(role, name, None).await
    }

    pub(crate) async fn client_in(
        &self,
        role: Role,
        name: &str,
        session: Option<holdstead_protocol::SessionId>,
    ) -> Client<'_> {
        let owner = OwnerId::new("local").expect("a name");
        let journal = self.gateway.journal().as_ref();
        let token =
            holdstead_server::issue_token(journal, &owner, role, name, session).await.expect("a token");
        Client { running: self, token }
    }

    /// A browser that a link of this person logs in.
    pub(crate) async fn browser(&self, person: &Client<'_>) -> Browser {
        let browser = Browser::new(&self.url);
        let (_, link) = person.post("/v1/login-links", &json!({})).await;
        let code = json!({"code": link["code"]});
        let answer = browser.send(Method::POST, "/v1/login", Some(&code)).await.expect("an answer");
        assert_eq!(answer.status(), 200, "{}", answer.text().await.expect("a body"));
        browser
    }

    /// The device that a token belongs to.
    pub(crate) async fn device(&self, token: &str) -> DeviceRecord {
        let hash = holdstead_store::token_hash(token);
        let found = self.gateway.journal().device_by_hash(&hash).await.expect("a look");
        found.expect("it is known").0
    }

    pub(crate) fn plain(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).timeout(PATIENCE)
    }
}

/// The agent's program lies beside this test's folder.
fn scripted_agent() -> String {
    let test = std::env::current_exe().expect("this test has a path");
    let program: PathBuf = test
        .parent()
        .and_then(|deps| deps.parent())
        .expect("a target folder")
        .join("holdstead-scripted-agent");
    assert!(program.exists(), "build the agent first: cargo build -p holdstead-agents");
    program.to_string_lossy().into_owned()
}

pub(crate) struct Client<'a> {
    pub(crate) running: &'a Running,
    pub(crate) token: String,
}

impl Client<'_> {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.running.plain(method, path).bearer_auth(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let request = self.request(Method::GET, path).header("accept", "application/json");
        read(request.send().await.expect("an answer")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        read(self.request(Method::POST, path).json(body).send().await.expect("an answer")).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        read(self.request(Method::DELETE, path).send().await.expect("an answer")).await
    }

    /// Opens a session and gives the agent its script.
    pub(crate) async fn session(&self, script: &str) -> String {
        let (status, session) =
            self.post("/v1/sessions", &json!({"agent": "scripted", "title": "shop-api"})).await;
        assert_eq!(status, 201, "{session}");
        let id = session["sessionId"].as_str().expect("an id").to_owned();
        let (status, accepted) =
            self.post(&format!("/v1/sessions/{id}/messages"), &json!({"text": script})).await;
        assert_eq!(status, 202, "{accepted}");
        id
    }

    /// Follows a stream until `enough`, and returns what was seen.
    pub(crate) async fn follow(&self, path: &str, mut enough: impl FnMut(&Frame) -> bool) -> Vec<Frame> {
        let response = self.request(Method::GET, path).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let mut bytes = response.bytes_stream();
        let mut rest = String::new();
        let mut seen = Vec::new();
        while let Some(chunk) = bytes.next().await {
            rest.push_str(std::str::from_utf8(&chunk.expect("bytes")).expect("text"));
            while let Some(end) = rest.find("\n\n") {
                let block: String = rest.drain(..end + 2).collect();
                let field = |name: &str| {
                    block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").to_owned()
                };
                let data = field("data: ");
                if data.is_empty() {
                    continue;
                }
                let data = serde_json::from_str(&data).expect("JSON");
                seen.push(Frame { id: field("id: "), name: field("event: "), data });
                if enough(seen.last().expect("just pushed")) {
                    return seen;
                }
            }
        }
        seen
    }

    /// The next open ask of a session.
    pub(crate) async fn open_ask(&self, session: &str) -> Value {
        let path = format!("/v1/sessions/{session}/events");
        self.follow(&path, |frame| frame.name == "interaction_request").await;
        let (_, page) = self.get(&format!("/v1/interactions?session={session}")).await;
        page["interactions"][0].clone()
    }

    pub(crate) async fn respond(&self, ask: &Value, key: &str, response: Value) -> (u16, Value) {
        let mut body = response;
        body["promptId"] = ask["request"]["promptId"].clone();
        body["idempotencyKey"] = json!(key);
        let id = ask["request"]["interactionId"].as_str().expect("an id");
        self.post(&format!("/v1/interactions/{id}/respond"), &body).await
    }
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Its status, and its body as JSON.
pub(crate) async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}
