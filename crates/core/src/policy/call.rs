//! What is decided about, and what is known of it.

use std::collections::{BTreeMap, BTreeSet};

pub use holdstead_protocol::{Meaning, Subject};
use holdstead_protocol::{PermissionMode, Variables};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::paths;
use super::programs::Spelling;
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

/// A path whose place must be known before a call can be allowed: absolute, with `..` in it as it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Asked {
    pub path: String,
    pub spelling: Spelling,
}

/// Where a path leads, once every `..` and symbolic link is followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// Into the folder: these paths relative to it. A pattern stands for any number of them.
    Inside(Vec<String>),
    Outside,
}

/// The places that somebody looked up. What is not here asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<Asked, Place>);

impl Places {
    pub fn insert(&mut self, asked: Asked, place: Place) {
        self.0.insert(asked, place);
    }

    pub(super) fn get(&self, asked: &Asked) -> Option<&Place> {
        self.0.get(asked)
    }

    /// As if there were no symbolic links: for examples and explanations, never for a call that will run.
    pub fn without_links(folder: &str, asked: &BTreeSet<Asked>) -> Self {
        let place = |asked: &Asked| {
            let inside =
                paths::normal(&asked.path).and_then(|path| paths::inside(folder, &path).map(str::to_owned));
            inside.map_or(Place::Outside, |path| Place::Inside(vec![path]))
        };
        Self(asked.iter().map(|asked| (asked.clone(), place(asked))).collect())
    }
}
