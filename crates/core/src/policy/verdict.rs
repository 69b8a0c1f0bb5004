//! What was decided, and why.

use std::collections::BTreeSet;
use std::ops::Range;

pub use holdstead_protocol::Requirement;
use holdstead_protocol::RuleText;

use super::lookup::Lookup;
use super::rule::{Effect, Layer};
use super::rules::Placed;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest of all parts.
    pub effect: Effect,
    /// One for each command of a shell line, one for any other call. Never empty.
    pub parts: Vec<Part>,
    /// Why it asks, or what the model reads when it is denied. `None` if it is allowed.
    pub reason: Option<String>,
    /// What an allow rests on, or would.
    pub requirements: BTreeSet<Requirement>,
    /// What was not looked up. Look it up and decide again.
    pub unresolved: BTreeSet<Lookup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it stands in the shell line; empty for other calls.
    pub span: Range<usize>,
    pub effect: Effect,
    /// The rule that decided. `None` where none did, which asks.
    pub by: Option<By>,
    pub why: String,
}

/// A rule as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    pub layer: Layer,
    pub line: usize,
    pub text: String,
    pub words: Option<String>,
}

impl From<&Placed> for By {
    fn from(placed: &Placed) -> Self {
        let Placed { rule, layer, line } = placed;
        Self { layer: *layer, line: *line, text: rule.text.clone(), words: rule.words.clone() }
    }
}

impl From<By> for RuleText {
    fn from(by: By) -> Self {
        Self { layer: by.layer, text: by.text }
    }
}

/// A line's number in an event. A file of more lines than that is refused for its size.
pub(super) fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

impl Part {
    pub(super) fn by_rule(span: Range<usize>, placed: &Placed) -> Self {
        let why = match placed.rule.effect {
            Effect::Allow => "a rule allows it",
            Effect::Ask => "a rule asks",
            Effect::Deny => "a rule denies it",
        };
        Self { span, effect: placed.rule.effect, by: Some(By::from(placed)), why: why.to_owned() }
    }

    /// What a rule asks about or denies may be among what it does: no mode and no grant answers that.
    pub(super) fn may_meet(span: Range<usize>, placed: &Placed) -> Self {
        let by = By { words: None, ..By::from(placed) };
        Self { span, effect: Effect::Ask, by: Some(by), why: "it may open what a rule speaks of".to_owned() }
    }

    pub(super) fn asks(span: Range<usize>, why: impl Into<String>) -> Self {
        Self { span, effect: Effect::Ask, by: None, why: why.into() }
    }
}

impl Verdict {
    /// Of parts there is at least one: without any it asks.
    pub(super) fn of(
        parts: Vec<Part>,
        requirements: BTreeSet<Requirement>,
        unresolved: BTreeSet<Lookup>,
    ) -> Self {
        let effect = parts.iter().map(|part| part.effect).max().unwrap_or(Effect::Ask);
        let reason = match effect {
            Effect::Allow => None,
            Effect::Ask | Effect::Deny => parts.iter().find(|part| part.effect == effect).map(reason),
        };
        Self { effect, parts, reason, requirements, unresolved }
    }
}

fn reason(part: &Part) -> String {
    match &part.by {
        Some(By { words: Some(words), .. }) => words.clone(),
        Some(By { text, .. }) => format!("{}: `{text}`", part.why),
        None => part.why.clone(),
    }
}
