//! Sessions, what is said in them, and their events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    AgentBox, AgentState, Event, InteractionId, MessageId, Opener, PermissionMode, Seq, SessionId,
    StopReason, Timestamp, TurnId, VariableValue, Variables,
};

/// Open a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenSession {
    /// Which agent to host.
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default)]
    pub permission_mode: PermissionMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// MCP servers by name, as the agent's own settings would have them. They stand in the journal: name a variable
    /// in place of a secret.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub mcp_servers: Map<String, Value>,
    /// The agent's program, in place of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What rules like `when $phase release` ask about.
    #[serde(default, skip_serializing_if = "Variables::is_empty")]
    #[schema(value_type = BTreeMap<String, VariableValue>)]
    pub variables: Variables,
    /// The machine that is to run it, by its name. It may be left out where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
}

impl OpenSession {
    /// With nothing said but which agent: it asks before whatever is not read-only.
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            cwd: None,
            permission_mode: PermissionMode::Default,
            model: None,
            title: None,
            system_prompt: None,
            max_turns: None,
            allowed_tools: Vec::new(),
            mcp_servers: Map::new(),
            program: None,
            variables: Variables::new(),
            runner: None,
        }
    }
}

/// Where a person writes to the agent of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Messages {
    #[default]
    Taken,
    /// In its terminal: the program would not read a message from elsewhere as a person's.
    TypedInTerminal,
    /// In its terminal, which is closed, or whose machine is not connected.
    TerminalAway,
}

impl Messages {
    fn are_taken(&self) -> bool {
        *self == Self::Taken
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A session as the list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub session_id: SessionId,
    pub agent: String,
    /// As it was opened with; else the beginning of its first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    pub permission_mode: PermissionMode,
    /// The last event: where a client that reads on from here will be complete.
    pub seq: Seq,
    pub state: AgentState,
    /// How its last turn ended. Left out before the first one and while one is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_stop: Option<StopReason>,
    /// It runs in a person's own terminal, which asks the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_terminal: bool,
    /// Whether its agent takes messages of people from here. Left out where it does.
    #[serde(default, skip_serializing_if = "Messages::are_taken")]
    pub messages: Messages,
    /// About how many calls the program asks in its terminal alone, where nothing here can answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asks_in_terminal: u32,
    /// The box that the agent's process runs in, or ran in last. Left out before the first one is started.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub boxed: Option<AgentBox>,
    /// What was set, for rules like `when $phase release`.
    #[serde(default, skip_serializing_if = "Variables::is_empty")]
    #[schema(value_type = BTreeMap<String, VariableValue>)]
    pub variables: Variables,
    /// How many asks wait for a person.
    pub open_asks: u32,
    /// How many clients watch it now that can show asks, with a token that may answer.
    pub interactive_clients: u32,
    /// How many of them would answer.
    pub enabled_clients: u32,
    pub opened_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Opener>,
    pub changed_at: Timestamp,
    /// Set if it is out of the way of lists. A message or an ask in it brings it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<Archived>,
    /// Set if what was said is gone: there are no events and no asks to read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<Erased>,
}

/// Who archived a session, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Archived {
    pub at: Timestamp,
    pub by: String,
}

/// Who erased a session, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Erased {
    pub at: Timestamp,
    pub by: String,
}

/// Which sessions a list shows: all, those that have not ended, or those in one state, without those that are archived;
/// or the archived ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFilter {
    #[default]
    All,
    Open,
    Idle,
    Running,
    Waiting,
    Parking,
    Parked,
    Detached,
    Ended,
    Archived,
}

impl SessionFilter {
    /// The states it lets through; none for whatever state.
    pub fn states(self) -> Vec<AgentState> {
        match self {
            Self::All | Self::Archived => Vec::new(),
            Self::Open => vec![
                AgentState::Idle,
                AgentState::Running,
                AgentState::Waiting,
                AgentState::Parking,
                AgentState::Parked,
                AgentState::Detached,
            ],
            Self::Idle => vec![AgentState::Idle],
            Self::Running => vec![AgentState::Running],
            Self::Waiting => vec![AgentState::Waiting],
            Self::Parking => vec![AgentState::Parking],
            Self::Parked => vec![AgentState::Parked],
            Self::Detached => vec![AgentState::Detached],
            Self::Ended => vec![AgentState::Ended],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPage {
    pub sessions: Vec<Session>,
    /// Pass it as `before` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessage {
    pub text: String,
    /// Chosen by whoever sends it. Sent again with the same id, for want of a reply, it is said once; the last four messages of a
    /// session are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

impl SendMessage {
    /// May be sent as often as it takes.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), message_id: Some(MessageId::generate()) }
    }
}

/// Set variables of a session. Others stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetVariables {
    /// By name: a text, a whole number, true or false. `null` removes one.
    #[schema(value_type = Object)]
    pub variables: BTreeMap<String, Option<VariableValue>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageAccepted {
    pub turn_id: TurnId,
    pub message_id: MessageId,
    pub seq: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    /// The asks that were cancelled with the turn.
    pub cancelled: Vec<InteractionId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    pub events: Vec<Event>,
    /// The last event there is.
    pub head: Seq,
}

/// What a client that has no history is given first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    pub resume: ResumeKind,
    pub head: Seq,
    /// With `gap`: the session as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Session>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeKind {
    /// Everything after the cursor follows.
    Ok,
    /// The cursor lies outside what is kept.
    Gap,
}

/// Switch answering on or off for one client of a person's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetInteractionMode {
    /// The name that the client gave itself in `?client=` of its streams.
    pub client: String,
    pub mode: crate::transport::InteractionMode,
}
