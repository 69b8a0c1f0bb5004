//! An agent that the test plays, on a clock that the test moves.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use holdstead_agents::{
    Agent, AgentEvent, AgentExit, AgentSide, Ask, Driver, DriverCapabilities, FoundFiles, Launch, Outgoing,
    Reasks, Resolution, StartError, TurnEnds,
};
use holdstead_core::policy::MayAllow;
use holdstead_core::policy::rule::RuleFile;
use holdstead_gateway::{Gateway, GatewayConfig, PolicyConfig};
use holdstead_protocol::{
    AskBody, Capabilities, Hold, Meaning, Question, QuestionOption, Shell, StopReason, Subject, Timestamp,
    ToolCallId,
};
use holdstead_store::{Clock, SqliteJournal};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::world::{PATIENCE, Talk, config, opening};

/// Time stands still unless the test moves it.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    lives: mpsc::UnboundedReceiver<(Launch, AgentSide)>,
    reasks: Reasks,
    breaks: Arc<Breaks>,
    /// While a blocking task runs, paused time does not jump ahead by itself.
    _still: std::sync::mpsc::Sender<()>,
}

impl Stage {
    pub(crate) async fn new(hold: Hold) -> Self {
        Self::with(config(hold), Reasks::Any).await
    }

    /// Its agent forgets what it asked when it is killed.
    pub(crate) async fn forgetful(hold: Hold) -> Self {
        Self::with(config(hold), Reasks::Parked).await
    }

    /// With rules of the organisation's.
    pub(crate) async fn ruled(rules: &str) -> Self {
        let policy = PolicyConfig { rules: RuleFile::parse(rules).unwrap(), marked_words: Vec::new() };
        let config = GatewayConfig { policy, ..config(GatewayConfig::DEFAULT_HOLD) };
        Self::with(config, Reasks::Parked).await
    }

    pub(crate) async fn with(config: GatewayConfig, reasks: Reasks) -> Self {
        let (still, ends) = std::sync::mpsc::channel();
        tokio::task::spawn_blocking(move || ends.recv());
        let clock = Arc::new(TestClock::new());
        let journal = SqliteJournal::open_with_clock("sqlite::memory:", clock).await.unwrap();
        let (driver, lives) = ActorDriver::new(reasks);
        let breaks = Arc::clone(&driver.breaks);
        let gateway = Gateway::start(Arc::new(journal), vec![Arc::new(driver)], config).await.unwrap();
        Self { gateway, lives, reasks, breaks, _still: still }
    }

    /// Another gateway on the journal of this one, which has stopped.
    pub(crate) async fn again(self) -> Self {
        let (driver, lives) = ActorDriver::new(self.reasks);
        let journal = Arc::clone(self.gateway.journal());
        let config = config(GatewayConfig::DEFAULT_HOLD);
        let gateway = Gateway::start(journal, vec![Arc::new(driver)], config).await.unwrap();
        Self { gateway, lives, ..self }
    }

    /// A session whose agent was given its first message.
    pub(crate) async fn talk(&mut self) -> (Talk, Actor) {
        let talk = Talk::open(&self.gateway, opening("actor")).await;
        talk.say("go").await;
        let mut actor = self.life().await;
        assert_eq!(actor.hears().await, Outgoing::Message { text: "go".to_owned() });
        (talk, actor)
    }

