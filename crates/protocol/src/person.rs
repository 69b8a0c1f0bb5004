//! Who acts: people, programs and agents, each with devices.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{DeviceId, PasskeyId, PersonId};

/// Who did something, by ids: these are compared, where a name is only read. Missing in events that were written before
/// people had ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    pub person_id: PersonId,
    pub device_id: DeviceId,
    /// The passkey that confirmed it, where one had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey_id: Option<PasskeyId>,
}

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// Logged in by a link.
    Browser,
    /// The token that lies in a file of this machine's account.
    Terminal,
    /// A token that was made for a program, a screen or an agent.
    Token,
}

/// How a device shows with each request which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentifiedBy {
    /// It signs with a key that never leaves the browser.
    Key,
    /// It sends a token that works under one address only, as a browser without encryption can do nothing else. A copy of the
    /// token works there as well, so this device never has the rights of an admin.
    Bearer,
    /// It sends a token, as programs do.
    Token,
}
