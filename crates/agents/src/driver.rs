//! What the gateway knows of any agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_protocol::runner::{AgentEvent, Outgoing};
use holdstead_protocol::{
    AgentBox, Capabilities, Digest, Incarnation, Meaning, PermissionMode, SessionId, Subject,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::{Introduced, Program, Terminal};

/// How far an agent may run ahead of who listens to it.
const EVENT_BUFFER: usize = 256;
const INPUT_BUFFER: usize = 64;

/// Starts one kind of agent.
#[async_trait]
pub trait Driver: Send + Sync + std::fmt::Debug {
    /// The name a session is opened with.
    fn name(&self) -> &'static str;

    fn capabilities(&self) -> DriverCapabilities;

    /// What a folder brings that this agent would run, or be allowed something by. Reads files.
    fn project_files(&self, _cwd: &Path) -> Option<FoundFiles> {
        None
    }

    /// What the fields of a tool's input mean to rules. Where nothing is said, only rules about the whole tool count.
    fn meaning(&self, _tool: &str) -> Meaning<'static> {
        Meaning { subject: Subject::Whole, harmless: &[] }
    }

    /// Rules that count in every session of this agent: what it may do unasked. They are told as "no decision".
    fn built_in_rules(&self) -> &'static str {
        ""
    }

    /// What must be installed for it; nothing for an agent that is part of this program.
    fn program(&self) -> Option<Program> {
        None
    }

    /// Where its process comes from.
    fn started_by(&self) -> StartedBy {
        StartedBy::Us
    }

    /// Whether this folder is the gateway's own, or in it: no agent works there.
    fn is_private(&self, _cwd: &Path) -> bool {
        false
    }

    /// What the program says about itself with something that it says in a terminal.
    fn introduced(&self, _said: &str) -> Option<Introduced> {
        None
    }

    /// How this program is listened to where a person started it in a terminal of their own. Nothing, if it cannot be.
    fn terminal(&self, _launch: &Launch, _in_turn: bool) -> Option<Box<dyn Terminal>> {
        None
    }

    /// Whether a message from elsewhere reaches it in such a terminal as words of a person.
    fn messages_in_terminal(&self) -> MessagesInTerminal {
        MessagesInTerminal::NotTaken
    }

    /// The sessions of whose conversations it has copies. Reads files.
    fn kept(&self) -> Vec<SessionId> {
        Vec::new()
    }

    /// Deletes its copy of a session's conversation: the session is over. Writes files.
    fn discard(&self, _session: SessionId) -> std::io::Result<()> {
        Ok(())
    }

    /// Starts a process. It has said nothing yet when this returns.
    async fn start(&self, launch: Launch) -> Result<Agent, StartError>;
}

/// Who starts an agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedBy {
    Us,
    /// Only people do, in terminals of their own.
    People,
}

/// Whether a program in a person's own terminal takes messages from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagesInTerminal {
    Taken,
    NotTaken,
}

/// What this agent's wire can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverCapabilities {
    pub ask: Capabilities,
    /// It can go away at an ask and come back to the same tool call.
    pub parks: bool,
    pub reasks: Reasks,
    pub ends: TurnEnds,
}

/// How an agent ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnds {
    /// It asks first, and goes on if it is told to.
    Asked,
    /// It only tells: no rule can keep it going.
    Told,
}

/// Which calls an agent makes again when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reasks {
    /// All that it had no answer to, also if it was killed.
    Any,
    /// Only the one that it was parked at. Others are lost with its process: it must be told in words.
    Parked,
}

/// What a process is started with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub session: SessionId,
    pub incarnation: Incarnation,
    pub cwd: PathBuf,
    pub permission_mode: PermissionMode,
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub max_turns: Option<u32>,
    /// By name, as the agent's own settings would have them.
    pub mcp_servers: Map<String, Value>,
    /// The gateway's own tools, for agents that can call them.
    pub tool_server: Option<ToolServer>,
    pub project_files: ProjectFiles,
    /// In place of the configured one.
    pub program: Option<String>,
    pub resume: Option<ResumePoint>,
    /// It runs already, in a person's own terminal, and this is its own name for the conversation.
    #[serde(default)]
    pub terminal: Option<String>,
    /// The name of this incarnation, for its process to carry.
    pub life: String,
}

/// Whether the folder's own files may run something or allow something: settings, hooks, servers, rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectFiles {
    /// Nobody trusts them as they are now: the agent starts without them.
    Closed,
    /// A person trusts them as they are now.
    Trusted,
}

/// What a folder brings for one kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFiles {
    /// With nothing in it that leads elsewhere.
    pub folder: PathBuf,
    /// Files that could run or allow something, from the top of the repository.
    pub files: Vec<String>,
    /// Files with words for the model, which the agent does not read either while the folder is closed.
    pub instructions: Vec<String>,
    /// Of `files` as they are now; nothing, if they cannot be trusted: too many, too large, a link out of the folder, or one
    /// of them is `unresolved`.
    pub digest: Option<Digest>,
    /// What in them names a file that cannot be found, in words.
    #[serde(default)]
    pub unresolved: Vec<String>,
    /// Absolute paths of `files`, and of files that would run or be read if they were there.
    #[serde(default)]
    pub runs: Vec<PathBuf>,
}

