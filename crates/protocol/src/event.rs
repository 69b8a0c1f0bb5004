//! The lines of the journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    Actor, AgentBox, AgentSeq, AgentState, CallDecision, Closing, Decider, Delivery, Digest, EventId, Grant,
    GrantId, InTerminal, Incarnation, InteractionId, InteractionRequest, Layer, LeftOut, MessageId, OwnerId,
    PermissionMode, PromptId, Response, RuleText, RunnerId, Seq, Settlement, Surface, Timestamp, ToolCallId,
    Trust, TrustId, TurnId, VariableValue, Variables,
};

/// One line of a session's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    pub id: EventId,
    pub seq: Seq,
    pub at: Timestamp,
    /// Everything that the live process of the agent said up to this number is in the journal with this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<AgentSeq>,
    #[serde(flatten)]
    pub body: EventBody,
}

/// The last member of an event's data, where what an agent said brought it about.
const HEARD: &[u8] = b",\"heard\":";

/// The number that [`EventBody::stored_bytes`] wrote. Its member is the last one of the outermost object: the brace at the
/// end closes that object, and digits before it are the value of a key of it.
pub fn heard_in(data: &[u8]) -> Option<AgentSeq> {
    let members = data.strip_suffix(b"}")?;
    let digits = members.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = members.split_at(members.len() - digits);
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    before.ends_with(HEARD).then_some(AgentSeq(number))
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident($data:ty) = $name:literal,)*) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(tag = "type", content = "data", rename_all = "snake_case")]
        pub enum EventBody {
            $($(#[$doc])* $variant($data),)*
        }

        /// The name of each kind of event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum EventType {
            $($variant,)*
        }

        impl EventType {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl EventBody {
            pub const fn event_type(&self) -> EventType {
                match self {
                    $(Self::$variant(_) => EventType::$variant,)*
                }
            }

            /// What it says, without what its line adds.
            pub fn data_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
                match self {
                    $(Self::$variant(data) => serde_json::to_vec(data),)*
                }
            }

            /// The event whose bytes these are.
            pub fn from_data(event_type: EventType, data: &[u8]) -> Result<Self, serde_json::Error> {
                match event_type {
                    $(EventType::$variant => serde_json::from_slice(data).map(Self::$variant),)*
                }
            }
        }
    };
}

