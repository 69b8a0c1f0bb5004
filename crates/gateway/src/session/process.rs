//! The agent's process, as its session's task holds it.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use holdstead_agents::{
    Agent, AgentEvent, AgentExit, DriverCapabilities, Launch, Outgoing, Resolution, ResumeAt, ResumePoint,
    WriteError,
};
use holdstead_core::{Command, Resume};
use holdstead_protocol::{
    Incarnation, InteractionId, MessageId, SessionId, ToolCallId, TurnEndBlocked, TurnId,
};
use holdstead_store::SessionRecord;
use tokio::time::Instant;

use crate::{Gateway, GatewayError};

/// How long an agent that is told to stop may take to end its turn.
const STOPPING: Duration = Duration::from_secs(10);
/// How long an agent that is told to park may take to go, or to say that it stays.
const PARKING: Duration = Duration::from_secs(60);
/// How long a process is kept that has nothing to do. Long: what it runs in the background may go with it.
const IDLE: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub(super) struct Process {
    pub(super) incarnation: Incarnation,
    pub(super) capabilities: DriverCapabilities,
    pub(super) turn: Option<TurnId>,
    /// The message its words belong to.
    pub(super) message: MessageId,
    /// Which message of this turn made each call, and of which tool.
    pub(super) made_by: HashMap<ToolCallId, (MessageId, String)>,
    /// What this process asked and has no resolution for yet.
    pub(super) asked: HashMap<ToolCallId, InteractionId>,
    /// What was written to it and it has not acknowledged.
    pub(super) written: HashMap<ToolCallId, InteractionId>,
    /// The last ask of each call in this turn.
    pub(super) last_ask: HashMap<ToolCallId, InteractionId>,
    /// What it was told in words, and has not gone on after.
    pub(super) told: Vec<InteractionId>,
    /// The message that it is being given: the journal may say that its turn began before the agent was told.
    pub(super) beginning: Option<(TurnId, Outgoing)>,
    /// The end of its turn that is being blocked, until it was told.
    pub(super) end_blocked: Option<Box<TurnEndBlocked>>,
    /// What it must be told about calls that were lost with an earlier life.
    pub(super) loss: Option<Loss>,
    /// Its turn was stopped: when we lose patience.
    pub(super) stop_by: Option<Instant>,
    /// It was told to park: when we lose patience.
    park_by: Option<Instant>,
    /// Unless it gets something to do until then, it is not kept.
    idle_at: Instant,
    /// It was not kept.
    pub(super) let_go: bool,
    killed: bool,
    agent: Agent,
    /// What is being written to it. An agent may stop reading until we have read what it says, so nobody waits here.
    writing: FuturesOrdered<BoxFuture<'static, Written>>,
}

/// Words about calls that were lost, gathered one by one: each is durable before the next, and all are told at once.
#[derive(Debug, Default)]
pub(super) struct Loss {
    pub(super) words: Vec<String>,
    /// The settlements they carry.
    pub(super) carried: Vec<InteractionId>,
    /// Those that are not among the words yet.
    pub(super) left: VecDeque<InteractionId>,
}

/// What became of something that was said to the agent.
#[derive(Debug)]
pub(super) struct Written {
    /// The settlements it carried.
    pub(super) settlements: Vec<InteractionId>,
    pub(super) result: Result<(), WriteError>,
}

/// What a process brings about.
#[derive(Debug)]
pub(super) enum Heard {
    Said(AgentEvent),
    Written(Written),
}

impl Process {
    /// The journal has it before anything runs.
    pub(super) async fn start(
        gateway: &Gateway,
        record: SessionRecord,
        incarnation: Incarnation,
        at: ResumeAt,
    ) -> Result<Self, GatewayError> {
        let driver = gateway.driver(&record.opened.agent)?;
        let turn = record.state.turn;
        gateway.append(record.id, Command::Start { incarnation, turn }).await?;
        let tool_server = gateway.tool_server(&record, incarnation).await?;
        let opened = record.opened;
        let cwd = opened.cwd.map_or_else(|| PathBuf::from("."), PathBuf::from);
        let (project_files, left_out) = gateway.project_files(&record.owner, &driver, &cwd).await?;
        let launch = Launch {
            cwd,
            permission_mode: opened.permission_mode,
            model: opened.model,
            system_prompt: opened.system_prompt,
            max_turns: opened.max_turns,
            mcp_servers: opened.mcp_servers,
            tool_server,
            project_files,
            program: opened.program,
            life: life(record.id, incarnation),
            resume: record.state.agent_ref.map(|agent_ref| ResumePoint { agent_ref, at }),
        };
        let agent = driver.start(launch).await?;
        let resume =
            Command::Resume(Resume { incarnation, pid: agent.pid, left_out, boxed: agent.boxed.clone() });
        gateway.append(record.id, resume).await?;
        Ok(Self {
            incarnation,
            capabilities: driver.capabilities(),
            turn,
            message: MessageId::generate(),
            made_by: HashMap::new(),
            asked: HashMap::new(),
            written: HashMap::new(),
            last_ask: HashMap::new(),
            told: Vec::new(),
            beginning: None,
            end_blocked: None,
            loss: None,
            stop_by: None,
            park_by: None,
            idle_at: Instant::now() + IDLE,
            let_go: false,
            killed: false,
            agent,
            writing: FuturesOrdered::new(),
        })
    }

