//! What is read from the journal, and what to ask for.

use std::time::Duration;

use holdstead_core::{Archived, Ask, Head, Session};
use holdstead_protocol::{
    AgentState, DeviceId, DeviceKind, Event, IdentifiedBy, InteractionId, InteractionRequest,
    InteractionResponse, OwnerId, PasskeyId, PermissionMode, PersonId, PromptId, Seq, SessionId,
    SessionOpened, Timestamp, api::Role,
};

/// What an append led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    /// The new events; none if the command had happened already.
    pub events: Vec<Event>,
    /// The last event of the session.
    pub head: Seq,
    /// The session's state after it, with the asks that the command or its events name.
    pub session: Session,
}

/// A session as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub owner: OwnerId,
    pub agent: String,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub permission_mode: PermissionMode,
    pub opened: SessionOpened,
    pub head: Seq,
    pub state: Head,
    pub opened_at: Timestamp,
    pub changed_at: Timestamp,
    /// Set if it is out of the way of lists.
    pub archived: Option<Archived>,
    /// Set if what was said is gone: there are no events and no asks to read any more.
    pub erased: Option<Erasure>,
    /// The file that what was said is in.
    pub aged_out_to: Option<String>,
}

/// Who erased a session, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub at: Timestamp,
    pub by: String,
}

/// A page of sessions, the newest first. Owners' own journals are left out.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    pub owner: OwnerId,
    /// The last session of the page before: when it was opened, and its id.
    pub before: Option<(Timestamp, SessionId)>,
    pub only: SessionsOnly,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionsOnly {
    /// Archived or not.
    All,
    /// Those that are not archived, by what their agents do. Empty: whatever they do.
    Unarchived(Vec<AgentState>),
    Archived,
}

/// An ask with all that is known of it now.
#[derive(Debug, Clone, PartialEq)]
pub struct AskRecord {
    pub id: InteractionId,
    pub session: SessionId,
    pub owner: OwnerId,
    pub ask: Ask,
    /// The prompt that was shown last.
    pub request: InteractionRequest,
    /// The response that won a prompt last.
    pub response: Option<InteractionResponse>,
    pub session_title: Option<String>,
    pub agent: String,
    pub agent_state: AgentState,
}

/// An ask that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidedRecord {
    pub record: AskRecord,
    pub decided_at: Timestamp,
    /// The session's folder.
    pub cwd: Option<String>,
}

/// A page of asks, the oldest first.
#[derive(Debug, Clone)]
pub struct AskQuery {
    pub owner: OwnerId,
    pub session: Option<SessionId>,
    pub only: AskFilter,
    /// The last ask of the page before: when it was opened, and its id.
    pub after: Option<(Timestamp, InteractionId)>,
    pub limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskFilter {
    /// Those that a person can still answer or a tool still decides.
    Live,
    All,
}

/// What somebody has to go on with, though no person is asked any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnderWay {
    /// Its tool has a response, and has not said yet what follows.
    Submitted,
    /// What was decided is on its way to the agent.
    Undelivered,
}

impl UnderWay {
    pub(crate) fn of(ask: &Ask) -> Option<Self> {
        match (ask.is_submitted(), ask.undelivered) {
            (true, _) => Some(Self::Submitted),
            (false, true) => Some(Self::Undelivered),
            (false, false) => None,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Undelivered => "undelivered",
        }
    }
}

/// The asks whose time ran out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueList {
    pub due: Vec<DueAsk>,
    /// How long from now, by the database's clock, until the next one is due.
    pub next_in: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueAsk {
    pub session: SessionId,
    pub interaction: InteractionId,
    pub prompt: PromptId,
    /// For how long it has been due.
    pub late_by: Duration,
}

/// A secret answer on its way to the one who asked, sealed with a key that this store does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// Names the answer.
    pub answer: String,
    pub session: SessionId,
    pub interaction: InteractionId,
    pub prompt: PromptId,
    pub sealed: Vec<u8>,
    pub at: Timestamp,
}

/// Which secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretsOf {
    Answer(InteractionId, String),
    Prompt(InteractionId, PromptId),
    Ask(InteractionId),
    Session(SessionId),
}

/// A person, a program or a hosted agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRecord {
    pub id: PersonId,
    pub owner: OwnerId,
    pub name: String,
    /// What nobody else of this owner has, also after they were removed.
    pub handle: String,
    pub role: Role,
    pub passkey_rule: PasskeyRule,
    pub created_at: Timestamp,
    pub removed_at: Option<Timestamp>,
}

/// Whether a passkey has to confirm what a person approves of what is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyRule {
    NotRequired,
    Required,
}

/// A passkey of a person: its public part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyRecord {
    pub id: PasskeyId,
    pub person: PersonId,
    /// Its id, as its device gave it.
    pub credential: Vec<u8>,
    pub public_key: Vec<u8>,
    /// The name of the page that it is for.
    pub site: String,
    pub name: String,
    /// How often it says that it was used.
    pub count: u32,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// One browser, terminal or token. Its secret is known by its SHA-256, and itself never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRecord {
    pub id: DeviceId,
    pub person: PersonId,
    pub hash: [u8; 32],
    pub kind: DeviceKind,
    pub identified_by: IdentifiedBy,
    pub name: String,
    /// The one session that an agent's token is good for.
    pub session: Option<SessionId>,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A link that logs a browser in once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginLinkRecord {
    pub hash: [u8; 32],
    pub person: PersonId,
    pub expires_at: Timestamp,
}

/// What became of using a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkUse {
    /// It was good, and now it is used up.
    Ok(PersonId),
    UsedAt(Timestamp),
    Expired(Timestamp),
    Unknown,
}

/// A ticket: opens one socket, once, for the token that it was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRecord {
    pub hash: [u8; 32],
    /// The hash of the token.
    pub token: [u8; 32],
    pub expires_at: Timestamp,
}

/// What a passkey confirmed: one device may do it once, until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationRecord {
    /// Of the challenge that was answered. Each is answered once.
    pub challenge: [u8; 32],
    pub device: DeviceId,
    /// The SHA-256 of what it is for.
    pub purpose: [u8; 32],
    pub passkey: PasskeyId,
    pub expires_at: Timestamp,
}

/// How the database would run one of our queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPlan {
    pub name: &'static str,
    pub plan: String,
}
