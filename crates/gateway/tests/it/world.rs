//! A gateway on a journal of its own, and what a person sees of a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdstead_agents::scripted::ScriptedDriver;
use holdstead_agents::{BoxSetting, Boxes, Driver};
use holdstead_core::policy::rule::RuleFile;
use holdstead_gateway::{
    EventStream, Gateway, GatewayConfig, GatewayError, HintsBy, Masks, Person, PolicyConfig, Quota,
    SecretsKey, Tool,
};
use holdstead_protocol::api::{OpenSession, Receipt, Respond, SendMessage};
use holdstead_protocol::{
    AgentState, AskChange, Delivery, Done, Event, EventBody, Hold, InteractionClosed, InteractionId,
    InteractionRequest, OwnerId, PermissionMode, PromptId, ResponseDraft, Seq, SessionId, SessionStatus,
    StopReason, Surface, ToolResult,
};
use serde_json::{Map, Value};
use tempfile::TempDir;

/// Far longer than anything takes; only a test that fails waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) folder: Arc<TempDir>,
}

impl World {
    /// With the scripted agent, and a journal in a file.
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap())).await
    }

    /// On what an earlier gateway left in this folder.
    pub(crate) async fn on(folder: Arc<TempDir>) -> Self {
        let driver = scripted(&folder);
        Self::hosting(folder, Arc::new(driver)).await
    }

    pub(crate) async fn refusing_parking() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let driver = scripted(&folder).refusing_parking();
        Self::hosting(folder, Arc::new(driver)).await
    }

    pub(crate) async fn hosting(folder: Arc<TempDir>, driver: Arc<dyn Driver>) -> Self {
        Self::with(folder, driver, Vec::new()).await
    }

    /// With rules of an organisation.
    pub(crate) async fn with_rules(rules: &str) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let policy = PolicyConfig { rules: RuleFile::parse(rules).unwrap(), marked_words: Vec::new() };
        let driver = Arc::new(scripted(&folder));
        Self::configured(folder, driver, GatewayConfig { policy, ..config(GatewayConfig::DEFAULT_HOLD) })
            .await
    }

    /// With tools that agents can call.
    pub(crate) async fn with_tools(folder: Arc<TempDir>, tools: Vec<Arc<dyn Tool>>) -> Self {
        let driver = scripted(&folder);
        Self::with(folder, Arc::new(driver), tools).await
    }

    async fn with(folder: Arc<TempDir>, driver: Arc<dyn Driver>, tools: Vec<Arc<dyn Tool>>) -> Self {
        let config = GatewayConfig { tools, ..config(GatewayConfig::DEFAULT_HOLD) };
        Self::configured(folder, driver, config).await
    }

    async fn configured(folder: Arc<TempDir>, driver: Arc<dyn Driver>, config: GatewayConfig) -> Self {
        let url = format!("sqlite:{}", folder.path().join("journal.db").display());
        let journal = holdstead_store::open(&url).await.unwrap();
        let gateway = Gateway::start(journal, vec![driver], config).await.unwrap();
        Self { gateway, folder }
    }

    /// Stops this gateway and starts another one on the same journal.
    pub(crate) async fn restart(self) -> Self {
        self.gateway.stop().await;
        self.gateway.journal().close().await;
        Self::on(self.folder).await
    }

    pub(crate) async fn talk(&self) -> Talk {
        self.talk_in(PermissionMode::Default).await
    }

    pub(crate) async fn talk_in(&self, mode: PermissionMode) -> Talk {
        let cwd = Some(self.folder.path().display().to_string());
        Talk::open(&self.gateway, OpenSession { cwd, permission_mode: mode, ..opening("scripted") }).await
    }
}

/// The key stays the same over restarts, as it does in its file.
pub(crate) fn config(hold: Hold) -> GatewayConfig {
    let digits = "5".repeat(64);
    let key = SecretsKey::from_secret_text(&format!("holdstead-secrets-key-{digits}"));
    GatewayConfig {
        node: None,
        hints_by: HintsBy::Notify,
        age_out: None,
        hold,
        secrets_key: key.unwrap(),
        masks: Masks::default(),
        tools: Vec::new(),
        mcp_url: None,
        quota: Quota::default(),
        policy: PolicyConfig::default(),
    }
}

pub(crate) fn scripted(folder: &TempDir) -> ScriptedDriver {
    let program = scripted_agent().display().to_string();
    let boxes = Boxes::new(BoxSetting::None, &[]);
    let host = holdstead_agents::host::Host::new(vec![program.clone(), "agent-host".to_owned()], boxes);
    ScriptedDriver::new(host, vec![program], folder.path().join("agent"))
}

fn scripted_agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("holdstead-scripted-agent");
    assert!(
        program.exists(),
        "{} is missing: run `cargo build -p holdstead-agents` first",
        program.display()
    );
    program
}

pub(crate) fn opening(agent: &str) -> OpenSession {
    OpenSession::new(agent)
}

pub(crate) fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).unwrap()
}

pub(crate) fn ada() -> Person {
    Person::new(owner("ada"), "Ada", Surface::Web)
}

/// One session, as somebody who watches it from its first event sees it.
pub(crate) struct Talk {
    pub(crate) gateway: Gateway,
    pub(crate) session: SessionId,
    pub(crate) seen: Vec<Event>,
    events: EventStream,
}

