//! Remembered approvals.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Digest, GrantId, InteractionId, PersonId, RunnerId, Timestamp};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// How far an approval reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Once,
    Session,
    /// In all sessions of the owner, for an hour.
    Hour,
    /// In all sessions of the owner.
    Always,
}

impl Scope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Hour => "hour",
            Self::Always => "always",
        }
    }

    /// When an approval of this reach ends by itself.
    pub fn expires_at(self, given_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Hour => Some(given_at.after(HOUR)),
            Self::Once | Self::Session | Self::Always => None,
        }
    }
}

/// What a grant covers, literally. A rule never matches more than the words shown with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "rule", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Rule {
    /// This tool with exactly this input, in calls of one source.
    ExactInput {
        tool_name: String,
        input_digest: Digest,
        /// Whose calls it covers. Without a source it covers none: it was remembered before sources were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<CallSource>,
    },
    /// What this tool itself asks about under a key of its own.
    Key { tool_name: String, key: String },
    /// These rules, each a line as it would stand in a file.
    Lines { lines: Vec<String> },
}

/// Who makes a call, and where. The same words from another source are another call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CallSource {
    /// An agent, in this folder of this machine.
    Agent {
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerId>,
    },
    /// A tool of the gateway, called for a session of this folder.
    Tool {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerId>,
    },
    /// A program, by the name and the person of its token.
    Program {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person_id: Option<PersonId>,
    },
}

/// A remembered approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    pub grant_id: GrantId,
    #[serde(flatten)]
    pub rule: Rule,
    pub scope: Scope,
    /// Who gave it.
    pub given_by: String,
    /// The ask it was given on; left out, where a person wrote it without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    pub given_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
