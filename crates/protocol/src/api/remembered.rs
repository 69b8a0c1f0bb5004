//! What people decided for later: rules, approvals that are remembered, folders that are trusted.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    CallMark, CallVerdict, DecidedBy, Digest, GrantId, InteractionId, Layer, Rule, Scope, SessionId,
    Timestamp, Trust, TrustId,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulePage {
    /// All that count in the owner's sessions, but for those of projects.
    pub rules: Vec<ListedRule>,
}

/// A rule, or an approval that is remembered: what it covers, where it comes from, and how often it was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRule {
    #[serde(flatten)]
    pub rule: Rule,
    pub layer: Layer,
    /// To take it back; left out for a rule of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<GrantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The ask it was given on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// The session that it ends with, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// In the organisation's file, or in what is built in: the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The kind of agent that it is built in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What was approved, for an approval of the very same input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// How often it decided in the newest 200 sessions, and when last.
    pub uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_use: Option<Timestamp>,
}

/// A rule for all sessions of the owner, as it would stand in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRule {
    pub line: String,
}

/// A call that nobody makes: what would rules make of it?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallToExplain {
    /// As if this session's agent made it, in its folder.
    pub session_id: SessionId,
    pub tool_name: String,
    pub input: Value,
}

/// What rules would make of a call, part by part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCall {
    pub verdict: CallVerdict,
    /// What would decide; left out where a person would be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    pub marks: Vec<CallMark>,
    /// Sets of rules that could be saved, the narrowest first.
    pub offers: Vec<Vec<String>>,
}

/// A rule was saved under this id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedRule {
    pub grant_id: GrantId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustPage {
    pub trusts: Vec<Trust>,
}

/// What a folder brings that an agent would run, or be allowed something by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderFiles {
    pub agent: String,
    pub folder: String,
    /// Files that could run or allow something, from the top of the repository.
    pub files: Vec<String>,
    /// Files with words for the model, which it does not read either while the folder is not trusted.
    pub instructions: Vec<String>,
    /// Names the files as they are now; left out, if there is nothing to trust or they cannot be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What in them names a file that cannot be found, in words. Then they cannot be trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<String>,
    /// The trust that covers them as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_id: Option<TrustId>,
}

/// Trust this folder's own files, as they were shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustFolder {
    pub agent: String,
    pub folder: String,
    /// Of the files that were shown: others are not trusted.
    pub digest: Digest,
    /// The machine that has it, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
}
