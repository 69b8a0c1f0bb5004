//! Asks: opened by programs, shown, and answered.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    Actor, AskState, CompletedView, Delivery, Field, FieldErrors, Form, InTerminal, InteractionId,
    InteractionRequest, InteractionResponse, Presentation, PromptId, Refusal, Response, ResponseDraft, Scope,
    Seq, SessionId, Surface, Timestamp,
};

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
    /// The person who stopped its turn or ended its session, where that closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<String>,
    /// It was answered in the agent's own terminal, where that closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_terminal: Option<InTerminal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Its call ran, and not with the input that was approved; the journal has the input that ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_other_than_approved: bool,
    /// The agent has no process while it waits.
    pub parked: bool,
    /// Out of sight on every screen until then, or until it is asked anew. Its own deadline is not moved by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_by: Option<String>,
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
    /// Out of sight until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_by: Option<String>,
}

/// Put an ask out of sight for a while, on every screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnoozeAsk {
    /// The prompt that was on the screen.
    pub prompt_id: PromptId,
    /// At most seven days from now.
    pub until: Timestamp,
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
    /// How long the ask stays open, at most 366 days. Left out: until it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 31_622_400_000_i64)]
    pub timeout_ms: Option<u64>,
}

/// The longest time after which an ask closes by itself, in milliseconds: 366 days.
pub const LONGEST_TIMEOUT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

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

/// Answer several asks at once: each with its own prompt, key and decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RespondMany {
    pub answers: Vec<OneOfMany>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneOfMany {
    pub interaction_id: InteractionId,
    #[serde(flatten)]
    pub answer: Respond,
}

/// What became of each, in the order in which they were sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManyReceipts {
    pub results: Vec<OneReceipt>,
}

/// A receipt, or why this one was not taken; the others are not touched by that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum OneReceipt {
    Taken { receipt: Receipt },
    Refused { interaction_id: InteractionId, problem: Refusal },
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
