//! What leaves the process: ids, events, asks, responses, grants, API bodies and error codes.
//!
//! This crate never does IO, never decides and never reads a clock: it is the vocabulary that every
//! other crate, the journal and the clients share.

mod agent_box;
pub mod api;
mod ask;
mod code;
mod event;
mod grant;
mod ids;
pub mod json;
pub mod mcp;
mod meaning;
mod person;
mod policy;
mod problem;
mod response;
pub mod runner;
pub mod shape;
pub mod signature;
pub mod socket;
mod state;
mod time;
pub mod transport;
mod trust;
mod variable;

pub use agent_box::AgentBox;
pub use ask::{
    AskBody, Asker, Capabilities, CompletedView, Field, FieldKind, FieldOption, Form, Hold, HoldThen,
    InteractionRequest, OfferedScope, Origin, Presentation, Question, QuestionOption, TextFormat,
};
pub use code::{Code, CodeWords};
pub use event::{
    AskChange, ContextSaid, Done, Event, EventBody, EventType, GrantAdded, GrantRevoked, InteractionClosed,
    InteractionResponse, InteractionSnoozed, InteractionUnsnoozed, InteractionUpdate, LateAnswer, Opener,
    ProcessChange, RevokedWhy, RulesFileChanged, RulesFileOf, SessionArchived, SessionError,
    SessionInitialised, SessionOpened, SessionStatus, SessionUnarchived, StopReason, TextDelta,
    ThinkingDelta, ToolCallDelta, ToolCallEnd, ToolCallStart, ToolResult, TrustAdded, TrustRevoked,
    TurnEndBlocked, Usage, UserMessage, VariablesSet, heard_in,
};
pub use grant::{CallSource, Grant, Rule, Scope};
pub use ids::{
    AgentSeq, DeviceId, Digest, EventId, GrantId, IdError, Incarnation, InteractionId, MessageId, OwnerId,
    OwnerTag, PasskeyId, PersonId, PromptId, RunnerId, Seq, SessionId, ToolCallId, TrustId, TurnId,
};
pub use meaning::{MayAllow, Meaning, Shell, Subject};
pub use person::{Actor, DeviceKind, IdentifiedBy};
pub use policy::{
    CallDecision, CallMark, CallPart, CallVerdict, DecidedBy, Effect, Layer, Requirement, Risk, RuleText,
    Told,
};
pub use problem::{FieldErrors, Problem, Refusal, Winner};
pub use response::{Answer, Decider, Response, ResponseDraft, SECRET, Surface};
pub use state::{
    AgentState, AskState, Closing, Delivery, InTerminal, KnownBy, NotRun, PermissionMode, Settlement,
    TerminalAnswer,
};
pub use time::{Timestamp, TimestampError};
pub use trust::{LeftOut, Trust};
pub use variable::{VariableValue, Variables};
