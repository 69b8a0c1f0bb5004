//! Tools written in Rust that put a person in the middle.
//!
//! A tool asks, and stays in control: its handler sees each response and says whether the call is complete, must be
//! asked again, or is left for later.
//!
//! A handler that is a value of this process dies with it, and its ask then waits for nobody. For asks that outlive the
//! process, the tool itself is the handler: it is found again by its name, with the state it asked with.

mod approvals;
pub(crate) mod builtin;
mod durable;
mod request;
mod turn;
mod waiting;

pub use approvals::Approvals;
pub(crate) use durable::Followed;
pub use durable::ToolCall;
pub use waiting::{Called, keyed_call};

use async_trait::async_trait;
use holdstead_protocol::{
    CompletedView, Decider, FieldErrors, Form, InteractionId, OwnerId, Presentation, PromptId, Question,
    Response, Scope, SessionId, ToolCallId, TurnId,
};
use serde_json::{Map, Value, json};

use crate::{Gateway, GatewayError};

/// A tool that agents can call.
#[async_trait]
pub trait Tool: Send + Sync + std::fmt::Debug {
    fn name(&self) -> &str;

    /// What it does, for the model that may call it.
    fn description(&self) -> &str;

    /// The JSON schema of its input.
    fn schema(&self) -> Value;

    /// What it does besides asking.
    fn effect(&self) -> Effect {
        Effect::Unknown
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError>;

    /// A person responded to what was asked with [`ToolContext::request_durable`]. It may be called more than once for
    /// one prompt, also in another process than the one that asked.
    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        _response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        Err(ToolFailure(format!("{} does not say what an answer leads to", self.name())))
    }

    /// Nobody did in time.
    async fn on_timeout(&self, _context: &ToolContext, _state: &Value) -> Result<ToolOutcome, ToolFailure> {
        Ok(nobody_answered())
    }

    /// The turn was stopped or the session ended. Told by everyone who waits for the call, so it may be told more than once.
    async fn on_cancel(&self, _context: &ToolContext, _state: &Value) {}
}

/// What a tool does besides asking people. Clients ask their own person less before a call that does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing on any machine, and reaches the gateway's people only.
    None,
    Unknown,
}

/// What one call of a tool may use.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub gateway: Gateway,
    pub owner: OwnerId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub tool_call_id: ToolCallId,
    pub tool_name: String,
    pub when_nobody: WhenNobody,
}

/// What happens to an ask while no client that would answer watches the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenNobody {
    /// The tool is told so at once, and can do something else.
    #[default]
    Refuse,
    /// It waits for somebody to come.
    Wait,
}

/// What is asked, and how it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    pub(crate) asked: Asked,
    pub(crate) words: Option<String>,
    pub(crate) presentation: Presentation,
    pub(crate) completed_view: Option<CompletedView>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Approval { input: Value, scopes: Vec<Scope> },
    Questions { questions: Vec<Question> },
    Form { form: Form },
}

impl Interaction {
    /// May this be done, once or in this session?
    pub fn approval(input: Value) -> Self {
        Self::approval_reaching(input, &[Scope::Once, Scope::Session])
    }

    /// An approval that can reach this far.
    pub fn approval_reaching(input: Value, scopes: &[Scope]) -> Self {
        Self::new(Asked::Approval { input, scopes: scopes.to_vec() })
    }

    pub fn questions(questions: Vec<Question>) -> Self {
        Self::new(Asked::Questions { questions })
    }

    pub fn form(form: Form) -> Self {
        Self::new(Asked::Form { form })
    }

    fn new(asked: Asked) -> Self {
        Self { asked, words: None, presentation: Presentation::Tool, completed_view: None }
    }

    /// What the person is asked, in the tool's own words. They are shown as such.
    #[must_use]
    pub fn saying(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }

    /// Shown as a block of its own, not inside the block of the tool.
    #[must_use]
    pub fn as_questionnaire(mut self) -> Self {
        self.presentation = Presentation::Questionnaire;
        self
    }

    /// What the transcript shows once it is answered.
    #[must_use]
    pub fn completed_as(mut self, view: CompletedView) -> Self {
        self.completed_view = Some(view);
        self
    }
}

/// How a tool reacts. Validation is a reprompt, never a failure.
#[async_trait]
pub trait ResponseHandler: Send + Sync {
    /// A person responded.
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure>;

    /// Nobody did in time.
    async fn on_timeout(&self) -> Result<ToolOutcome, ToolFailure> {
        Ok(nobody_answered())
    }

    /// The turn was stopped or the session ended. The call is over.
    async fn on_cancel(&self) {}
}

fn nobody_answered() -> ToolOutcome {
    ToolOutcome::Complete(json!({ "ok": false, "error": "Nobody answered in time." }))
}

/// A response as a handler sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResponse {
    /// The ask that was answered: what an approval that is remembered names.
    pub interaction_id: InteractionId,
    /// Who answered: a person, or a grant or rule that did in their place.
    pub decider: Decider,
    /// Handlers are called at least once per prompt: this is the key to do a thing once.
    pub prompt_id: PromptId,
    pub attempt: u32,
    pub response: Response,
}

/// What a tool wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// The call is over, with this result.
    Complete(Value),
    /// Ask again.
    Reprompt(Reprompt),
    /// Tell the agent that the answer comes later, as a message.
    Pending { message: String },
}

/// How it is asked again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reprompt {
    /// What is asked now, of the same kind as before. Left out: the same.
    pub interaction: Option<Box<Interaction>>,
    pub error: Option<String>,
    pub field_errors: FieldErrors,
    pub initial_values: Map<String, Value>,
}

/// Something unexpected in a handler: a tool error for the agent, plain words for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailure(pub String);

#[derive(Debug, thiserror::Error)]
pub enum InteractionError {
    #[error("the ask was cancelled: its turn was stopped or its session ended")]
    Cancelled,
    #[error("the ask expired and cannot be shown again")]
    Expired,
    #[error("the tool failed: {0}")]
    Failed(#[from] ToolFailure),
    #[error("the tool was asked to show its ask too often")]
    TooManyAttempts,
    #[error("interaction_unavailable: nobody who would answer is watching this session")]
    Unavailable,
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}
