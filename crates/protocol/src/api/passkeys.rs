//! Passkeys: what confirms a marked approval, where a person asked for that.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{NewRule, OpenSession, TrustFolder};
use crate::{InteractionId, PasskeyId, PersonId, PromptId, ResponseDraft, Timestamp};

/// Your passkeys, and whether one has to confirm what is risky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyPage {
    pub passkeys: Vec<Passkey>,
    /// Marked, wide and edited approvals, sessions in `auto` or with programs of their own, trusts and rules need one.
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passkey {
    pub passkey_id: PasskeyId,
    pub name: String,
    /// The name of the page that it works on.
    pub site: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

/// What a passkey is asked to confirm: this and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "purpose", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PasskeyPurpose {
    /// None yet: it is being made.
    Register,
    /// This answer to this prompt, exactly as it will be sent.
    Approve {
        interaction_id: InteractionId,
        prompt_id: PromptId,
        response: ResponseDraft,
    },
    /// This session, exactly as it will be opened.
    OpenSession {
        session: Box<OpenSession>,
    },
    /// These files of this folder.
    TrustFolder {
        trust: TrustFolder,
    },
    /// This rule, for all sessions.
    SaveRule {
        rule: NewRule,
    },
    /// Where passkeys are required: one more.
    AddPasskey,
    RemovePasskey {
        passkey_id: PasskeyId,
    },
    /// Passkeys are required no longer.
    SwitchOff,
}

/// What a browser asks a passkey. Bytes are base64url without padding, here and in what is sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyChallenge {
    /// Good once, for two minutes.
    pub challenge: String,
    /// WebAuthn's relying party.
    pub site: String,
    /// The passkeys that may answer; for a new one, those that are there already.
    pub credentials: Vec<String>,
    pub person_id: PersonId,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPasskey {
    pub challenge: String,
    /// What you call it.
    pub name: String,
    pub client_data: String,
    pub authenticator_data: String,
}

/// A passkey's answer. What it was asked for may then be done once, from the same device, within the two minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasskeyConfirmation {
    pub challenge: String,
    pub credential_id: String,
    pub client_data: String,
    pub authenticator_data: String,
    pub signature: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirePasskey {
    pub required: bool,
}
