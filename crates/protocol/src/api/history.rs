//! Calls of before, as the API tells them: what other rules would have made of them, and which rules they suggest.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::SessionId;

/// A file of rules that would stand in place of the organisation's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RulesToSimulate {
    pub text: String,
}

/// How much of the past was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastRead {
    /// Of hosted agents, the newest first.
    pub sessions: usize,
    pub calls: usize,
    /// Nothing was left out: there is no more than this.
    pub is_all: bool,
}

/// A call of before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastCall {
    pub session_id: SessionId,
    pub tool_name: String,
    /// The command, or the input as JSON; the beginning where it is long.
    pub text: String,
}

/// Some calls, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastCalls {
    pub count: usize,
    /// The first of them.
    pub calls: Vec<PastCall>,
}

/// What other rules would have made of past calls. They are looked at as if there were no symbolic links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedRules {
    pub read: PastRead,
    pub newly_allowed: PastCalls,
    pub newly_asked: PastCalls,
    pub newly_denied: PastCalls,
    /// A person denied them, and the rules would allow them, newly or not.
    pub allowed_against_people: PastCalls,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionPage {
    pub read: PastRead,
    /// The one that would have saved most first. None would allow what a person denied.
    pub suggestions: Vec<SuggestedRules>,
}

/// Rules that would have saved asks together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedRules {
    pub lines: Vec<String>,
    /// How many asks, after the suggestions before it.
    pub saves: usize,
    pub examples: Vec<PastCall>,
    /// What else they would allow, in sentences.
    pub reach: Vec<String>,
    /// Calls that asked, that no person approved, and that they would allow.
    pub unapproved: PastCalls,
}
