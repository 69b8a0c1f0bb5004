//! What is asked of a person.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    Actor, CallMark, CallVerdict, Digest, InteractionId, MessageId, PromptId, Rule, Scope, Surface,
    Timestamp, ToolCallId, TurnId,
};

/// One showing of an ask. Asking again is a new request with the same `interactionId` and `attempt` + 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionRequest {
    pub interaction_id: InteractionId,
    pub prompt_id: PromptId,
    pub attempt: u32,
    pub origin: Origin,
    /// The program that asked, by its token. It alone is handed the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Asker>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The message of the model's that made the call, as its text and calls name it (`messageId`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The chain of subagents that leads to this ask, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    pub tool_name: String,
    /// The raw input, whole: what is shown is what is decided on.
    pub input: Value,
    pub input_digest: Digest,
    #[serde(flatten)]
    pub body: AskBody,
    /// The asker's own words. Shown as such, never as fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_says: Option<String>,
    /// The folder in which it would run, where the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What rules say about it, part by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CallVerdict>,
    /// What is risky in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<CallMark>,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    /// Why it is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Errors by field, on a reprompt.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub field_errors: Map<String, Value>,
    /// What was typed before, kept on a reprompt.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub initial_values: Map<String, Value>,
    #[serde(default)]
    pub presentation: Presentation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_view: Option<CompletedView>,
    pub hold: Hold,
    /// When the ask closes by itself. An answer at or after this moment is too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    pub can_park: bool,
    pub capabilities: Capabilities,
    /// An approval of the very same input may already have taken effect in an agent that died.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_run: bool,
    /// The tool decides what a response leads to; without it a response settles the ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_handler: bool,
    /// What the tool needs to go on with the response in another process. It stands in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler_state: Option<Value>,
}

/// Who asked: derived from a token, never from a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asker {
    pub name: String,
    pub surface: Surface,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// Who waits for the settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An agent that we host: the settlement is written to its process.
    Agent,
    /// An agent in a person's own terminal, where the same is asked: whoever answers first wins, and what is written to it
    /// may come too late.
    Attached,
    /// A tool registered with the gateway.
    Tool,
    /// A program that asked over the network and fetches the settlement.
    Caller,
}

impl Origin {
    /// An agent waits for it, which is told.
    pub const fn is_agent(self) -> bool {
        match self {
            Self::Agent | Self::Attached => true,
            Self::Tool | Self::Caller => false,
        }
    }
}

/// What kind of ask it is, with what only that kind has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskBody {
    Approval {
        /// A diff, where the tool edits a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// How far an approval may reach, each with the literal rules it would save; the narrowest first.
        offered_scopes: Vec<OfferedScope>,
        /// The agent's own plan: an approval lets it begin. What a tool's fields are called does not make one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_plan: bool,
    },
    Question {
        questions: Vec<Question>,
    },
    Form {
        form: Form,
    },
}

impl AskBody {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::Question { .. } => "question",
            Self::Form { .. } => "form",
        }
    }

    pub const fn is_approval(&self) -> bool {
        matches!(self, Self::Approval { .. })
    }

    /// Every id that an answer, an error or a value names a part of the ask by.
    pub fn ids_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Approval { .. } => Vec::new(),
            Self::Question { questions } => questions.iter_mut().map(|question| &mut question.id).collect(),
            Self::Form { form } => form.fields.iter_mut().map(|field| &mut field.id).collect(),
        }
    }

    /// Every text that a person is shown and that is this kind's own, and every value. Where it is too much, it is cut
    /// here.
    pub fn for_each_shown(&mut self, text: impl Fn(&mut String), value: impl Fn(&mut Value)) {
        match self {
            Self::Approval { preview, offered_scopes: _, is_plan: _ } => preview.iter_mut().for_each(text),
            Self::Question { questions } => {
                for question in questions {
                    text(&mut question.header);
                    text(&mut question.question);
                    for option in &mut question.options {
                        text(&mut option.label);
                        [&mut option.description, &mut option.preview].into_iter().flatten().for_each(&text);
                    }
                }
            }
            Self::Form { form } => {
                form.title.iter_mut().for_each(&text);
                for field in &mut form.fields {
                    text(&mut field.label);
                    field.description.iter_mut().for_each(&text);
                    field.default.iter_mut().for_each(&value);
                }
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedScope {
    pub scope: Scope,
    #[serde(flatten)]
    pub rule: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub id: String,
    /// A chip of at most 12 characters.
    pub header: String,
    pub question: String,
    #[serde(default)]
    pub options: Vec<QuestionOption>,
    #[serde(default)]
    pub multi_select: bool,
    #[serde(default = "yes")]
    pub allow_other: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Its free text has room for several lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiline: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Form {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    pub id: String,
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(flatten)]
    pub kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FieldKind {
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<TextFormat>,
    },
    Textarea {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u32>,
    },
    Number {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
        #[serde(default)]
        integer: bool,
    },
    Select {
        options: Vec<FieldOption>,
    },
    Multiselect {
        options: Vec<FieldOption>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u32>,
    },
    Checkbox {},
    Radio {
        options: Vec<FieldOption>,
    },
    /// A day, as `2026-01-31`.
    Date {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<String>,
    },
    Secret {},
}

/// What a line of text must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    Email,
    Uri,
    DateTime,
}

impl TextFormat {
    /// For the person who fills it in.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "a whole link, like https://example.org/",
            Self::DateTime => "a day and time with its zone, like 2026-01-31T09:30:00Z",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldOption {
    pub value: String,
    pub label: String,
}

/// Where a screen shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presentation {
    /// Inside the tool's own block.
    #[default]
    Tool,
    /// A block of its own.
    Questionnaire,
}

/// What the transcript shows of an ask that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletedView {
    /// Every value of a form, beside its label.
    #[serde(default)]
    pub show_inputs: bool,
    /// One line about what was decided, like `{{action}}: {{version}} to {{place}}`. `{{action}}` is what the person did,
    /// the other names are those of a form's fields, of questions, or of the top of an approved input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_template: Option<String>,
}

/// How long the agent is kept waiting, and what then. How long the *ask* stays open is its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    pub after_ms: u64,
    pub then: HoldThen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldThen {
    /// Let the process go; an answer starts it again. Where that cannot be: wait.
    Park,
    /// Keep the process waiting.
    Wait,
    /// Close the ask and tell the agent that nobody answered.
    Deny,
    /// Tell the agent that the answer comes later, and keep the ask.
    Defer,
}

/// What the asker's wire can carry. What it cannot is not offered on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Words that go with a refusal.
    pub reason: bool,
    /// An input changed by the person.
    pub edit_input: bool,
    /// Approvals that reach further than once.
    pub scopes: bool,
}
