//! Variables that a line sets: those that make programs run something, and those whose value it says itself.

use std::collections::HashMap;

use super::Risk;
use super::frame::assigns;
use super::letters::{Kind, Word};
use super::reader::Run;

/// Their value is run as a line.
const RUN: [&str; 17] = [
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_PAGER",
    "PAGER",
    "GIT_EDITOR",
    "EDITOR",
    "VISUAL",
    "GIT_SEQUENCE_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "PROMPT_COMMAND",
    "BROWSER",
    "MANPAGER",
    "LESSOPEN",
    "RUSTC_WRAPPER",
    "GIT_PROXY_COMMAND",
];
/// They have a program load code.
const LOADS: [&str; 10] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "GIT_TEMPLATE_DIR",
    "GCONV_PATH",
];
/// Builtins that set a variable to what only shows when they run.
const SETS: [&str; 9] =
    ["read", "mapfile", "readarray", "printf", "for", "select", "getopts", "let", "declare"];

pub(super) fn is_run(name: &str) -> bool {
    RUN.contains(&name)
}

/// What setting a variable leads to.
pub(super) fn of_assignment(name: &str, value: &Word) -> Option<Risk> {
    let text = &value.text;
    let loads = match name {
        "NODE_OPTIONS" => {
            ["--require", "-r ", "--import", "--loader", "--eval"].iter().any(|word| text.contains(word))
        }
        "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" => text.contains("agent"),
        "PATH" => text.split(':').any(|folder| {
            let is_open = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|open| folder.starts_with(open));
            is_open || folder == "." || (folder.is_empty() && text.len() > 1)
        }),
        _ => LOADS.contains(&name),
    };
    loads.then_some(Risk::RunsCode)
}

/// What is known of variables that the line sets.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// `None`: it shows only when the line runs.
    values: HashMap<String, Option<Vec<String>>>,
}

impl Variables {
    pub(super) fn learn(&mut self, runs: &[Run]) {
        for run in runs {
            let program = run.words.first().map_or("", |word| word.text.as_str());
            for word in run.assigned.iter().chain(run.words.iter().skip(1)) {
                if let Some((name, at)) = assigns(&word.text) {
                    self.set(name, &word.after(at));
                } else if SETS.contains(&program) {
                    self.values.insert(word.text.clone(), None);
                }
            }
        }
    }

    fn set(&mut self, name: &str, value: &Word) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | ' ');
        let is_known = value.letters.iter().all(|letter| letter.kind != Kind::Expanded && is_plain(letter.c));
        let known = self.values.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(values) if is_known && values.len() < 4 => values.push(value.text.clone()),
            _ => *known = None,
        }
    }

    /// All that a word `$x` may stand for.
    pub(super) fn known(&self, word: &Word) -> Option<Vec<String>> {
        let name = word.text.strip_prefix('$')?;
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        let values = self.values.get(name)?.clone().filter(|values| !values.is_empty())?;
        (!self.values.contains_key("IFS")).then_some(values)
    }
}
