//! One line a rule: `allow Bash(git status:*)`, `ask Edit(src/**) when mode plan`, `deny Bash(rm -rf:*) # Use git clean`.

mod condition;
mod cursor;
mod examples;
mod file;
mod parse;
mod start;
mod target;
mod too_wide;

pub use condition::{Comparison, Condition, Is, Test};
pub use file::{Example, Expect, FileRule, RuleFile, Wrong};
pub use holdstead_protocol::{Effect, Layer};
pub use parse::parse;
pub use start::{Context, DefaultValue};
pub use target::{CommandPattern, Domains, FETCH, Rest, SHELL, Target};
pub use too_wide::remark;

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
