//! The three state fields of section "The one idea": the ask, the agent and the delivery. They are never mixed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Incarnation, InteractionId, PromptId};

/// Where an ask stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskState {
    /// A person may answer.
    Open,
    /// A response won this prompt; the asking tool has not said yet what follows.
    Submitted {
        /// A receipt has a prompt id of its own.
        #[serde(rename = "submittedPromptId")]
        prompt_id: PromptId,
    },
    /// The agent was told that the answer comes later; a person may still give it.
    Queued,
    Settled {
        settlement: Settlement,
    },
    Closed {
        closing: Closing,
    },
}

impl AskState {
    /// Nothing more will happen to it.
    pub const fn is_over(&self) -> bool {
        match self {
            Self::Settled { .. } | Self::Closed { .. } => true,
            Self::Open | Self::Submitted { .. } | Self::Queued => false,
        }
    }
}

/// How an ask was settled. There is no default: only a person, a grant or a rule brings one about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    Approved,
    Denied,
    Answered,
    Declined,
    /// A person responded, and the tool that asked failed over it: nothing came of the response.
    Failed,
}

/// Why an ask closed without a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Its time ran out.
    Expired,
    /// Its turn was stopped, its session ended, or its agent withdrew it.
    Cancelled,
    /// It was queued, and its answer went to the agent as a message.
    AnsweredLate,
    /// The program that asked took it back.
    Withdrawn,
}

/// What the agent's process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Nothing to do: between turns.
    Idle,
    Running,
    /// Alive, and waiting for a person.
    Waiting,
    /// Told to go away until the answer comes; not gone yet.
    Parking,
    /// Gone on purpose; an answer starts it again at the same tool call.
    Parked,
    /// Gone without notice.
    Detached,
    Ended,
}

/// How far a settlement has come on its way to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "delivery", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Delivery {
    /// Durable here; nothing was written to the agent.
    Accepted,
    /// About to be written to this incarnation. From here on, its death makes the outcome unknown.
    Delivering {
        incarnation: Incarnation,
    },
    Delivered {
        incarnation: Incarnation,
    },
    /// The agent showed that it has it.
    Acknowledged,
    /// The agent died between the first byte and its acknowledgement: it may or may not have acted.
    Unknown {
        incarnation: Incarnation,
    },
    /// It can no longer reach the agent.
    Undeliverable {
        /// The identical repeat that was answered in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved_to: Option<InteractionId>,
        /// The person at the agent's own terminal was faster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_terminal: Option<InTerminal>,
    },
    /// The agent has the approval, and the call did not run.
    NotRun {
        because: NotRun,
    },
}

/// What was answered in an agent's own terminal, as far as its program lets us know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InTerminal {
    pub answer: TerminalAnswer,
    pub known_by: KnownBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalAnswer {
    Allowed,
    Refused,
    /// A question got its answer.
    Answered,
    /// Something there decided: its own settings, or another program's hook.
    NotByAPerson,
    /// It is not asked any more, and nothing says why.
    NotSaid,
}

/// How we know what was answered in a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The program's own record names who decided.
    Record,
    /// The program tells its clients when a question is over.
    Program,
    /// The program took its question back.
    Withdrawn,
    /// The terminal is closed.
    Closed,
    /// It was not answered here in time, so the program asks in the terminal alone.
    LeftToTerminal,
}

/// Why an approved call did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotRun {
    /// A hook or a deny rule of the agent's own blocked it.
    Blocked,
    /// A hook of the agent's own changed the input after it was approved; the changed call is an ask of its own.
    AskedAnew,
    /// The agent died before it had the approval. It was started again, and did not make the call again.
    NotCalledAgain,
}

impl Delivery {
    /// It reaches nobody, and nothing took its place.
    pub const NOWHERE: Self = Self::Undeliverable { moved_to: None, in_terminal: None };

    /// Nothing more will happen to it.
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Acknowledged | Self::Unknown { .. } | Self::Undeliverable { .. } | Self::NotRun { .. } => {
                true
            }
            Self::Accepted | Self::Delivering { .. } | Self::Delivered { .. } => false,
        }
    }
}

/// How much a hosted agent may do unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Whatever is not read-only asks.
    #[default]
    Default,
    /// Edits inside the folder pass; the rest asks.
    AcceptEdits,
    /// The agent plans and changes nothing.
    Plan,
    /// Every tool is allowed by a rule named in the journal; questions still reach a person.
    Auto,
}
