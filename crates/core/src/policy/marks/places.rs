//! Which paths a command writes, and whether they lie outside the session's folder.

use super::leaves;
use crate::policy::call::Facts;
use crate::policy::folders::Folders;
use crate::policy::programs::{Access, base_name, form_of, judge};
use crate::policy::shell;

use super::letters::Word;

/// Programs without a table whose operands are written.
const WRITERS: [&str; 2] = ["tee", "sponge"];
/// Programs without a table whose last operand is written.
const LINKERS: [&str; 2] = ["ln", "install"];

pub(super) struct Outside<'a> {
    facts: &'a Facts<'a>,
    pub(super) folders: Folders,
}

impl<'a> Outside<'a> {
    pub(super) fn new(facts: &'a Facts<'a>) -> Self {
        Self { facts, folders: Folders::new(facts.cwd.or(Some(facts.folder))) }
    }

    /// Whether a path may lead out of the folder, from where the command may run. After a `cd` to a folder that is not known it may.
    pub(super) fn leads_out(&self, path: &str) -> bool {
        let home = path.strip_prefix("$HOME").or_else(|| path.strip_prefix("${HOME}"));
        let path = home.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"));
        match self.folders.possible() {
            _ if path.starts_with('$') => false,
            Some(possible) => possible.iter().any(|base| leaves(&path, base, self.facts)),
            None => leaves(&path, "/", self.facts),
        }
    }

    pub(super) fn is_left_by(&self, words: &[String]) -> bool {
        written(words).iter().any(|path| self.leads_out(path))
    }

    /// Goes on after this command, which may be a `cd`.
    pub(super) fn follow(&mut self, words: &[Word]) {
        let Some((program, rest)) = words.split_first() else { return };
        match (program.text.as_str(), rest) {
            ("cd", [target]) if target.text.starts_with('$') && !target.text.starts_with("$HOME") => {}
            ("cd", [target]) if !target.text.starts_with(['-', '~', '$']) => {
                self.folders.change(Some(&target.text))
            }
            ("cd", _) => self.folders.change(None),
            _ => {}
        }
    }
}

/// What a command writes, as far as tables tell.
fn written(words: &[String]) -> Vec<String> {
    let [name, operands @ ..] = words else { return Vec::new() };
    if WRITERS.contains(&base_name(name)) {
        return operands.iter().filter(|word| !word.starts_with('-')).cloned().collect();
    }
    // The others are read, unless an option names the folder.
    let names_folder = |word: &String| word.starts_with("-t") || word.starts_with("--target");
    let names_folder = operands.iter().any(names_folder);
    if LINKERS.contains(&base_name(name)) {
        let mut written: Vec<String> =
            operands.iter().filter(|word| !word.starts_with('-')).cloned().collect();
        if !names_folder {
            let last = written.pop().filter(|_| !written.is_empty());
            return last.into_iter().collect();
        }
        return written;
    }
    let word = |text: &String| shell::Word::Literal { text: text.clone(), span: 0..0 };
    let argv: Vec<shell::Word> = words.iter().map(word).collect();
    if form_of(&argv).is_none() {
        return Vec::new();
    }
    let judged = judge(&argv, &vec![true; argv.len()]).ok();
    let paths = judged.into_iter().flat_map(|judged| judged.paths);
    let mut written: Vec<String> =
        paths.filter(|path| path.access == Access::Write).map(|path| path.text).collect();
    if base_name(name) == "cp" && !names_folder {
        written.drain(..written.len().saturating_sub(1));
    }
    written
}
