//! What was decided, and what was found.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{CallMark, GrantId, InTerminal, InteractionId, Layer, Seq, SessionId, Surface, Timestamp};

use super::{Outcome, TooLate};

/// An ask that is over: what was asked, what became of it, by whom, and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub interaction_id: InteractionId,
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    pub agent: String,
    /// The session's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `approval`, `question` or `form`.
    pub kind: String,
    pub tool_name: String,
    /// What was asked: the command, the path, the question. The beginning, where it is long.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<CallMark>,
    pub outcome: Outcome,
    /// Who or what brought that about. Left out where it closed by itself, and where nothing says who it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<DecisionBy>,
    /// How we know what was answered in the agent's own terminal, where that is what counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_terminal: Option<InTerminal>,
    /// An answer that was given here after that: it changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_late: Option<TooLate>,
    /// What ran in the place of what was asked: a person changed the input, or the agent did. The beginning, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
    /// Where a person decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<Surface>,
    /// The rules that were saved with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<String>,
    /// What the person said: a reason, or the answers. Never a secret. The beginning, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    pub opened_at: Timestamp,
    pub decided_at: Timestamp,
    /// From the one to the other.
    pub waited_ms: u64,
}

/// Who or what ended an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "is", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum DecisionBy {
    Person {
        name: String,
    },
    /// A person at the agent's own terminal, which does not say who.
    PersonInTerminal {},
    /// The agent's own settings, or a hook of another program.
    AgentSettings {},
    /// Rules, word for word.
    Rule {
        text: String,
        /// Whose it is, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layer: Option<Layer>,
    },
    /// A remembered approval of the very same input.
    Grant {
        grant_id: GrantId,
    },
    /// A person's answer to an identical ask, which had not reached the agent.
    Earlier {
        interaction_id: InteractionId,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionPage {
    pub decisions: Vec<Decision>,
    /// Pass it as `before` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// In what form all decisions are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// RFC 4180. A field that a spreadsheet would take for a formula begins with an apostrophe.
    Csv,
    /// One decision in JSON on each line.
    Jsonl,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// A session by its title.
    Session,
    /// A person's message.
    Message,
    /// What an agent or a program wanted to do.
    Call,
    /// What was decided about an ask.
    Decision,
}

impl FoundKind {
    pub const ALL: [Self; 4] = [Self::Session, Self::Message, Self::Call, Self::Decision];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Message => "message",
            Self::Call => "call",
            Self::Decision => "decision",
        }
    }
}

/// One place where all the words are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    pub kind: FoundKind,
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// The event that it stands in.
    pub seq: Seq,
    pub at: Timestamp,
    /// The part around the first hit.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchPage {
    pub results: Vec<Found>,
    /// Pass it as `before` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
