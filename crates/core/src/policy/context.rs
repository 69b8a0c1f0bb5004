//! What an agent is told with its first message, before the person's words.

use super::call::Facts;
use super::conditions::all_hold;
use super::rule::Layer;
use super::rules::Rules;

/// One line of it, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub layer: Layer,
    /// The line in its file, from 1.
    pub line: usize,
    pub words: String,
}

/// All `context` lines whose conditions hold. What is not known holds nothing: words for one kind of session are not told
/// to another.
pub fn said_at_start(rules: &Rules, facts: &Facts<'_>) -> Vec<Said> {
    let mut said: Vec<Said> = rules
        .contexts()
        .filter(|(_, context)| all_hold(&context.when, facts, false))
        .map(|(layer, context)| Said { layer, line: context.line, words: context.words.clone() })
        .collect();
    said.sort_by_key(|said| (said.layer, said.line));
    said
}
