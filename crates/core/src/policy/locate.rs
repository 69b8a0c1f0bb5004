//! Where a named path leads, and which rules ask about it or deny it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::below::Reading;
use super::call::Facts;
use super::glob::{Base, Below, Case, Glob, is_pattern};
use super::lookup::{Asked, Lookup, NameBelow, Place, Presence};
use super::paths;
use super::programs::{Access, NamedPath, Spelling};
use super::rule::Target;
use super::rules::{Placed, Rules, strictest};
use super::verdict::Part;

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
    unresolved: &mut BTreeSet<Lookup>,
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
    match facts.places.path(&asked) {
        None => {
            unresolved.insert(Lookup::Path(asked));
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

/// Rules of these tools speak of what a command reads or writes.
pub(super) const fn tools_for(access: Access) -> &'static [&'static str] {
    match access {
        Access::Read => &["Read"],
        Access::Write => &["Edit", "Write", "MultiEdit", "NotebookEdit"],
    }
}

/// What is written by its name is mostly read as well (`cp`, `mv`), and no table says which it is for other programs.
pub(super) const READ_AND_WRITTEN: &[&str] = &["Read", "Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Whether a command finds the files that were there when the line was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    AsLookedUp,
    /// An earlier command of the line may have made, moved or fetched any of them.
    MayHaveChanged,
}

/// The asks and denies of paths that hold now.
pub(super) struct PathRules<'a> {
    rules: Vec<PathRule<'a>>,
    facts: &'a Facts<'a>,
}

struct PathRule<'a> {
    placed: &'a Placed,
    tool: &'a str,
    glob: &'a Glob,
    /// Where its pattern begins.
    above: &'a str,
}

/// What asks about a command or denies it.
#[derive(Default)]
pub(super) struct Met<'a> {
    sure: Option<&'a Placed>,
    /// It may speak of something else than what the command opens, so that no more than an ask comes of it.
    unsure: Option<&'a Placed>,
}

impl<'a> Met<'a> {
    pub(super) fn surely(&mut self, placed: impl IntoIterator<Item = &'a Placed>) {
        self.sure = strictest(self.sure.into_iter().chain(placed));
    }

    fn maybe(&mut self, placed: impl IntoIterator<Item = &'a Placed>) {
        self.unsure = strictest(self.unsure.into_iter().chain(placed));
    }

    pub(super) fn part(&self, span: Range<usize>) -> Option<Part> {
        let sure = self.sure.map(|placed| Part::by_rule(span.clone(), placed));
        sure.or_else(|| self.unsure.map(|placed| Part::may_meet(span, placed)))
    }
}

impl<'a> PathRules<'a> {
    pub(super) fn new(rules: &'a Rules, facts: &'a Facts<'a>) -> Self {
        let of = |placed: &'a Placed| match &placed.rule.target {
            Target::Path { tool, glob } => {
                let above = match glob.base {
                    Base::Root => "/",
                    Base::Folder => facts.folder,
                    Base::Home => facts.home?,
                };
                Some(PathRule { placed, tool, glob, above })
            }
            Target::Everything
            | Target::Tool(_)
            | Target::Server(_)
            | Target::Command(_)
            | Target::Domain { .. }
            | Target::Stop => None,
        };
        Self { rules: rules.restricting_paths(facts).filter_map(of).collect(), facts }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds what speaks of this path, as it is written or where it leads, for one of these tools.
    pub(super) fn meet(&self, path: &NamedPath, base: &str, tools: &[&str], met: &mut Met<'a>) {
        let full = self.full(base, &path.text);
        let normal = paths::normal(&full);
        let found = self.found(&Asked { path: full, spelling: path.spelling });
        let leads = || normal.iter().chain(&found);
        let of_tools = || self.rules.iter().filter(|rule| tools.contains(&rule.tool));
        let fitting = of_tools().filter(|rule| leads().any(|path| rule.fits(path)));
        met.surely(fitting.map(|rule| rule.placed));
        if let Some(pattern) = normal.as_ref().filter(|_| is_pattern(&path.text)) {
            let may_fit = of_tools().filter(|rule| rule.glob.may_fit(rule.above, pattern, Below::Nothing));
            // Where the rule names one file, the pattern finds it if it is there.
            let (sure, unsure): (Vec<_>, Vec<_>) =
                may_fit.partition(|rule| rule.glob.is_one() && !pattern.contains('['));
            met.surely(sure.into_iter().map(|rule| rule.placed));
            met.maybe(unsure.into_iter().map(|rule| rule.placed));
        }
    }