events! {
    /// A session began: whose it is, which agent works in it, where, and with which permissions. Always the first event.
    SessionOpened(SessionOpened) = "session_opened",
    /// A person archived the session: it is out of the way of people's lists, until something is said or asked in it again.
    SessionArchived(SessionArchived) = "session_archived",
    /// It is in people's lists again.
    SessionUnarchived(SessionUnarchived) = "session_unarchived",
    /// A person said something to the agent. It answers no ask, and begins a turn.
    UserMessage(UserMessage) = "user_message",
    /// The agent speaks: the next piece of a message. Pieces with one `messageId` are one message.
    TextDelta(TextDelta) = "text_delta",
    /// The agent thinks aloud: the next piece of it.
    ThinkingDelta(ThinkingDelta) = "thinking_delta",
    /// The agent begins a call of a tool. What it is called with follows.
    ToolCallStart(ToolCallStart) = "tool_call_start",
    /// The next piece of what the call is made with, as the model writes it. It only ever grows.
    ToolCallDelta(ToolCallDelta) = "tool_call_delta",
    /// The complete input, which replaces the streamed pieces; and what was decided, where nobody had to be asked.
    ToolCallEnd(ToolCallEnd) = "tool_call_end",
    /// What came of a call, or that it failed.
    ToolResult(ToolResult) = "tool_result",
    /// A person is asked: a question, an approval or a form, with all that is needed to show it. The same `interactionId` with
    /// another `promptId` is the ask shown again.
    InteractionRequest(Box<InteractionRequest>) = "interaction_request",
    /// An answer won this prompt. Where no tool has a say in it, it settles the ask; else an `interaction_update` follows.
    InteractionResponse(Box<InteractionResponse>) = "interaction_response",
    /// An ask moved on: its tool settled it, the agent was told to expect it later, or the answer got further on its way to the
    /// agent.
    InteractionUpdate(InteractionUpdate) = "interaction_update",
    /// An ask is over without a decision: nobody answered in time, it was withdrawn, or it was answered in the agent's own
    /// terminal. Nothing was approved by it.
    InteractionClosed(InteractionClosed) = "interaction_closed",
    /// A person wants to see the ask later: it is out of sight on every screen for a while. It changes nothing else about the ask.
    InteractionSnoozed(InteractionSnoozed) = "interaction_snoozed",
    /// It is in sight again: its time has come, or somebody wanted it back.
    InteractionUnsnoozed(InteractionUnsnoozed) = "interaction_unsnoozed",
    /// Somebody answered after the ask was queued or expired. It settles nothing, and reaches the agent as a message.
    LateAnswer(Box<LateAnswer>) = "late_answer",
    /// A rule, or an approval to be remembered, was saved.
    GrantAdded(GrantAdded) = "grant_added",
    /// It counts no longer: a person took it back, or it was good for one use.
    GrantRevoked(GrantRevoked) = "grant_revoked",
    /// A person trusts a folder's own files, exactly as they are.
    TrustAdded(TrustAdded) = "trust_added",
    /// A person took that back. The next start of an agent there is without them.
    TrustRevoked(TrustRevoked) = "trust_revoked",
    /// A file of rules is another one than the last by which calls of this owner were judged. What was judged by that one and
    /// is not written yet is judged again.
    RulesFileChanged(RulesFileChanged) = "rules_file_changed",
    /// A person set variables that rules ask about.
    VariablesSet(VariablesSet) = "variables_set",
    /// The session's first turn begins: what rules said to the agent, and the defaults of variables.
    SessionInitialised(SessionInitialised) = "session_initialised",
    /// The agent wanted to end its turn, and a rule kept it going, with words.
    TurnEndBlocked(TurnEndBlocked) = "turn_end_blocked",
    /// The agent is in another state, or its process began or ended.
    SessionStatus(SessionStatus) = "session_status",
    /// Something went wrong in the session, in words for a person. It goes on if it can.
    Error(SessionError) = "error",
    /// A turn ended: completed, stopped by a person, or failed.
    Done(Done) = "done",
}

impl EventBody {
    /// The bytes that are stored and hashed.
    pub fn stored_bytes(&self, heard: Option<AgentSeq>) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = self.data_bytes()?;
        if let Some(heard) = heard
            && bytes.pop_if(|last| *last == b'}').is_some()
        {
            bytes.extend_from_slice(HEARD);
            bytes.extend_from_slice(heard.to_string().as_bytes());
            bytes.push(b'}');
        }
        Ok(bytes)
    }

    /// The ask that an event is about.
    pub const fn ask(&self) -> Option<InteractionId> {
        match self {
            Self::InteractionRequest(request) => Some(request.interaction_id),
            Self::InteractionResponse(response) => Some(response.interaction_id),
            Self::InteractionUpdate(update) => Some(update.interaction_id),
            Self::InteractionClosed(closed) => Some(closed.interaction_id),
            Self::InteractionSnoozed(snoozed) => Some(snoozed.interaction_id),
            Self::InteractionUnsnoozed(unsnoozed) => Some(unsnoozed.interaction_id),
            Self::LateAnswer(late) => Some(late.interaction_id),
            Self::SessionOpened(_)
            | Self::SessionArchived(_)
            | Self::SessionUnarchived(_)
            | Self::UserMessage(_)
            | Self::TextDelta(_)
            | Self::ThinkingDelta(_)
            | Self::ToolCallStart(_)
            | Self::ToolCallDelta(_)
            | Self::ToolCallEnd(_)
            | Self::ToolResult(_)
            | Self::GrantAdded(_)
            | Self::GrantRevoked(_)
            | Self::TrustAdded(_)
            | Self::TrustRevoked(_)
            | Self::RulesFileChanged(_)
            | Self::VariablesSet(_)
            | Self::SessionInitialised(_)
            | Self::TurnEndBlocked(_)
            | Self::SessionStatus(_)
            | Self::Error(_)
            | Self::Done(_) => None,
        }
    }
}

