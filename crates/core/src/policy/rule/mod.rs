//! One line a rule: `allow Bash(git status:*)`, `ask Edit(src/**) when mode plan`, `deny Bash(rm -rf:*) # Use git clean`.

mod condition;
mod cursor;
mod examples;
mod file;
mod parse;
mod start;
mod target;
mod too_wide;

use std::fmt;

pub use condition::{Comparison, Condition, Is, Test};
pub use file::{Example, Expect, FileRule, RuleFile, Wrong};
pub use parse::parse;
pub use start::{Context, DefaultValue};
pub use target::{CommandPattern, Domains, FETCH, Rest, SHELL, Target};
pub use too_wide::remark;

/// What becomes of a call, from the mildest: of several the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    BuiltIn,
    Organisation,
    Person,
    Project,
    Session,
}

impl fmt::Display for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::BuiltIn => "built in",
            Self::Organisation => "organisation",
            Self::Person => "person",
            Self::Project => "project",
            Self::Session => "session",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub effect: Effect,
    pub target: Target,
    /// All of them must hold.
    pub when: Vec<Condition>,
    /// What stands after `#`. A deny's reaches the model word for word.
    pub words: Option<String>,
    /// The line as it was written.
    pub text: String,
}

#[cfg(test)]
mod tests;
