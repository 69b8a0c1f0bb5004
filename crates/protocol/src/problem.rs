//! Errors as clients see them: problem details (RFC 9457) with a code of ours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Decider, InteractionId, PromptId, Timestamp};

/// Messages by question or field id.
pub type FieldErrors = BTreeMap<String, String>;

/// Why something was not done, on every transport alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub code: Code,
    /// What happened and what to do.
    pub detail: String,
    /// On `lost`: who was first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Box<Winner>>,
    /// On `stale_prompt`: the prompt to answer instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<PromptId>,
    #[serde(default, skip_serializing_if = "FieldErrors::is_empty")]
    pub field_errors: FieldErrors,
}

impl Refusal {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), winner: None, prompt_id: None, field_errors: FieldErrors::new() }
    }
}

/// A refusal as HTTP carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// `about:blank`: the code says what it is.
    #[serde(rename = "type")]
    pub type_uri: String,
    pub title: String,
    pub status: u16,
    #[serde(flatten)]
    pub refusal: Refusal,
}

/// Who answered first, from where and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Winner {
    pub interaction_id: InteractionId,
    #[serde(flatten)]
    pub decider: Decider,
    pub action: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// No token, or one that is not valid.
    Unauthenticated,
    /// This token's role may not do that.
    Forbidden,
    /// The request's Host or Origin is not ours.
    ForeignOrigin,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    /// Somebody else's response won this prompt.
    Lost,
    /// The ask was shown again since; answer the new prompt.
    StalePrompt,
    /// The ask is closed: expired, cancelled, or its session ended.
    Dead,
    /// The session's state does not allow it now.
    Conflict,
    /// The response does not fit the ask.
    Invalid,
    /// This idempotency key was used with another body.
    KeyReused,
    TooLarge,
    /// A single-use link was used already, or is too old.
    LinkUsed,
    /// Something failed on our side; it is in the log.
    Internal,
    /// The gateway is starting or going away.
    Unavailable,
    /// This client has switched answering off.
    InteractionOff,
    /// A passkey has to confirm it, on the page.
    PasskeyRequired,
    /// Too many requests at once from this token.
    TooMany,
}
