//! Who is there: people's ways in, their devices, and the agents that can be hosted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{DeviceId, DeviceKind, IdentifiedBy, PersonId, Timestamp};

/// What one person may open from a terminal: a link that works once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginLink {
    /// The part after `/login#`: never sent in a query string.
    pub code: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UseLoginLink {
    pub code: String,
}

/// The token that a browser sent with each request before it signed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeToken {
    pub token: String,
}

/// A browser is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedIn {
    /// Left out for a browser that signed this request: its key identifies it. Otherwise it is sent as `Authorization: Bearer …`
    /// from then on, and works under this address only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Opens one socket in place of a token: `/v1/ws?ticket=…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub ticket: String,
    pub expires_at: Timestamp,
}

/// Who the token speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoAmI {
    pub person_id: PersonId,
    pub device_id: DeviceId,
    pub name: String,
    pub role: Role,
    pub version: String,
}

/// The devices of one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DevicePage {
    pub devices: Vec<Device>,
}

/// A browser, a terminal or a token that can act for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    pub device_id: DeviceId,
    pub kind: DeviceKind,
    pub name: String,
    pub identified_by: IdentifiedBy,
    /// The one that asks.
    pub current: bool,
    pub created_at: Timestamp,
    /// To the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// A browser's moves on while it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The agents that a gateway can host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    pub agents: Vec<HostedAgent>,
}

/// The machines that run a person's agents, as far as they are connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runners {
    pub runners: Vec<ListedRunner>,
}

/// Which machine goes for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveRunner {
    pub name: String,
}

/// A machine that runs no agents any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedRunner {
    pub name: String,
    /// How many sessions ended with it.
    pub sessions: usize,
}

/// A machine that runs agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRunner {
    /// What a new session names it by.
    pub name: String,
    pub agents: Vec<HostedAgent>,
    /// How many agents run there now. Left out where another node speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<usize>,
    /// The node that speaks for it, where that is another one than you asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedAgent {
    /// The name a session is opened with.
    pub name: String,
    /// Its program was found where the gateway runs.
    pub installed: bool,
    /// What to do where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May answer.
    Person,
    /// May look.
    Viewer,
    /// May open asks in its own session, never answer.
    Agent,
    /// Hosts agents elsewhere, never answers.
    Runner,
    /// May read the gateway's metrics, and nothing else.
    Metrics,
    /// Manages tokens and sessions; may answer.
    Admin,
}

impl Role {
    pub const ALL: [Self; 6] =
        [Self::Person, Self::Viewer, Self::Agent, Self::Runner, Self::Metrics, Self::Admin];

    /// As it is written, in JSON, in rows and on screens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Viewer => "viewer",
            Self::Agent => "agent",
            Self::Runner => "runner",
            Self::Metrics => "metrics",
            Self::Admin => "admin",
        }
    }
}