impl std::str::FromStr for EventType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a type of event"))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpened {
    pub owner: OwnerId,
    /// Which driver hosts it; `caller` for a program that only asks.
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub permission_mode: PermissionMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
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
    /// Missing where nobody wrote it down, and in an owner's own journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Box<Opener>>,
    /// The machine that its agent runs on, for as long as there is the session: its conversation lies there. Missing where
    /// the gateway itself runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerId>,
    /// The agent runs in a person's own terminal, and this is its own name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
}

/// Who opened a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Opener {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

impl SessionOpened {
    /// With nothing said but whose it is and which agent: it asks before whatever is not read-only.
    pub fn new(owner: OwnerId, agent: impl Into<String>) -> Self {
        Self {
            owner,
            agent: agent.into(),
            cwd: None,
            title: None,
            permission_mode: PermissionMode::Default,
            model: None,
            system_prompt: None,
            max_turns: None,
            allowed_tools: Vec::new(),
            mcp_servers: Map::new(),
            program: None,
            variables: Variables::new(),
            opened_by: None,
            runner: None,
            terminal: None,
        }
    }
}

/// A person archived the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionArchived {
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// A person brought it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUnarchived {
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    pub turn_id: TurnId,
    pub message_id: MessageId,
    pub text: String,
    pub from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextDelta {
    pub turn_id: TurnId,
    pub message_id: MessageId,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingDelta {
    pub turn_id: TurnId,
    pub message_id: MessageId,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallStart {
    pub turn_id: TurnId,
    pub message_id: MessageId,
    pub tool_call_id: ToolCallId,
    pub tool_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallDelta {
    pub turn_id: TurnId,
    pub tool_call_id: ToolCallId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallEnd {
    pub turn_id: TurnId,
    pub tool_call_id: ToolCallId,
    /// As its start has it. Missing in journals of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    pub input: Value,
    /// Where nobody had to be asked: what was decided. It may come with a second event of the same call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<CallDecision>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub turn_id: TurnId,
    pub tool_call_id: ToolCallId,
    pub output: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// The response that won a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionResponse {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// The call and the turn that the ask belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The message of the model's that made the call, as its text and calls name it (`messageId`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<MessageId>,
    #[serde(flatten)]
    pub decider: Decider,
    #[serde(flatten)]
    pub response: Response,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Of the response as it was sent: the same key with another body is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_digest: Option<Digest>,
    /// Set where no tool has a say in what follows: the response settles the ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement: Option<Settlement>,
    /// The rule that this approval gives to all sessions of the owner. The update `rule_saved` says when it counts there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives: Option<Grant>,
}

/// An ask moved on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionUpdate {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// The call and the turn that the ask belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(flatten)]
    pub change: AskChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "change", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskChange {
    /// The tool's handler took the response.
    Settled {
        settlement: Settlement,
        /// What the tool made of it, for whoever called it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Where the tool failed: why, for the person who responded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// The agent was told that the answer comes later.
    Queued { message: String },
    Delivery {
        #[serde(flatten)]
        delivery: Delivery,
    },
    /// The call ran, and not with the input that was approved, or before anybody approved it.
    RanOtherThanApproved {
        /// Of the input that ran.
        ran_digest: Digest,
        /// The input that ran, unless it is too large to be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ran: Option<Value>,
    },
    /// Its agent's own record says what was answered in its terminal, which was not known when the ask closed.
    InTerminal {
        #[serde(rename = "inTerminal")]
        how: InTerminal,
    },
    /// The rule that its approval gave was saved for all sessions of the owner.
    RuleSaved { grant_id: GrantId },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionClosed {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// The call and the turn that the ask belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    pub closing: Closing,
    /// The person who stopped its turn or ended its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The words the agent is given, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// It was answered where the agent runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_terminal: Option<InTerminal>,
}

/// A person wants to see the ask later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionSnoozed {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    pub until: Timestamp,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// It is in sight again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionUnsnoozed {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// Left out where its time had come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// An answer that came after its ask was queued or expired. It settles nothing: it goes to the agent as a message, or is
/// kept for the program that asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LateAnswer {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    /// The call that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    pub name: String,
    pub surface: Surface,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    #[serde(flatten)]
    pub response: Response,
    pub idempotency_key: String,
    pub body_digest: Digest,
    /// The turn that its message begins.
    pub turn_id: TurnId,
    pub message_id: MessageId,
    /// The message: the question quoted, and the answer.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantAdded {
    #[serde(flatten)]
    pub grant: Grant,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantRevoked {
    pub grant_id: GrantId,
    #[serde(flatten)]
    pub why: RevokedWhy,
}

/// How a grant ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "why", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RevokedWhy {
    /// A person took it back.
    Revoked { name: String },
    /// It was good for one use.
    Used { interaction_id: InteractionId },
}

/// A folder's own files are trusted as they are, in the place of what was trusted there before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustAdded {
    #[serde(flatten)]
    pub trust: Trust,
}

/// A person took a trust back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustRevoked {
    pub trust_id: TrustId,
    pub name: String,
}

/// A file of rules that a gateway or a runner read, by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesFileChanged {
    #[serde(flatten)]
    pub file: RulesFileOf,
    pub digest: Digest,
}

/// Which file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "of", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RulesFileOf {
    /// The organisation's, which a gateway reads when it starts: at this time.
    Organisation { read_at: Timestamp },
    /// A folder's own, on the gateway's machine or on that of a runner.
    Project {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerId>,
        folder: String,
    },
}

/// A person set variables of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariablesSet {
    /// Those that changed; `null` for one that was removed.
    #[schema(value_type = Object)]
    pub variables: BTreeMap<String, Option<VariableValue>>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// The session's start step: written once, with the beginning of its first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInitialised {
    pub turn_id: TurnId,
    /// The defaults of variables, as rules had them then.
    #[serde(default, skip_serializing_if = "Variables::is_empty")]
    #[schema(value_type = BTreeMap<String, VariableValue>)]
    pub defaults: Variables,
    /// What the agent was told before the person's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextSaid>,
    /// Rules about the turn's end that this agent cannot be held to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<RuleText>,
}