    /// What happens next. Never, without a process. It is not listened to while what it said before piles up.
    pub(super) async fn next(process: Option<&mut Self>, listening: bool) -> Heard {
        let Some(process) = process else { return std::future::pending().await };
        tokio::select! {
            Some(written) = process.writing.next() => Heard::Written(written),
            event = process.agent.events.recv(), if listening => Heard::Said(event.unwrap_or_else(|| {
                AgentEvent::Exited(AgentExit { parked: false, code: None, stderr: String::new() })
            })),
            // Nothing is being written, and nobody listens: not now.
            else => std::future::pending().await,
        }
    }

    /// Says something, after what was said before.
    pub(super) fn say(&mut self, outgoing: Outgoing) {
        self.write(outgoing, Vec::new());
    }

    /// Tells it in words what became of calls that were lost with an earlier life.
    pub(super) fn tell(&mut self, text: String, settlements: Vec<InteractionId>) {
        self.told.extend(&settlements);
        self.write(Outgoing::Message { text }, settlements);
    }

    /// Tells it what became of a call.
    pub(super) fn resolve(
        &mut self,
        tool_call_id: &ToolCallId,
        resolution: Resolution,
        settlement: Option<InteractionId>,
    ) {
        let outgoing = Outgoing::Resolve { tool_call_id: tool_call_id.clone(), resolution };
        self.write(outgoing, settlement.into_iter().collect());
    }

    fn write(&mut self, outgoing: Outgoing, settlements: Vec<InteractionId>) {
        let input = self.agent.input.clone();
        let write = async move { Written { settlements, result: input.send(outgoing).await } };
        self.writing.push_back(Box::pin(write));
    }

    /// Its turn is to end now.
    pub(super) fn stop_turn(&mut self) {
        self.stop_by.get_or_insert_with(|| Instant::now() + STOPPING);
        self.say(Outgoing::Interrupt);
    }

    /// It is to go away at this call, and to come back to it.
    pub(super) fn park(&mut self, tool_call_id: ToolCallId) {
        self.park_by = Some(Instant::now() + PARKING);
        self.say(Outgoing::Park { tool_call_id });
    }

    /// It was told to park, and stays.
    pub(super) fn stays(&mut self) {
        self.park_by = None;
    }

    /// The next lost call that it must be told about.
    pub(super) fn next_loss(&self) -> Option<(InteractionId, Incarnation)> {
        self.loss.as_ref()?.left.front().map(|id| (*id, self.incarnation))
    }

    /// Its turn is over, and so is whatever it waited for.
    pub(super) fn turn_done(&mut self) {
        self.turn = None;
        self.end_blocked = None;
        self.idle_at = Instant::now() + IDLE;
        self.stop_by = None;
        self.made_by.clear();
        self.asked.clear();
        self.written.clear();
        self.last_ask.clear();
        self.told.clear();
    }

    /// When it has been idle long enough to be looked at.
    pub(super) fn idle_ends(&self) -> Option<Instant> {
        let busy = self.turn.is_some() || self.beginning.is_some() || !self.writing.is_empty() || self.killed;
        (!busy).then_some(self.idle_at)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle_ends().is_some_and(|ends| ends <= Instant::now())
    }

    /// It is kept, and looked at again much later.
    pub(super) fn keep_idle(&mut self) {
        self.idle_at = Instant::now() + IDLE;
    }

    /// When it is killed for not doing what it was told.
    pub(super) fn patience_ends(&self) -> Option<Instant> {
        let ends = self.stop_by.into_iter().chain(self.park_by).min();
        ends.filter(|_| !self.killed)
    }

    /// It was killed, and its end was not heard yet.
    pub(super) const fn is_leaving(&self) -> bool {
        self.killed
    }

    /// Kills the whole group; its end follows.
    pub(super) fn kill(&mut self) {
        self.killed = true;
        self.agent.input.kill();
    }
}

/// The name that a process of this incarnation carries.
pub(crate) fn life(session: SessionId, incarnation: Incarnation) -> String {
    format!("{session}/{}", incarnation.0)
}
