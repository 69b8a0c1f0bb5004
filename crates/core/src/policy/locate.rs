//! Where a named path leads, and which rules ask about it or deny it.

use std::collections::BTreeSet;

use super::call::{Asked, Facts, Place};
use super::glob::{Base, Case, Glob};
use super::paths;
use super::programs::{Access, NamedPath, Spelling};
use super::rule::Target;
use super::rules::{Placed, Rules, strictest};

pub(super) enum Located {
    /// Paths relative to the folder, all of which it may be.
    Inside(Vec<String>),
    /// `/dev/null`
    Device,
    /// Why it asks.
    Refused(String),
}

/// Looks a path up that a program in `base` would open.
pub(super) fn locate(
    facts: &Facts<'_>,
    base: &str,
    path: &NamedPath,
    unresolved: &mut BTreeSet<Asked>,
) -> Located {
    let text = &path.text;
    let outside = || Located::Refused(format!("`{text}` is outside the folder"));
    match (text.as_str(), path.access) {
        ("/dev/null", _) | ("/dev/stdin", Access::Read) | ("/dev/stdout" | "/dev/stderr", Access::Write) => {
            return Located::Device;
        }
        _ => {}
    }
    let climbs = path.spelling == Spelling::Pattern && text.split('/').any(|name| name == "..");
    if text.starts_with('~') || text.contains('\0') || climbs {
        return outside();
    }
    let full = paths::join(base, text);
    let Some(normal) = paths::normal(&full) else { return outside() };
    let Some(written) = paths::inside(facts.folder, &normal) else { return outside() };
    let asked = Asked { path: full, spelling: path.spelling };
    match facts.places.get(&asked) {
        None => {
            unresolved.insert(asked);
            Located::Refused(format!("nobody looked up where `{text}` leads"))
        }
        Some(Place::Outside) => Located::Refused(format!("`{text}` leads outside the folder")),
        Some(Place::Inside(found)) => {
            let mut all = found.clone();
            if path.spelling == Spelling::Literal && !all.iter().any(|path| path == written) {
                all.push(written.to_owned());
            }
            Located::Inside(all)
        }
    }
}

/// The strictest ask or deny that speaks of this path, as it is written or where it leads, for one of these tools.
pub(super) fn restricted<'a>(
    rules: &'a Rules,
    facts: &'a Facts<'_>,
    path: &NamedPath,
    base: &str,
    tools: &[&str],
) -> Option<&'a Placed> {
    let full = paths::join(base, &path.text);
    let mut candidates: Vec<String> = paths::normal(&full).into_iter().collect();
    if let Some(Place::Inside(found)) = facts.places.get(&Asked { path: full, spelling: path.spelling }) {
        candidates.extend(found.iter().map(|found| paths::join(facts.folder, found)));
    }
    strictest(rules.restricting_paths(facts).filter(|placed| match &placed.rule.target {
        Target::Path { tool, glob } => {
            tools.contains(&tool.as_str()) && candidates.iter().any(|path| fits(glob, path, facts))
        }
        Target::Everything
        | Target::Tool(_)
        | Target::Server(_)
        | Target::Command(_)
        | Target::Domain { .. }
        | Target::Stop => false,
    }))
}

/// Rules of these tools speak of what a command reads or writes.
pub(super) const fn tools_for(access: Access) -> &'static [&'static str] {
    match access {
        Access::Read => &["Read"],
        Access::Write => &["Edit", "Write", "MultiEdit", "NotebookEdit"],
    }
}

fn fits(glob: &Glob, path: &str, facts: &Facts<'_>) -> bool {
    match glob.base {
        Base::Root => glob.fits(path, Case::Ignored),
        Base::Folder => {
            paths::inside(facts.folder, path).is_some_and(|path| glob.fits_at_any_depth(path, Case::Ignored))
        }
        Base::Home => facts
            .home
            .and_then(|home| paths::inside(home, path))
            .is_some_and(|path| glob.fits(path, Case::Ignored)),
    }
}
