//! Bodies of the HTTP API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    Actor, AgentBox, AgentState, AskState, CompletedView, Delivery, DeviceId, DeviceKind, Digest, Event,
    Field, FieldErrors, Form, Grant, InteractionId, InteractionRequest, InteractionResponse, MessageId,
    Opener, PermissionMode, PersonId, Presentation, PromptId, Response, ResponseDraft, Scope, Seq, SessionId,
    Surface, Timestamp, Trust, TrustId, TurnId,
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
        }
    }
}

/// A session as the list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub session_id: SessionId,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    pub permission_mode: PermissionMode,
    /// The last event: where a client that reads on from here will be complete.
    pub seq: Seq,
    pub state: AgentState,
    /// The box that the agent's process runs in, or ran in last. Left out before the first one is started.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub boxed: Option<AgentBox>,
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
    /// Set if what was said is gone: there are no events and no asks to read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<Erased>,
}

/// Who erased a session, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Erased {
    pub at: Timestamp,
    pub by: String,
}

/// Which sessions a list shows: all, those that have not ended, or those in one state.
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
}

impl SessionFilter {
    /// The states it lets through; none for all.
    pub fn states(self) -> Vec<AgentState> {
        match self {
            Self::All => Vec::new(),
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

/// An ask with all that is known of it now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interaction {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    pub agent: String,
    /// The event that changed it last: of two views the higher is the newer.
    pub seq: Seq,
    pub opened_at: Timestamp,
    #[serde(flatten)]
    pub state: AskState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Its call ran, and not with the input that was approved; the journal has the input that ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_other_than_approved: bool,
    /// The agent has no process while it waits.
    pub parked: bool,
    pub request: InteractionRequest,
    /// The response that won the last prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<InteractionResponse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responded_at: Option<Timestamp>,
    /// An answer that came after its time ran out. It settled nothing; a program that asked may use it. Not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateResponse>,
    /// Why its tool failed, where it is settled as `failed`. Not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Only in lists: this is not the whole ask. Fetch it by its id before anybody decides on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

/// An answer that came too late to settle its ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LateResponse {
    pub name: String,
    pub surface: Surface,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    #[serde(flatten)]
    pub response: Response,
    pub at: Timestamp,
}

/// That a list shows a part of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// What the whole ask shows, in bytes.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionPage {
    pub interactions: Vec<Interaction>,
    /// Pass it as `after` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One change in the inbox: of two with the same ask the higher `seq` wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxUpsert {
    pub interaction_id: InteractionId,
    pub session_id: SessionId,
    pub seq: Seq,
    #[serde(flatten)]
    pub state: AskState,
}

/// Any program asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskCall {
    /// The session it belongs to. Left out: a session of the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The caller's key: asking again with it finds the same ask.
    pub key: String,
    /// What the ask is about: the name of the step or tool.
    pub tool_name: String,
    /// What would be done, whole. Left out for questions and forms: they speak for themselves.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    #[serde(flatten)]
    pub body: AskCallBody,
    /// Why, in the caller's own words. Shown as such. It may also be sent as `prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_says: Option<String>,
    /// Where the caller asks once more, with a new key: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// And what was wrong with each field or question.
    #[serde(default, skip_serializing_if = "FieldErrors::is_empty")]
    pub field_errors: FieldErrors,
    /// And what was typed before, so that nobody types it twice.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub initial_values: Map<String, Value>,
    /// Where a screen shows it. Left out: as a block of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<Presentation>,
    /// What is left to see of it once it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_view: Option<CompletedView>,
    /// How long the ask stays open. Left out: until it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl AskCall {
    /// Asked for the first time, in the caller's own session, until it is answered.
    pub fn new(
        key: impl Into<String>,
        tool_name: impl Into<String>,
        input: Value,
        body: AskCallBody,
    ) -> Self {
        Self {
            session_id: None,
            key: key.into(),
            tool_name: tool_name.into(),
            input,
            body,
            agent_says: None,
            error: None,
            field_errors: FieldErrors::new(),
            initial_values: Map::new(),
            presentation: None,
            completed_view: None,
            timeout_ms: None,
        }
    }
}

/// What kind of ask a program opens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskCallBody {
    Approval {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// The caller goes on with `editedInput` where the person changed the input. Left out: it cannot be changed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        editable: bool,
        /// `session`: the person may approve the very same input for as long as the caller's session lives.
        /// Left out: once only. They may also be sent as `approvalScopes`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scopes: Vec<Scope>,
    },
    Question {
        questions: Vec<crate::Question>,
    },
    Form {
        form: FormCall,
    },
}

