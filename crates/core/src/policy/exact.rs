//! Which remembered approval covers an ask. Only a literal match counts.

use holdstead_protocol::{Digest, Grant, GrantId, OfferedScope, Rule, Scope, Timestamp};
use std::collections::BTreeMap;

/// The grant that covers this input now, if there is one. A session's own come first: they end sooner.
pub fn covering<'a>(
    session: &'a BTreeMap<GrantId, Grant>,
    owner: &'a [Grant],
    tool_name: &str,
    input: &Digest,
    now: Timestamp,
) -> Option<&'a Grant> {
    session
        .values()
        .chain(owner)
        .filter(|grant| grant.expires_at.is_none_or(|expiry| now < expiry))
        .find(|grant| covers(&grant.rule, tool_name, input))
}

fn covers(rule: &Rule, tool: &str, input: &Digest) -> bool {
    match rule {
        Rule::ExactInput { tool_name, input_digest } => tool_name == tool && input_digest == input,
        // Its tool looks it up by itself; rules are asked before.
        Rule::Key { .. } | Rule::Lines { .. } => false,
    }
}

/// The scopes an approval of this input can have, each with the literal rule it would save.
pub fn offered_scopes(tool_name: &str, input: &Digest, scopes: &[Scope]) -> Vec<OfferedScope> {
    let rule = Rule::ExactInput { tool_name: tool_name.to_owned(), input_digest: input.clone() };
    scopes.iter().map(|scope| OfferedScope { scope: *scope, rule: rule.clone() }).collect()
}
