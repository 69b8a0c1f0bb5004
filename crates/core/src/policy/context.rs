//! What an agent is told with its first message, before the person's words.

use holdstead_protocol::ContextSaid;

use super::call::Facts;
use super::conditions::all_hold;
use super::rules::Rules;
use super::verdict::number;

/// All `context` lines whose conditions hold. What is not known holds nothing: words for one kind of session are not told
/// to another.
pub fn said_at_start(rules: &Rules, facts: &Facts<'_>) -> Vec<ContextSaid> {
    let mut said: Vec<_> =
        rules.contexts().filter(|(_, context)| all_hold(&context.when, facts, false)).collect();
    said.sort_by_key(|(layer, context)| (*layer, context.line));
    let told = |(layer, context): (super::rule::Layer, &super::rule::Context)| ContextSaid {
        layer,
        line: number(context.line),
        words: context.words.clone(),
    };
    said.into_iter().map(told).collect()
}
