//! The short forms of answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::FieldErrors;

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
