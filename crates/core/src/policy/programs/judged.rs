//! What a command would touch, as far as its words tell.

use serde::{Deserialize, Serialize};

/// A path as the command names it, from the folder it runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    pub text: String,
    pub access: Access,
    pub spelling: Spelling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Spelling {
    /// The very path.
    Literal,
    /// `src/*.rs`: whatever fits.
    Pattern,
}

/// A command all of whose words are known to be harmless, or named by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub paths: Vec<NamedPath>,
    /// Those of them that an `Edit` rule must allow.
    pub edits: Vec<NamedPath>,
    /// Folders it goes to first, one after the other.
    pub folders: Vec<String>,
    pub runs: super::form::Runs,
    /// Options that a table allows and no rule names, each as the table has it.
    pub options: Vec<&'static str>,
}

/// The option that `-20` is to programs that count by it.
pub const COUNTS: &str = "-NUMBER";

impl Judged {
    pub(super) const fn new(runs: super::form::Runs) -> Self {
        Self { paths: Vec::new(), edits: Vec::new(), folders: Vec::new(), runs, options: Vec::new() }
    }

    /// A path that an `Edit` rule must allow.
    pub(super) fn edit(&mut self, text: &str) {
        self.name(text, Access::Write, Spelling::Literal);
        self.edits.extend(self.paths.last().filter(|path| path.text == text).cloned());
    }

    pub(super) fn name(&mut self, text: &str, access: Access, spelling: Spelling) {
        // Standard input and output are no files.
        if !matches!(text, "" | "-") {
            self.paths.push(NamedPath { text: text.to_owned(), access, spelling });
        }
    }
}
