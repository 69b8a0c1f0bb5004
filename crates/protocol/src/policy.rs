//! What rules say about a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{GrantId, PermissionMode};

/// What becomes of a call, from the mildest: of several the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

impl fmt::Display for Effect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Who a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    BuiltIn,
    Organisation,
    Person,
    Project,
    Session,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::Organisation => "organisation",
            Self::Person => "person",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Why a person should look twice. It decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Takes files, branches or containers away.
    Deletes,
    /// Overwrites disks, work that is not committed, or whole services.
    Destroys,
    /// Overrides a check: `--force`, `--no-verify`.
    Forces,
    /// Replaces what others may have: `git push --force`.
    Rewrites,
    /// Runs what another command prints.
    PipesToShell,
    WritesOutside,
    /// Runs code that stands in the call, or a program that only shows when it runs: `eval`, `python -c`, `$x`.
    RunsCode,
    /// Sends or publishes something.
    Sends,
    /// Changes the machine for everybody on it: rights, services, users, packages.
    ChangesMachine,
    /// Names a file or a word that secrets go by.
    Credentials,
    /// Has a word that a person listed.
    Listed,
    /// A risk that a newer gateway knows. It counts like any other.
    #[serde(other)]
    Other,
}

impl Risk {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deletes => "deletes",
            Self::Destroys => "destroys",
            Self::Forces => "forces",
            Self::Rewrites => "rewrites",
            Self::PipesToShell => "pipes_to_shell",
            Self::WritesOutside => "writes_outside",
            Self::RunsCode => "runs_code",
            Self::Sends => "sends",
            Self::ChangesMachine => "changes_machine",
            Self::Credentials => "credentials",
            Self::Listed => "listed",
            Self::Other => "other",
        }
    }
}

/// Something risky in a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallMark {
    pub risk: Risk,
    /// Where in the input, as a JSON pointer: `/command`.
    pub field: String,
    /// What is risky, as it stands there.
    pub text: String,
}

/// What rules say about one part of a call: a command of a shell line, or all of any other call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallPart {
    /// The command; left out where the part is the whole call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    pub effect: Effect,
    /// The rule that decided; left out where none did, which asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleText>,
    pub why: String,
}

/// A rule, word for word, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleText {
    pub text: String,
    pub layer: Layer,
}

/// What an allow by rule rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// It runs what the repository says, which rules allow only where a person trusts the folder.
    FolderTrust,
}

/// What rules say about a call: the strictest of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallVerdict {
    pub effect: Effect,
    pub parts: Vec<CallPart>,
    /// Why it asks, or what the model reads when it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
}

/// What was decided about a call without asking anybody, and told to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallDecision {
    pub told: Told,
    #[serde(flatten)]
    pub by: DecidedBy,
    pub verdict: CallVerdict,
}

/// What an agent is told about a call that nobody was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Allowed,
    /// No decision: the agent's own rules hold.
    LeftToAgent,
    Denied,
}

/// What decided in a person's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum DecidedBy {
    /// The rules that the parts name.
    Rules,
    /// A remembered approval of the very same input.
    Grant { grant_id: GrantId },
    /// The session's permission mode. No rule asked about it.
    Mode { mode: PermissionMode },
    /// It is the agent's own business: its plan, our own tools. No rule asked about it.
    AgentsOwn,
}
