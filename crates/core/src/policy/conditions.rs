//! Whether the conditions of a rule hold. Where a fact is not known, an allow does not hold and the others do.

use holdstead_protocol::Variables;

use super::call::Facts;
use super::glob::{Base, Case, Glob};
use super::paths;
use super::rule::{Comparison, Condition, Effect, Is, Rule, Test};

pub(super) fn hold(rule: &Rule, facts: &Facts<'_>) -> bool {
    let unknown = match rule.effect {
        Effect::Allow => false,
        Effect::Ask | Effect::Deny => true,
    };
    all_hold(&rule.when, facts, unknown)
}

/// Whether all these hold, where whatever is not known counts as `unknown`.
pub(super) fn all_hold(when: &[Condition], facts: &Facts<'_>, unknown: bool) -> bool {
    when.iter().all(|condition| holds(condition, facts).unwrap_or(unknown))
}

fn holds(condition: &Condition, facts: &Facts<'_>) -> Option<bool> {
    let compared = |is: Is, same: bool| match is {
        Is::This => same,
        Is::Other => !same,
    };
    match condition {
        Condition::Agent { is, name } => Some(compared(*is, name == facts.agent)),
        Condition::Mode { is, mode } => Some(compared(*is, *mode == facts.mode)),
        Condition::Folder { is, glob } => covers(glob, facts).map(|same| compared(*is, same)),
        Condition::Depth { comparison, depth } => facts.depth.map(|given| match comparison {
            Comparison::Equal => given == *depth,
            Comparison::AtLeast => given >= *depth,
            Comparison::AtMost => given <= *depth,
        }),
        // A variable that nobody set is no fact that could not be found out: rules about it are not meant for this
        // session, whatever their effect. Otherwise one deny would shut every session that never heard of its variable.
        // Who wants it to hold from the start writes a `default`.
        Condition::Variable { name, test } => Some(passes(name, test, facts.variables)),
    }
}

fn passes(name: &str, test: &Test, variables: &Variables) -> bool {
    let Some(given) = variables.get(name) else { return false };
    match test {
        Test::Value { is: Is::This, value } => given.to_string() == value.to_string(),
        Test::Value { is: Is::Other, value } => given.to_string() != value.to_string(),
        Test::Number { comparison, number } => given.number().is_some_and(|given| match comparison {
            Comparison::Equal => given == *number,
            Comparison::AtLeast => given >= *number,
            Comparison::AtMost => given <= *number,
        }),
    }
}

/// Whether the session's folder, or one above it, fits.
fn covers(glob: &Glob, facts: &Facts<'_>) -> Option<bool> {
    let path = match glob.base {
        Base::Root => facts.folder.trim_start_matches('/'),
        Base::Home => match paths::inside(facts.home?, facts.folder) {
            Some(path) => path,
            None => return Some(false),
        },
        Base::Folder => return Some(false),
    };
    let ends = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at).chain([path.len()]);
    Some(ends.into_iter().any(|end| glob.fits(&path[..end], Case::Exact)))
}