    /// The next life of the agent, up and named.
    pub(crate) async fn life(&mut self) -> Actor {
        let actor = self.unborn().await;
        actor.says(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await;
        actor
    }

    /// The next life of the agent, before its first word.
    pub(crate) async fn unborn(&mut self) -> Actor {
        let (launch, side) = self.lives.recv().await.expect("a process is started");
        Actor { launch, side }
    }

    /// From now on, or until now, a fault in the code that judges calls stops each judgement.
    pub(crate) fn judging_breaks(&self, breaks: bool) {
        self.breaks.now.store(breaks, Ordering::Relaxed);
    }

    /// Returns when so many judgements have been stopped.
    pub(crate) async fn broke(&self, times: usize) {
        while self.breaks.times.load(Ordering::Relaxed) < times {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn nothing_was_started(&mut self) -> bool {
        self.lives.try_recv().is_err()
    }
}

pub(crate) struct TestClock {
    began: Instant,
}

impl TestClock {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_763_000_000_000_000).after(self.began.elapsed())
    }
}

#[derive(Debug)]
pub(crate) struct ActorDriver {
    lives: Mutex<mpsc::UnboundedSender<(Launch, AgentSide)>>,
    reasks: Reasks,
    breaks: Arc<Breaks>,
}

/// A fault that a test switches on.
#[derive(Debug, Default)]
struct Breaks {
    now: AtomicBool,
    times: AtomicUsize,
}

impl ActorDriver {
    pub(crate) fn new(reasks: Reasks) -> (Self, mpsc::UnboundedReceiver<(Launch, AgentSide)>) {
        let (lives, started) = mpsc::unbounded_channel();
        (Self { lives: Mutex::new(lives), reasks, breaks: Arc::default() }, started)
    }
}

#[async_trait]
impl Driver for ActorDriver {
    fn name(&self) -> &'static str {
        "actor"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: true, reasks: self.reasks, ends: TurnEnds::Asked }
    }

    fn meaning(&self, tool: &str) -> Meaning<'static> {
        if self.breaks.now.load(Ordering::Relaxed) {
            self.breaks.times.fetch_add(1, Ordering::Relaxed);
            panic!("the test breaks it");
        }
        let shell = Subject::Shell { field: "command", shell: Shell::Bash };
        Meaning { subject: if tool == "Bash" { shell } else { Subject::Whole }, harmless: &[] }
    }

    /// The folder's one file that this agent would run.
    fn project_files(&self, cwd: &Path) -> Option<FoundFiles> {
        let text = std::fs::read_to_string(cwd.join("hooks")).ok()?;
        Some(FoundFiles {
            folder: cwd.canonicalize().ok()?,
            files: vec!["hooks".to_owned()],
            instructions: Vec::new(),
            digest: Some(holdstead_core::digest(&json!(text))),
            unresolved: Vec::new(),
            runs: vec![cwd.canonicalize().ok()?.join("hooks")],
        })
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        let (agent, side) = Agent::in_process();
        // The test may be over.
        drop(self.lives.lock().unwrap().send((launch, side)));
        Ok(agent)
    }
}

/// One life of the agent.
pub(crate) struct Actor {
    pub(crate) launch: Launch,
    pub(crate) side: AgentSide,
}

impl Actor {
    pub(crate) async fn says(&self, event: AgentEvent) {
        self.side.events.send(event).await.expect("somebody listens");
    }

    pub(crate) async fn hears(&mut self) -> Outgoing {
        let sent = tokio::time::timeout(PATIENCE, self.side.input.recv()).await.expect("something is said");
        sent.expect("the agent is held").take()
    }

    pub(crate) fn hears_nothing(&mut self) -> bool {
        self.side.input.try_recv().is_err()
    }

    /// Whether somebody ended it since it was asked last.
    pub(crate) fn is_killed(&self) -> bool {
        self.side.kill.notified().now_or_never().is_some()
    }

    /// Returns when all that it said before is dealt with, timers and all.
    pub(crate) async fn is_heard(&self, talk: &mut Talk) {
        self.says(AgentEvent::Error { message: "do you hear me?".to_owned() }).await;
        talk.error().await;
    }

    /// Returns when somebody has taken all that it said before, whatever becomes of it.
    pub(crate) async fn is_listened_to(&self) {
        while self.side.events.capacity() < self.side.events.max_capacity() {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn asks(&self, call: &str) {
        self.says(AgentEvent::Ask(Box::new(question(call)))).await;
    }

    pub(crate) async fn ends_turn(&self) {
        self.says(AgentEvent::TurnDone { reason: StopReason::Completed, usage: None }).await;
    }

    pub(crate) async fn exits(self, parked: bool) {
        self.says(AgentEvent::Exited(AgentExit { parked, code: Some(0), stderr: String::new() })).await;
    }

    pub(crate) async fn is_told(&mut self, call: &str) -> Resolution {
        match self.hears().await {
            Outgoing::Resolve { tool_call_id, resolution } if tool_call_id.as_str() == call => resolution,
            other => panic!("not a resolution of {call}: {other:?}"),
        }
    }
}

pub(crate) fn question(call: &str) -> Ask {
    let option = |label: &str| QuestionOption { label: label.to_owned(), description: None, preview: None };
    let question = Question {
        id: "store".to_owned(),
        header: "Store".to_owned(),
        question: "Where do the orders go?".to_owned(),
        options: vec![option("SQLite"), option("PostgreSQL")],
        multi_select: false,
        allow_other: true,
        secret: false,
        multiline: false,
    };
    ask(call, "AskUserQuestion", json!({}), AskBody::Question { questions: vec![question] })
}

pub(crate) fn approval(call: &str, command: &str) -> Ask {
    let body = AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false };
    ask(call, "Bash", json!({ "command": command }), body)
}

pub(crate) fn ask(call: &str, tool: &str, input: Value, body: AskBody) -> Ask {
    Ask {
        tool_call_id: ToolCallId::new(call).unwrap(),
        tool_name: tool.to_owned(),
        input,
        body,
        agent_says: None,
        cwd: None,
        decision_reason: None,
        parents: Vec::new(),
        can_park: true,
        hold: None,
        timeout_ms: None,
        may_allow: MayAllow::Rules,
        capabilities: None,
        host_limit_ms: None,
    }
}

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