impl FoundFiles {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.instructions.is_empty()
    }
}

/// An MCP server over HTTP.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServer {
    pub url: String,
    /// A secret: it must not be where other people can read it.
    pub token: String,
    /// The names of the tools that it serves. They ask by themselves; a tool of any other name does not.
    pub tools: Vec<String>,
}

impl std::fmt::Debug for ToolServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToolServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Where an agent goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The agent's own name for the conversation, as it gave it in [`AgentEvent::Ready`].
    pub agent_ref: String,
    pub at: ResumeAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResumeAt {
    /// At the tool calls that it was parked at or died at: it asks them again under the same ids.
    OpenAsks,
    /// Ready for the next message.
    NextMessage,
}

/// A running agent. Dropping it, or only its `events`, kills its whole process group.
#[derive(Debug)]
pub struct Agent {
    pub pid: u32,
    /// What keeps its process from the gateway's own files and memory.
    pub boxed: AgentBox,
    /// What it says, in its order. Ends after [`AgentEvent::Exited`].
    pub events: mpsc::Receiver<AgentEvent>,
    pub input: AgentInput,
}

/// The way to an agent's stdin.
#[derive(Debug, Clone)]
pub struct AgentInput {
    queue: mpsc::Sender<Sent>,
    kill: Arc<Notify>,
}

impl AgentInput {
    /// Returns when the bytes were handed to the operating system. Once called, the words may reach the agent even
    /// if nobody waits for the result.
    pub async fn send(&self, outgoing: Outgoing) -> Result<(), WriteError> {
        let (result, written) = oneshot::channel();
        self.queue.send(Sent { outgoing, result }).await.map_err(|_| WriteError)?;
        written.await.map_err(|_| WriteError)?
    }

    /// Kills the whole process group. [`AgentEvent::Exited`] follows.
    pub fn kill(&self) {
        self.kill.notify_one();
    }
}

/// The other end of an [`Agent`]: who holds it speaks as the agent. Dropping it ends the agent's events.
#[derive(Debug)]
pub struct AgentSide {
    pub events: mpsc::Sender<AgentEvent>,
    pub input: mpsc::Receiver<Sent>,
    /// Told once when somebody kills the agent.
    pub kill: Arc<Notify>,
}

/// Something said to an agent. Dropping it tells the sender that it could not be written.
#[derive(Debug)]
pub struct Sent {
    pub(crate) outgoing: Outgoing,
    pub(crate) result: oneshot::Sender<Result<(), WriteError>>,
}

impl Sent {
    /// Takes it, and tells the sender that it was written.
    pub fn take(self) -> Outgoing {
        // The sender may have stopped waiting; what it said stays said.
        drop(self.result.send(Ok(())));
        self.outgoing
    }
}

impl DriverCapabilities {
    /// Of a program in a person's own terminal.
    #[must_use]
    pub const fn in_terminal(self) -> Self {
        Self { ask: self.ask, parks: false, reasks: Reasks::Any, ends: TurnEnds::Told }
    }
}

impl Agent {
    /// One that somebody else started, who speaks for it through the other side.
    pub fn elsewhere(pid: u32) -> (Self, AgentSide) {
        let (mut agent, side) = Self::in_process();
        agent.pid = pid;
        agent.boxed = AgentBox::None { why: "it runs in a person's own terminal".to_owned() };
        (agent, side)
    }

    /// An agent without a process: tests speak for it through the other side.
    pub fn in_process() -> (Self, AgentSide) {
        let (events, said) = mpsc::channel(EVENT_BUFFER);
        let (queue, input) = mpsc::channel(INPUT_BUFFER);
        let kill = Arc::new(Notify::new());
        let agent = Self {
            pid: std::process::id(),
            boxed: AgentBox::None { why: "it has no process of its own".to_owned() },
            events: said,
            input: AgentInput { queue, kill: Arc::clone(&kill) },
        };
        (agent, AgentSide { events, input, kill })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent's process is gone: nothing could be written to it")]
pub struct WriteError;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("`{program}` was not found: {hint}")]
    NotFound { program: String, hint: &'static str },
    #[error("the folder `{}` is not there: open the session in another one", cwd.display())]
    NoFolder { cwd: PathBuf },
    #[error("no agent is started: {why}")]
    NoBox { why: String },
    #[error(
        "the folder `{}` is one of the gateway's own, which no agent may read: open the session in another one", cwd.display()
    )]
    Inside { cwd: PathBuf },
    #[error(
        "{program} is not started from here: start it in a terminal of your own, where it is listened to"
    )]
    OnlyInTerminal { program: &'static str },
    #[error("`{program}` is not started, because its conversation could not be put back as it was: {source}")]
    NotPutBack { program: String, source: std::io::Error },
    #[error("`{program}` could not be started: {source}")]
    Io { program: String, source: std::io::Error },
}
