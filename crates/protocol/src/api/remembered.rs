//! What people decided for later: approvals that are remembered, folders that are trusted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Digest, Grant, SessionId, Trust, TrustId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantPage {
    pub grants: Vec<ListedGrant>,
}

/// A remembered approval, and the session that it ends with, if it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedGrant {
    #[serde(flatten)]
    pub grant: Grant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
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
}