/// Words of Holdstead's for the agent, from a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSaid {
    /// Whose file.
    pub layer: Layer,
    pub line: u32,
    pub words: String,
}

/// The agent wanted to end its turn, and a rule kept it going.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndBlocked {
    pub turn_id: TurnId,
    /// How often it was blocked in this turn, with this time.
    pub attempt: u32,
    pub rule: RuleText,
    /// What the agent was told.
    pub words: String,
}

/// The agent's process changed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub agent: AgentState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// The agent's own name for this conversation, with which it can be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<String>,
    /// This incarnation is about to be started: there may be a process of it from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    /// The agent does not know this conversation any more: the next process begins another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// Its process group, to be checked before anything is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The person who wanted it: stopped the turn, or ended the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What of its folder's own files the process was started without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Box<LeftOut>>,
    /// The box that the process was started in.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub boxed: Option<AgentBox>,
}

/// What became of the agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessChange {
    /// Nothing runs yet; whatever runs from now on under this number is this life.
    Starting {
        incarnation: Incarnation,
    },
    Began {
        incarnation: Incarnation,
        pid: u32,
    },
    Ended {
        incarnation: Incarnation,
    },
}

impl SessionStatus {
    /// What this says of a process, if it speaks of one. On the wire, one that begins is one with a `pid`.
    pub const fn process(&self) -> Option<ProcessChange> {
        match (self.incarnation, self.pid) {
            (Some(incarnation), Some(pid)) => Some(ProcessChange::Began { incarnation, pid }),
            (Some(incarnation), None) if self.starting => Some(ProcessChange::Starting { incarnation }),
            (Some(incarnation), None) => Some(ProcessChange::Ended { incarnation }),
            (None, _) => None,
        }
    }