/// A form by its fields, or by the schema of what is wanted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FormCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// In place of fields: a flat JSON Schema, as MCP's elicitation has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Value>,
}

impl From<Form> for FormCall {
    fn from(form: Form) -> Self {
        Self { title: form.title, fields: form.fields, schema: None }
    }
}

/// Answer an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Respond {
    /// The prompt that was on the screen.
    pub prompt_id: PromptId,
    /// Sending the same key again gets the original result.
    pub idempotency_key: String,
    #[serde(flatten)]
    pub response: ResponseDraft,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    pub session_id: SessionId,
    /// The event that recorded it.
    pub seq: Seq,
    pub at: Timestamp,
    #[serde(flatten)]
    pub state: AskState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// It was too late to settle the ask. It goes to the agent as a message, or, where a program asked, is kept for it as
    /// `late` of the ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantPage {
    pub grants: Vec<ListedGrant>,
}

/// A remembered approval, and the session that it ends with, if it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedGrant {
    #[serde(flatten)]
    pub grant: Grant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustPage {
    pub trusts: Vec<Trust>,
}

/// What a folder brings that an agent would run, or be allowed something by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderFiles {
    pub agent: String,
    pub folder: String,
    /// Files that could run or allow something, from the top of the repository.
    pub files: Vec<String>,
    /// Files with words for the model, which it does not read either while the folder is not trusted.
    pub instructions: Vec<String>,
    /// Names the files as they are now; left out, if there is nothing to trust or they cannot be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The trust that covers them as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_id: Option<TrustId>,
}

/// Trust this folder's own files, as they were shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustFolder {
    pub agent: String,
    pub folder: String,
    /// Of the files that were shown: others are not trusted.
    pub digest: Digest,
}

/// The short form of an approval: of the input as it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortApproval {
    pub tool_call_id: Option<String>,
}

/// The short form of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortDenial {
    pub tool_call_id: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// The short form of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortAnswers {
    pub tool_call_id: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub answers: Option<Map<String, Value>>,
}

/// Why a short form was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortError {
    pub error: String,
    /// What is wrong with each answer.
    #[serde(default, skip_serializing_if = "FieldErrors::is_empty")]
    pub field_errors: FieldErrors,
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

/// What one person may open from a terminal: a link that works once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginLink {
    /// The part after `/login#`: never sent in a query string.
    pub code: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UseLoginLink {
    pub code: String,
}

/// What a browser is given for the code of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedIn {
    /// Sent as `Authorization: Bearer …` from then on, and kept where no other site and no other port can read it.
    pub token: String,
}

/// Opens one socket in place of a token: `/v1/ws?ticket=…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub ticket: String,
    pub expires_at: Timestamp,
}

/// Who the token speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoAmI {
    pub person_id: PersonId,
    pub device_id: DeviceId,
    pub name: String,
    pub role: Role,
    pub version: String,
}

/// The devices of one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DevicePage {
    pub devices: Vec<Device>,
}

/// A browser, a terminal or a token that can act for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    pub device_id: DeviceId,
    pub kind: DeviceKind,
    pub name: String,
    /// The one that asks.
    pub current: bool,
    pub created_at: Timestamp,
    /// To the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// A browser's moves on while it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The agents that a gateway can host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    pub agents: Vec<HostedAgent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedAgent {
    /// The name a session is opened with.
    pub name: String,
    /// Its program was found where the gateway runs.
    pub installed: bool,
    /// What to do where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May answer.
    Person,
    /// May look.
    Viewer,
    /// May open asks in its own session, never answer.
    Agent,
    /// Hosts agents elsewhere, never answers.
    Runner,
    /// Manages tokens and sessions; may answer.
    Admin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_can_be_read_whatever_became_of_the_answer() {
        let prompt_id = PromptId::generate();
        let session_id = SessionId::generate(&crate::OwnerId::new("ada").unwrap());
        for state in [AskState::Open, AskState::Submitted { prompt_id }, AskState::Queued] {
            let receipt = Receipt {
                interaction_id: InteractionId::derive(session_id, "a"),
                prompt_id,
                session_id,
                seq: Seq(7),
                at: Timestamp::from_micros(1),
                state,
                delivery: None,
                late: false,
            };
            let text = serde_json::to_string(&receipt).unwrap();
            assert_eq!(serde_json::from_str::<Receipt>(&text).unwrap(), receipt, "{text}");
        }
    }
}
