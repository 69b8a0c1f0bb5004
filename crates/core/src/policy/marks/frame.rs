//! What is open while a line is read: a substitution, a subshell, the command in it and its last word.

use super::letters::{Letter, Word};
use super::reader::{Piped, Redirect, Writes};
use crate::policy::shell::Join;

/// Words before a command that are not its name.
const BEFORE: [&str; 14] = [
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "until",
    "!",
    "{",
    "coproc",
    "noglob",
    "nocorrect",
    "-",
    "always",
];
/// Words after a command that are no command.
const CLOSING: [&str; 4] = ["}", "fi", "done", "esac"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enclosed {
    Whole,
    /// `( )`
    Subshell,
    /// `$( )`
    Substitution,
    /// `<( )`
    Process,
    Backtick,
    /// `${ }`
    Parameter,
    /// `x=( )`
    Array,
    /// `(( ))`, or `$(( ))`, which stands for a text.
    Arithmetic {
        expands: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Pattern,
    Body,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    File(Writes),
    HereString,
    HereDocument { tabs: bool },
}

#[derive(Debug)]
pub(super) struct HereDocument {
    pub(super) end: String,
    pub(super) tabs: bool,
    pub(super) expands: bool,
    pub(super) number: usize,
}

#[derive(Debug)]
pub(super) struct Begun {
    pub(super) letters: Vec<Letter>,
    pub(super) start: usize,
}

#[derive(Debug, Default)]
pub(super) struct BegunRun {
    pub(super) assigned: Vec<Word>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) bodies: Vec<Vec<Letter>>,
    pub(super) documents: Vec<usize>,
    pub(super) closes: bool,
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Enclosed,
    pub(super) start: usize,
    pub(super) double: bool,
    pub(super) only_substitutions: bool,
    pub(super) computes: bool,
    pub(super) after_group: bool,
    pub(super) word: Option<Begun>,
    pub(super) run: BegunRun,
    pub(super) target: Option<(Target, usize)>,
    pub(super) here_documents: Vec<HereDocument>,
    pub(super) join: Join,
    pub(super) piped: Piped,
    cases: Vec<Case>,
}

impl Frame {
    pub(super) fn new(kind: Enclosed, start: usize) -> Self {
        Self {
            kind,
            start,
            double: false,
            only_substitutions: false,
            computes: false,
            after_group: false,
            word: None,
            run: BegunRun::default(),
            target: None,
            here_documents: Vec::new(),
            join: Join::First,
            piped: Piped::No,
            cases: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, start: usize) {
        self.word.get_or_insert(Begun { letters: Vec::new(), start });
    }

    pub(super) fn put(&mut self, letter: Letter) {
        self.begin(letter.from);
        if let Some(word) = &mut self.word {
            word.letters.push(letter);
        }
    }

    pub(super) fn case(&self) -> Option<Case> {
        self.cases.last().copied()
    }

    pub(super) fn set_case(&mut self, case: Case) {
        if let Some(last) = self.cases.last_mut() {
            *last = case;
        }
    }

    pub(super) fn is_at_command(&self) -> bool {
        self.run.words.is_empty()
    }

    /// The pattern of a `case`.
    pub(super) fn forget(&mut self) {
        self.word = None;
        self.run = BegunRun::default();
    }

    pub(super) fn take(&mut self, word: Word) {
        let text = word.text.as_str();
        let run = &mut self.run;
        if !run.words.is_empty() {
            match (run.words[0].text.as_str(), text, run.words.len()) {
                ("case", "in", 2) => {
                    self.forget();
                    self.cases.push(Case::Pattern);
                }
                ("function", "{", 2) => self.forget(),
                _ => run.words.push(word),
            }
        } else if text == "esac" && !self.cases.is_empty() {
            self.cases.pop();
            run.closes = true;
        } else if CLOSING.contains(&text) {
            run.closes = true;
        } else if assigns(text).is_some() {
            run.assigned.push(word);
        } else if !BEFORE.contains(&text) {
            run.words.push(word);
        }
    }
}

/// The name in `NAME=value`, and how many letters stand before the value.
pub(super) fn assigns(word: &str) -> Option<(&str, usize)> {
    let (name, _) = word.split_once('=')?;
    let bare = name.strip_suffix('+').unwrap_or(name);
    let bare = bare.split('[').next().unwrap_or(bare);
    let is_name = !bare.is_empty()
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !bare.starts_with(|c: char| c.is_ascii_digit());
    is_name.then(|| (bare, name.chars().count() + 1))
}
