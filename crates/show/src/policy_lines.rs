//! Shell lines against rules, as if the folder had no symbolic links: what the shows of rules share.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use holdstead_core::policy::rule::{Effect, RuleFile};
use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{
    Asked as Path, Call, Facts, Found, Judgement, Lookup, Mark, MayAllow, Meaning, NO_VARIABLES, Place,
    Places, Rules, Source, Standing, Subject, Trust, Verdict, decide, judge, marks,
};
use holdstead_protocol::{PermissionMode, Told};
use serde_json::json;

use crate::Result;

pub(crate) const EXAMPLE: &str = include_str!("../../core/tests/corpus/example.rules");
pub(crate) const BROAD: &str = include_str!("../../core/tests/corpus/broad.rules");
const HONEST: &str = include_str!("../../core/tests/corpus/honest.txt");
const HOSTILE: &str = include_str!("../../core/tests/corpus/hostile.txt");
pub(crate) const FOLDER: &str = "/project";
/// The field of a shell line, as a driver names it.
pub(crate) const SHELL_LINE: Meaning<'static> =
    Meaning { subject: Subject::Shell { field: "command", shell: Shell::Bash }, harmless: &[] };

pub(crate) fn honest() -> Result<Vec<String>> {
    lines(HONEST)
}

pub(crate) fn hostile() -> Result<Vec<String>> {
    lines(HOSTILE)
}

/// The lines of a corpus: verdict, layer, the line as JSON, why.
fn lines(corpus: &str) -> Result<Vec<String>> {
    let line = |row: &str| Ok(serde_json::from_str(row.split('\t').nth(2).ok_or("a row without its line")?)?);
    corpus.lines().map(line).collect()
}

pub(crate) fn rules(text: &str) -> Result<Rules> {
    let file = RuleFile::parse(text).map_err(|wrong| format!("{wrong:?}"))?;
    let mut rules = Rules::default();
    rules.add(Source::Person, file);
    Ok(rules)
}

/// In a trusted folder.
pub(crate) fn facts(places: &Places) -> Facts<'_> {
    Facts {
        agent: "claude-code",
        mode: PermissionMode::Default,
        depth: Some(0),
        folder: FOLDER,
        cwd: Some(FOLDER),
        home: Some("/people/u"),
        trust: Trust::Trusted,
        runs: &[],
        places,
        variables: &NO_VARIABLES,
    }
}

/// One line for one shell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) line: &'a str,
    pub(crate) shell: Shell,
}

impl<'a> Asked<'a> {
    pub(crate) fn trusted(line: &'a str) -> Self {
        Self { line, shell: Shell::Bash }
    }

    fn with<T>(&self, decided: impl FnOnce(&Call<'_>) -> T) -> T {
        let input = json!({"command": self.line});
        let subject = Subject::Shell { field: "command", shell: self.shell };
        decided(&Call { tool: "Bash", input: &input, meaning: Meaning { subject, harmless: &[] } })
    }

    pub(crate) fn verdict(&self, rules: &Rules) -> Verdict {
        self.verdict_in(PermissionMode::Default, rules)
    }

    fn verdict_in(&self, mode: PermissionMode, rules: &Rules) -> Verdict {
        self.verdict_with(mode, rules, |unresolved| Places::without_links(FOLDER, unresolved))
    }

    fn verdict_with(
        &self,
        mode: PermissionMode,
        rules: &Rules,
        look_up: impl Fn(&BTreeSet<Lookup>) -> Places,
    ) -> Verdict {
        self.with(|call| {
            let verdict = decide(call, rules, &Facts { mode, ..facts(&Places::default()) });
            if verdict.unresolved.is_empty() {
                return verdict;
            }
            let places = look_up(&verdict.unresolved);
            decide(call, rules, &Facts { mode, ..facts(&places) })
        })
    }

    /// In a folder where each path leads where `place` says.
    pub(crate) fn is_allowed_where(&self, rules: &Rules, place: impl Fn(&Path) -> Place) -> bool {
        let look_up = |unresolved: &BTreeSet<Lookup>| {
            let mut places = Places::without_links(FOLDER, unresolved);
            for lookup in unresolved {
                if let Lookup::Path(path) = lookup {
                    places.insert(lookup.clone(), Found::Path(place(path)));
                }
            }
            places
        };
        self.verdict_with(PermissionMode::Default, rules, look_up).effect == Effect::Allow
    }

    /// Whether it runs in mode `auto`, which allows all that no rule asks about or denies.
    pub(crate) fn runs_in_auto(&self, rules: &Rules) -> bool {
        let mode = PermissionMode::Auto;
        let standing = Standing { may_allow: MayAllow::Rules, mode, grant: None, may_have_run: false };
        match judge(&self.verdict_in(mode, rules), None, &standing) {
            Judgement::Ask(_) => false,
            Judgement::Decided(decision) => decision.told != Told::Denied,
        }
    }

    /// A decision, again and again, once every path was looked up.
    pub(crate) fn repeated(&self, rules: &Rules, rounds: usize, mut each: impl FnMut(Duration)) {
        self.with(|call| {
            let unresolved = decide(call, rules, &facts(&Places::default())).unresolved;
            let places = Places::without_links(FOLDER, &unresolved);
            let facts = facts(&places);
            for _ in 0..rounds {
                let begin = Instant::now();
                let verdict = std::hint::black_box(decide(call, rules, &facts));
                each(begin.elapsed());
                drop(verdict);
            }
        });
    }

    pub(crate) fn is_allowed(&self, rules: &Rules) -> bool {
        self.verdict(rules).effect == Effect::Allow
    }

    pub(crate) fn marks(&self) -> Vec<Mark> {
        self.with(|call| marks(call, &facts(&Places::default()), &[]))
    }
}
