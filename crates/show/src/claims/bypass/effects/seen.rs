//! What a line did, held against what the tables say of it.

use holdstead_core::policy::programs::{Access, Form, Judged, Runs, core_places, judge};
use holdstead_core::policy::shell::{self, Line, Shell};
use serde::Deserialize;

use super::links::leads;
use crate::policy_lines::FOLDER;

/// Forms that change files because that is what a rule for them allows.
const CHANGE_FILES: [&str; 9] = [
    "cargo fmt",
    "git stash push",
    "git stash pop",
    "git stash apply",
    "git switch",
    "git checkout",
    "git restore",
    "git pull",
    "git mv",
];

/// Where programs keep what is theirs.
const CACHES: [&str; 8] = [
    "/people/u/.cache",
    "/people/u/.cargo",
    "/people/u/.config",
    "/people/u/.local",
    "/people/u/.npm",
    "/people/u/.yarn",
    "/people/u/target",
    "/tmp/",
];

/// What `oracle/effects.py` tells of a line.
#[derive(Debug, Deserialize)]
pub(super) struct Seen {
    pub(super) ended: Option<i32>,
    made: Vec<String>,
    changed: Vec<String>,
    outside: Vec<String>,
    read: Vec<String>,
    ran: Vec<String>,
}

/// What a line may do, by the tables.
struct May<'a> {
    form: &'a Form,
    judged: Judged,
}

impl<'a> May<'a> {
    fn of(form: &'a Form, line: &str) -> Result<Self, String> {
        let Line::Plain(commands) = shell::read(line, Shell::Sh) else {
            return Err("is not plain".to_owned());
        };
        let [command] = commands.as_slice() else { return Err("is more than a command".to_owned()) };
        let mut named = vec![false; command.argv.len()];
        for place in core_places(&command.argv).into_iter().take(form.head.len() + form.named_operands) {
            named[place] = true;
        }
        Ok(Self { form, judged: judge(&command.argv, &named)? })
    }

    fn runs(&self, planted: &str) -> bool {
        match self.judged.runs {
            Runs::Itself => false,
            Runs::Repository => planted == "repository",
            Runs::Operands => true,
        }
    }

    /// A rule allows some to follow links in a folder that is trusted.
    fn reads_elsewhere(&self) -> bool {
        match (self.form.runs, self.judged.runs) {
            (_, Runs::Operands) | (Runs::Itself, Runs::Repository) => true,
            (_, Runs::Itself) | (Runs::Repository | Runs::Operands, Runs::Repository) => false,
        }
    }

    fn writes_elsewhere(&self, path: &str) -> bool {
        self.judged.runs != Runs::Itself && CACHES.iter().any(|cache| path.starts_with(cache))
    }

    fn makes(&self, path: &str) -> bool {
        self.judged.runs == Runs::Operands || self.changes(path)
    }

    fn changes(&self, path: &str) -> bool {
        let is_named = |named: &String| {
            path == named || path.starts_with(&format!("{named}/")) || named.starts_with(&format!("{path}/"))
        };
        let is_repositorys = path == "/project/.git" || path.starts_with("/project/.git/");
        CHANGE_FILES.contains(&self.form.head.join(" ").as_str())
            || (self.judged.runs != Runs::Itself && is_repositorys)
            || written(&self.judged).iter().any(is_named)
    }
}

impl Seen {
    /// What the line did besides what it may, if anything.
    pub(super) fn check(&self, form: &Form, line: &str) -> Result<(), String> {
        let may = May::of(form, line)?;
        let not = |paths: &[String], what: &str, may: &dyn Fn(&str) -> bool| match paths
            .iter()
            .find(|path| !may(path))
        {
            Some(path) => Err(format!("{what} {path}")),
            None => Ok(()),
        };
        not(&self.ran, "ran", &|planted| may.runs(planted))?;
        not(&self.read, "read", &|_| may.reads_elsewhere())?;
        not(&self.outside, "wrote", &|path| may.writes_elsewhere(path))?;
        not(&self.made, "made", &|path| may.makes(path))?;
        not(&self.changed, "changed", &|path| may.changes(path))
    }
}

/// The paths that the table says it writes.
fn written(judged: &Judged) -> Vec<String> {
    let base = judged.folders.iter().fold(FOLDER.to_owned(), |base, folder| format!("{base}/{folder}"));
    let paths = judged.paths.iter().filter(|path| path.access == Access::Write);
    let inside = paths.filter_map(|path| {
        let full =
            if path.text.starts_with('/') { path.text.clone() } else { format!("{base}/{}", path.text) };
        leads(&full)
    });
    inside.map(|path| format!("{FOLDER}/{path}").trim_end_matches('/').to_owned()).collect()
}