    /// Adds what speaks of reading something below a folder, unless the machine says that no such file is there. That was
    /// looked up before the line runs.
    pub(super) fn meet_below(
        &self,
        reading: &Reading,
        base: &str,
        files: Files,
        unresolved: &mut BTreeSet<Lookup>,
        met: &mut Met<'a>,
    ) {
        let folders = reading.folders.iter().filter_map(|folder| paths::normal(&self.full(base, folder)));
        for folder in folders {
            let reads = self.rules.iter().filter(|rule| {
                tools_for(Access::Read).contains(&rule.tool)
                    && rule.glob.may_pass(&reading.only, &reading.without)
                    && rule.glob.may_fit(rule.above, &folder, reading.below)
            });
            let may_be = |rule: &&PathRule<'_>| match files {
                Files::MayHaveChanged => true,
                Files::AsLookedUp => self.may_be_below(rule, &folder, unresolved),
            };
            met.maybe(reads.filter(may_be).map(|rule| rule.placed));
        }
    }

    fn may_be_below(&self, rule: &PathRule<'_>, folder: &str, unresolved: &mut BTreeSet<Lookup>) -> bool {
        // The very file that the rule names may be made at any time, so that its absence now allows nothing.
        let own = rule.glob.only_path().map(|path| paths::join(rule.above, &path));
        // A pattern, or a word of git's, is the name of no folder.
        let is_name = !is_pattern(folder) && !folder.contains("/:");
        if own.is_some_and(|own| paths::inside(folder, &own).is_some())
            || rule.glob.last_name_is_above(folder)
            || !is_name
        {
            return true;
        }
        let Some(name) = rule.glob.last_name() else { return true };
        let name = NameBelow { folder: folder.to_owned(), name: name.to_lowercase() };
        match self.facts.places.below(&name) {
            Some(Presence::Absent) => false,
            Some(Presence::Present) => true,
            None => {
                unresolved.insert(Lookup::Below(name));
                true
            }
        }
    }

    /// Where it is known to lead.
    fn found(&self, asked: &Asked) -> Vec<String> {
        match self.facts.places.path(asked) {
            Some(Place::Inside(found)) => {
                found.iter().map(|found| paths::join(self.facts.folder, found)).collect()
            }
            Some(Place::Outside) | None => Vec::new(),
        }
    }

    /// As a shell makes it of `~`, and of the two variables whose value is known; and as the kernel of `/proc/self/cwd`.
    fn full(&self, base: &str, text: &str) -> String {
        let full = self.named(base, text);
        through_proc(base, &full).unwrap_or(full)
    }

    fn named(&self, base: &str, text: &str) -> String {
        if !text.starts_with(['~', '$']) {
            return paths::join(base, text);
        }
        let home = self.facts.home.unwrap_or("~");
        for (word, folder) in
            [("~", home), ("$HOME", home), ("${HOME}", home), ("$PWD", base), ("${PWD}", base)]
        {
            if let Some(rest) =
                text.strip_prefix(word).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                return paths::join(base, &format!("{folder}{rest}"));
            }
        }
        paths::join(base, text)
    }
}

/// Of any process: each may be one that runs here.
fn through_proc(base: &str, path: &str) -> Option<String> {
    let names: Vec<&str> = path.strip_prefix("/proc/")?.split('/').filter(|name| !name.is_empty()).collect();
    let at = names.iter().rposition(|name| matches!(*name, "cwd" | "root"))?;
    let from = if names[at] == "cwd" { base } else { "/" };
    Some(paths::join(from, &names[at + 1..].join("/")))
}

impl PathRule<'_> {
    fn fits(&self, path: &str) -> bool {
        paths::inside(self.above, path).is_some_and(|path| self.glob.fits_at_any_depth(path, Case::Ignored))
    }
}
