//! Errors as clients see them: problem details (RFC 9457) with a code of ours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Code, Decider, InteractionId, PromptId, Timestamp};

/// Messages by question or field id.
pub type FieldErrors = BTreeMap<String, String>;

/// Why something was not done, on every transport alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub code: Code,
    /// What happened and what to do.
    pub detail: String,
    /// On `already_answered`: who was first.
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
