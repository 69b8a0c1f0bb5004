//! What a call depends on and only its machine knows: where paths lead, which programs names stand for, and which files lie
//! below a folder. [`super::decide`] says what must be looked up, and decides again with the answers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::paths;
use super::programs::{Installed, Spelling};

/// One thing to be looked up. Until the machine has answered, the call asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookup {
    /// Where a path leads.
    Path(Asked),
    /// Which implementation and version of a program a command would run.
    Program(Tool),
    /// Whether a file of such a name lies below a folder.
    Below(NameBelow),
}

/// The machine's answer to a [`Lookup`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    Path(Place),
    Program(Installed),
    Below(Presence),
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

/// How a command names its program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// A name on the PATH, or an absolute path.
    Program(String),
    /// `python -m NAME`
    Module { python: String, name: String },
    /// `npx NAME`, which looks in `node_modules` of this folder and of those above it.
    Package { name: String, folder: String },
}

/// A search for files of one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NameBelow {
    /// Absolute.
    pub folder: String,
    /// In lower case; `*`, `?` and `\\` as in rules. Names are compared in lower case.
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Absent,
    Present,
}

/// All that was looked up. What is not here asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    paths: BTreeMap<Asked, Place>,
    programs: BTreeMap<Tool, Installed>,
    names: BTreeMap<NameBelow, Presence>,
}

impl Places {
    /// An answer to another question than the one that was asked answers nothing.
    pub fn insert(&mut self, lookup: Lookup, found: Found) {
        match (lookup, found) {
            (Lookup::Path(asked), Found::Path(place)) => drop(self.paths.insert(asked, place)),
            (Lookup::Program(tool), Found::Program(installed)) => drop(self.programs.insert(tool, installed)),
            (Lookup::Below(name), Found::Below(presence)) => drop(self.names.insert(name, presence)),
            (Lookup::Path(_), Found::Program(_) | Found::Below(_))
            | (Lookup::Program(_), Found::Path(_) | Found::Below(_))
            | (Lookup::Below(_), Found::Path(_) | Found::Program(_)) => {}
        }
    }

    pub(super) fn path(&self, asked: &Asked) -> Option<&Place> {
        self.paths.get(asked)
    }

    pub(super) fn program(&self, tool: &Tool) -> Option<&Installed> {
        self.programs.get(tool)
    }

    pub(super) fn below(&self, name: &NameBelow) -> Option<Presence> {
        self.names.get(name).copied()
    }

    /// As if there were no symbolic links, every program were one that the tables were verified with, and every name
    /// occurred below every folder: for examples and explanations, never for a call that will run.
    pub fn without_links(folder: &str, lookups: &BTreeSet<Lookup>) -> Self {
        let mut places = Self::default();
        for lookup in lookups {
            let found = match lookup {
                Lookup::Path(asked) => {
                    let normal = paths::normal(&asked.path);
                    let inside = normal.as_ref().and_then(|path| paths::inside(folder, path));
                    Found::Path(inside.map_or(Place::Outside, |path| Place::Inside(vec![path.to_owned()])))
                }
                Lookup::Program(_) => Found::Program(Installed::Missing),
                Lookup::Below(_) => Found::Below(Presence::Present),
            };
            places.insert(lookup.clone(), found);
        }
        places
    }
}
