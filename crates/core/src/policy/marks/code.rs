//! Shells and interpreters: code that stands in the command itself, and code that they read from a pipe.

use super::letters::{Letter, Word};
use crate::policy::programs::base_name;

const SHELLS: [&str; 14] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "rbash",
    "fish",
    "csh",
    "tcsh",
    "yash",
    "pwsh",
    "powershell",
];
/// Interpreters, with the options after which code stands: single letters also at the end of others, `-ne`.
const INTERPRETERS: [(&str, &[&str]); 35] = [
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("ipython", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("nodejs", &["-e", "-p", "--eval", "--print"]),
    ("bun", &["-e", "-p", "--eval", "--print"]),
    ("tsx", &["-e", "-p", "--eval", "--print"]),
    ("ts-node", &["-e", "-p", "--eval", "--print"]),
    ("deno", &["eval"]),
    ("php", &["-r", "-R", "-B", "-E"]),
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("R", &["-e"]),
    ("Rscript", &["-e"]),
    ("julia", &["-e", "-E", "--eval", "--print"]),
    ("elixir", &["-e", "--eval"]),
    ("iex", &["-e", "--eval"]),
    ("erl", &["-eval"]),
    ("ghc", &["-e"]),
    ("scala", &["-e"]),
    ("groovy", &["-e"]),
    ("kotlin", &["-e"]),
    ("swift", &["-e"]),
    ("osascript", &["-e"]),
    ("clojure", &["-e", "--eval"]),
    ("clj", &["-e", "--eval"]),
    ("bb", &["-e"]),
    ("racket", &["-e", "--eval"]),
    ("guile", &["-c"]),
    ("sbcl", &["--eval"]),
    ("tclsh", &["-c"]),
    ("mongosh", &["--eval"]),
    ("mongo", &["--eval"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    Shell,
    OtherCode,
}

/// How a command gets the code that it runs.
pub(super) enum Code {
    /// This line for a shell.
    Line(Vec<Letter>),
    /// It stands there, in a language that is not read here.
    Inline,
    /// What its input says.
    Input(Reads),
    /// A file of this name, with its arguments.
    Script(Reads, Vec<Word>),
}

pub(super) fn reads(program: &str) -> Option<(Reads, &'static [&'static str])> {
    let name = base_name(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if SHELLS.contains(&name) {
        return Some((Reads::Shell, &["-c", "-Command", "-command"]));
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let known = INTERPRETERS.iter().find(|(known, _)| *known == name || *known == bare);
    known.map(|(_, options)| (Reads::OtherCode, *options))
}

/// What a shell or interpreter runs.
pub(super) fn code(words: &[Word]) -> Option<Code> {
    let (reads, inline) = reads(&words.first()?.text)?;
    if reads == Reads::OtherCode && words[1..].iter().any(|word| is_inline(&word.text, "--eval")) {
        return Some(Code::Inline);
    }
    let mut words = words[1..].iter().enumerate();
    let rest = |at: usize, words: &[Word]| words.get(at..).unwrap_or_default().to_vec();
    let all: Vec<Word> = words.clone().map(|(_, word)| word.clone()).collect();
    let mut has_code = false;
    while let Some((at, word)) = words.next() {
        let text = word.text.as_str();
        if inline.iter().any(|option| is_inline(text, option)) {
            if reads == Reads::OtherCode {
                return Some(Code::Inline);
            }
            has_code = true;
        } else if text == "-s" || text == "-" || text == "/dev/stdin" || text.starts_with("/dev/fd/") {
            return Some(Code::Input(reads));
        } else if text == "-m" || text == "--version" || text == "-V" || text == "--help" {
            return None;
        } else if matches!(
            text,
            "-o" | "-O" | "-r" | "--require" | "--import" | "-I" | "-W" | "-X" | "--rcfile" | "--init-file"
        ) {
            words.next();
        } else if reads == Reads::Shell
            && text.starts_with('-')
            && text.ends_with('o')
            && !text.starts_with("--")
        {
            // `-euo pipefail`
            words.next();
        } else if word.letters.is_empty() || !text.starts_with(['-', '+']) {
            return Some(match (has_code, reads) {
                (true, _) => Code::Line(word.letters.clone()),
                (false, _) if text.starts_with("<(") => Code::Inline,
                (false, reads) => Code::Script(reads, rest(at, &all)),
            });
        }
    }
    (!has_code).then_some(Code::Input(reads))
}

fn is_inline(word: &str, option: &str) -> bool {
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
    match letter {
        // `-lc`, `-ne`; also `-c'code'` and `-pie.bak`.
        Some(letter) => word.strip_prefix('-').is_some_and(|letters| {
            let cluster: &str = letters.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            !letters.starts_with('-') && cluster.len() <= 4 && cluster.contains(letter)
                || letters.starts_with(letter)
        }),
        None => word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')),
    }
}

/// Names in code that deletes, runs programs or reaches the network.
const RISKY: [&str; 26] = [
    "rmtree",
    "unlink",
    "remove(",
    "rmdir",
    "rmSync",
    "rmdirSync",
    "system(",
    "subprocess",
    "popen",
    "Popen",
    "exec(",
    "execSync",
    "spawn",
    "child_process",
    "eval(",
    "socket",
    "requests.",
    "urlopen",
    "fetch(",
    "https.request",
    "truncate(",
    "shell_exec",
    "__import__",
    "FileUtils",
    "dropDatabase",
    "kill(",
];

/// Whether code of a language that is not read here does more than to compute and print, as far as its names tell.
pub(super) fn is_risky(code: &str) -> bool {
    RISKY.iter().any(|name| code.contains(name))
}
