//! What is decided about, and what is known of it.

pub use holdstead_protocol::{Meaning, Subject};
use holdstead_protocol::{PermissionMode, Variables};
use serde_json::Value;

use super::lookup::Places;
use super::rules::Trust;

/// One call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The agent's own name for the tool.
    pub tool: &'a str,
    pub input: &'a Value,
    pub meaning: Meaning<'a>,
}

/// What is true of the session and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub agent: &'a str,
    pub mode: PermissionMode,
    /// 0 for the agent that a person spoke to. `None` where the agent does not tell.
    pub depth: Option<u32>,
    /// The session's folder, absolute and without symbolic links.
    pub folder: &'a str,
    /// Where the shell is now. `None` where nobody knows.
    pub cwd: Option<&'a str>,
    pub home: Option<&'a str>,
    /// Whether a person trusts what this folder's repository runs.
    pub trust: Trust,
    /// Files that agents run by themselves in folders that a person trusts, relative to this folder.
    pub runs: &'a [String],
    pub places: &'a Places,
    /// What conditions like `$phase release` ask about: see [`super::variables`].
    pub variables: &'a Variables,
}
