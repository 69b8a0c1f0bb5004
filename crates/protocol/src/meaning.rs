//! The words in which whoever speaks to an agent tells what its calls mean.

use serde::{Deserialize, Serialize};

/// What the driver says of a tool's input. A field that it does not name asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning<'a> {
    pub subject: Subject<'a>,
    /// Fields that do not change what happens: a description, a time limit, the text of an edit.
    pub harmless: &'a [&'a str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// This field is a line for this shell. Rules call the tool `Bash`.
    Shell { field: &'a str, shell: Shell },
    /// This field is a file or folder that is read; the folder itself if it is not there. Rules call the tool `Read`.
    Reads { field: &'a str },
    /// This field is a folder in which files of a pattern are looked for. Rules call the tool `Read`.
    Searches { field: &'a str, pattern: &'a str },
    /// This field is a folder whose files are read, those of a pattern if there is one. Rules call the tool `Read`.
    ReadsBelow { field: &'a str, pattern: &'a str },
    /// This field is a file that is written. Rules call the tool `Edit`.
    Edits { field: &'a str },
    /// This field is an address that is fetched. Rules call the tool `WebFetch`.
    Fetches { field: &'a str },
    /// Nothing is known of the input: only rules about the whole tool count.
    Whole,
}

/// Which shell runs the line, started as `SHELL -c LINE`. The driver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// Version 4 or later.
    Bash,
    /// Version 3, or one of which the version is not known: it misreads text blocks.
    Bash3,
    /// dash, and any other POSIX `sh`.
    Sh,
    Zsh,
    /// One that we do not read: every line is unclear.
    Other,
}

/// What may decide about a call besides a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MayAllow {
    /// Nothing. A rule may still deny it.
    PersonOnly,
    Rules,
    /// The agent's own rules asked: what is built in does not answer them.
    RulesOfPeople,
    /// It is the agent's own business, such as its plan: it passes unless a rule asks or denies.
    AgentsOwn,
    /// The agent decides by itself: a rule may deny it, and nothing is written down unless one does.
    RulesMayDeny,
}