    #[must_use]
    pub fn with_process(self, change: ProcessChange) -> Self {
        let (incarnation, pid, starting) = match change {
            ProcessChange::Starting { incarnation } => (incarnation, None, true),
            ProcessChange::Began { incarnation, pid } => (incarnation, Some(pid), false),
            ProcessChange::Ended { incarnation } => (incarnation, None, false),
        };
        Self { incarnation: Some(incarnation), pid, starting, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionError {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    pub message: String,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    pub turn_id: TurnId,
    pub reason: StopReason,
    /// Who stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Completed,
    /// A person stopped it.
    Interrupted,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "_019a0000000070008000000000000001";

    /// As they stand in journals of before people had ids: their chains are made of these bytes.
    #[test]
    fn events_without_ids_of_people_keep_their_bytes() {
        let answer = r#""action":"approve","scope":"once","idempotencyKey":"k","bodyDigest":"00""#;
        for (kind, written) in [
            (EventType::SessionOpened, r#"{"owner":"local","agent":"claude","permissionMode":"default"}"#),
            (EventType::UserMessage, r#"{"turnId":"trn_ID","messageId":"msg_ID","text":"go","from":"ana"}"#),
            (
                EventType::InteractionResponse,
                r#"{"interactionId":"int_ID","promptId":"prm_ID","by":"person","name":"ana","surface":"web",ANSWER}"#,
            ),
            (
                EventType::LateAnswer,
                r#"{"interactionId":"int_ID","promptId":"prm_ID","name":"ana","surface":"api",ANSWER,"turnId":"trn_ID","messageId":"msg_ID","text":"yes"}"#,
            ),
        ] {
            let written = written.replace("ANSWER", answer).replace("_ID", ID);
            let event = EventBody::from_data(kind, written.as_bytes()).expect("it is read");
            assert_eq!(String::from_utf8(event.data_bytes().unwrap()).unwrap(), written);
        }
        let asker = r#"{"name":"ci","surface":"api"}"#;
        let read: crate::Asker = serde_json::from_str(asker).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), asker);
    }

    #[test]
    fn the_number_of_what_was_heard_reads_back_whatever_an_agent_wrote() {
        let turn_id: TurnId = format!("trn{ID}").parse().unwrap();
        let tool_call_id = ToolCallId::new("call").unwrap();
        for output in [
            serde_json::json!({ "a": 1, "heard": 7 }),
            serde_json::json!(",\"heard\":7}"),
            serde_json::json!({ ",\"heard\"": 7 }),
            serde_json::json!(7),
        ] {
            let result = ToolResult { turn_id, tool_call_id: tool_call_id.clone(), output, is_error: false };
            let body = EventBody::ToolResult(result);
            for heard in [None, Some(AgentSeq(1)), Some(AgentSeq(u64::MAX))] {
                let bytes = body.stored_bytes(heard).unwrap();
                assert_eq!(heard_in(&bytes), heard, "{}", String::from_utf8_lossy(&bytes));
                assert_eq!(EventBody::from_data(body.event_type(), &bytes).unwrap(), body);
            }
        }
    }

    #[test]
    fn ids_of_who_answered_stand_beside_the_name() {
        let written = r#"{"interactionId":"int_ID","promptId":"prm_ID","by":"person","name":"ana","surface":"web","actor":{"personId":"per_ID","deviceId":"dev_ID"},"action":"approve","scope":"once"}"#;
        let written = written.replace("_ID", ID);
        let event = EventBody::from_data(EventType::InteractionResponse, written.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(event.data_bytes().unwrap()).unwrap(), written);
        let EventBody::InteractionResponse(response) = event else { panic!("{event:?}") };
        assert!(matches!(response.decider, Decider::Person { actor: Some(_), .. }), "{:?}", response.decider);
    }
}
