//! Folders whose own files a person trusts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Digest, Timestamp, TrustId};

/// A person lets a folder's own files run and allow things, exactly as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trust {
    pub trust_id: TrustId,
    /// The kind of agent whose files they are.
    pub agent: String,
    /// With nothing in it that leads elsewhere.
    pub folder: String,
    /// Of the files: when one of them changes, they are not trusted any more.
    pub digest: Digest,
    /// Their names, as they were shown.
    pub files: Vec<String>,
    /// Who trusts them.
    pub given_by: String,
    pub given_at: Timestamp,
}

/// What an agent's process was started without, because nobody trusts it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub folder: String,
    /// Files that could run or allow something.
    pub files: Vec<String>,
    /// Files with words for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Names the files as they are now, for who trusts them; left out, if they cannot be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The same in words.
    pub message: String,
}