impl Talk {
    pub(crate) async fn open(gateway: &Gateway, open: OpenSession) -> Self {
        let session = gateway.open_session(&ada(), open).await.unwrap().session_id;
        Self::watch(gateway, session, Seq(0)).await
    }

    pub(crate) async fn watch(gateway: &Gateway, session: SessionId, after: Seq) -> Self {
        let events = gateway.stream(&owner("ada"), session, after).await.unwrap();
        Self { gateway: gateway.clone(), session, seen: Vec::new(), events }
    }

    /// The same session, from here on, on another gateway.
    pub(crate) async fn on(self, world: &World) -> Self {
        let after = self.seen.last().map_or(Seq(0), |event| event.seq);
        Self { seen: self.seen, ..Self::watch(&world.gateway, self.session, after).await }
    }

    pub(crate) async fn say(&self, text: &str) {
        self.gateway.message(&ada(), self.session, SendMessage::new(text)).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.events.next()).await;
        let event = next
            .unwrap_or_else(|_| panic!("nothing happened after {:#?}", self.seen))
            .unwrap()
            .unwrap_or_else(|| panic!("the gateway went away after {:#?}", self.seen));
        self.seen.push(event.clone());
        event
    }

    /// Waits for what `find` looks for in what has not been looked at yet.
    pub(crate) async fn until<T>(&mut self, find: impl Fn(&EventBody) -> Option<T>) -> T {
        loop {
            if let Some(found) = find(&self.next().await.body) {
                return found;
            }
        }
    }

    pub(crate) async fn ask(&mut self) -> InteractionRequest {
        self.until(|body| match body {
            EventBody::InteractionRequest(request) => Some((**request).clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn result(&mut self) -> ToolResult {
        self.until(|body| match body {
            EventBody::ToolResult(result) => Some(result.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn done(&mut self) -> Done {
        self.until(|body| match body {
            EventBody::Done(done) => Some(done.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn completed(&mut self) {
        assert_eq!(self.done().await.reason, StopReason::Completed, "{:#?}", self.seen);
    }

    pub(crate) async fn status(&mut self, agent: AgentState) -> SessionStatus {
        self.until(|body| match body {
            EventBody::SessionStatus(status) if status.agent == agent && !status.starting => {
                Some(status.clone())
            }
            _ => None,
        })
        .await
    }

    pub(crate) async fn closed(&mut self) -> InteractionClosed {
        self.until(|body| match body {
            EventBody::InteractionClosed(closed) => Some(closed.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn queued(&mut self) -> InteractionId {
        self.until(|body| match body {
            EventBody::InteractionUpdate(update) => match update.change {
                AskChange::Queued { .. } => Some(update.interaction_id),
                AskChange::Settled { .. }
                | AskChange::Delivery { .. }
                | AskChange::RanOtherThanApproved { .. }
                | AskChange::InTerminal { .. }
                | AskChange::RuleSaved { .. } => None,
            },
            _ => None,
        })
        .await
    }

    pub(crate) async fn error(&mut self) -> String {
        self.until(|body| match body {
            EventBody::Error(error) => Some(error.message.clone()),
            _ => None,
        })
        .await
    }

    /// The process that was started last.
    pub(crate) fn pid(&self) -> u32 {
        let mut pids = self.seen.iter().filter_map(|event| match &event.body {
            EventBody::SessionStatus(status) => status.pid,
            _ => None,
        });
        pids.next_back().expect("a process was started")
    }

    pub(crate) async fn respond(&self, ask: &InteractionRequest, draft: ResponseDraft) -> Receipt {
        respond(&self.gateway, ask, draft).await.unwrap()
    }

    /// How far the settlement of this ask came.
    pub(crate) async fn delivery(&self, ask: &InteractionRequest) -> Option<Delivery> {
        self.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap().delivery
    }

    pub(crate) async fn agent_state(&self) -> AgentState {
        self.gateway.session(&owner("ada"), self.session).await.unwrap().state
    }

    pub(crate) async fn journal(&self) -> Vec<Event> {
        self.gateway.read(&owner("ada"), self.session, Seq(0), 100_000).await.unwrap().0
    }

    /// What the agent wrote as the results of its tool calls.
    pub(crate) async fn results(&self) -> Vec<ToolResult> {
        let events = self.journal().await.into_iter();
        events
            .filter_map(|event| match event.body {
                EventBody::ToolResult(result) => Some(result),
                _ => None,
            })
            .collect()
    }
}

/// One that ended and was not waited for yet does not run.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z')))
}

pub(crate) async fn respond(
    gateway: &Gateway,
    ask: &InteractionRequest,
    draft: ResponseDraft,
) -> Result<Receipt, GatewayError> {
    let idempotency_key = PromptId::generate().to_string();
    let body = Respond { prompt_id: ask.prompt_id, idempotency_key, response: draft };
    gateway.respond(&ada(), ask.interaction_id, body).await
}

pub(crate) fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

pub(crate) fn answer(answers: Value) -> ResponseDraft {
    ResponseDraft::Submit { answers: Some(map(answers)), input: None }
}

pub(crate) fn submit(input: Value) -> ResponseDraft {
    ResponseDraft::Submit { answers: None, input: Some(map(input)) }
}

pub(crate) fn approve() -> ResponseDraft {
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None }
}

pub(crate) fn deny(reason: &str) -> ResponseDraft {
    ResponseDraft::Deny { reason: Some(reason.to_owned()) }
}
