//! Whether the conditions of a rule hold. Where a fact is not known, an allow does not hold and the others do.

use super::call::Facts;
use super::glob::{Base, Case, Glob};
use super::paths;
use super::rule::{Comparison, Condition, Effect, Is, Rule};

pub(super) fn hold(rule: &Rule, facts: &Facts<'_>) -> bool {
    let unknown = match rule.effect {
        Effect::Allow => false,
        Effect::Ask | Effect::Deny => true,
    };
    rule.when.iter().all(|condition| holds(condition, facts).unwrap_or(unknown))
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
