//! Programs that run other commands, by the table `wrappers.txt`: `sudo rm x` runs `rm x`, `ssh host 'rm x'` a line.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::frame::assigns;
use super::letters::{Letter, Word, joined};
use crate::policy::programs::base_name;

static TABLE: LazyLock<HashMap<&'static str, Vec<Wrapper>>> =
    LazyLock::new(|| table(include_str!("wrappers.txt")));

struct Wrapper {
    runs: Runs,
    /// Operands that must come first.
    below: Vec<&'static str>,
    options: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum Runs {
    /// After so many operands, a command.
    Rest(usize),
    /// After so many operands, a line.
    Line(usize),
    AfterDashes,
    OfOption,
    After,
    Each,
}

fn table(text: &'static str) -> HashMap<&'static str, Vec<Wrapper>> {
    let mut table: HashMap<&str, Vec<Wrapper>> = HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, options) = line.split_once(" :").unwrap_or((line, ""));
        let mut head = head.split_whitespace();
        let how = head.next().unwrap_or_default();
        let mut count = || head.next().and_then(|count| count.parse().ok()).unwrap_or(0);
        let runs = match how {
            "rest" => Runs::Rest(count()),
            "line" => Runs::Line(count()),
            "dash" => Runs::AfterDashes,
            "opt" => Runs::OfOption,
            "each" => Runs::Each,
            _ => Runs::After,
        };
        let programs = head.next().unwrap_or_default();
        let below: Vec<&str> = head.collect();
        for program in programs.split(',') {
            let options = options.split_whitespace().collect();
            table.entry(program).or_default().push(Wrapper { runs, below: below.clone(), options });
        }
    }
    table
}

/// What a command runs.
pub(super) enum Inner {
    Command(Vec<Word>),
    Line(Vec<Letter>),
}

pub(super) fn inner(words: &[Word]) -> Vec<Inner> {
    let Some(program) = words.first() else { return Vec::new() };
    let wrappers = TABLE.get(base_name(&program.text)).into_iter().flatten();
    wrappers.flat_map(|wrapper| wrapper.inner(&words[1..])).collect()
}

impl Wrapper {
    fn inner(&self, words: &[Word]) -> Vec<Inner> {
        let command = |at: Option<usize>| {
            let rest = at.and_then(|at| words.get(at..)).filter(|rest| !rest.is_empty());
            rest.map(<[Word]>::to_vec).map(Inner::Command).into_iter().collect()
        };
        match self.runs {
            Runs::Rest(count) => command(self.start(words, count)),
            Runs::Line(count) => {
                let rest = self.start(words, count).and_then(|at| words.get(at..));
                rest.filter(|rest| !rest.is_empty())
                    .map(|rest| Inner::Line(joined(rest)))
                    .into_iter()
                    .collect()
            }
            Runs::AfterDashes => command(words.iter().position(|word| word.text == "--").map(|at| at + 1)),
            Runs::OfOption if self.starts(words) => self.values(words),
            Runs::OfOption => Vec::new(),
            Runs::After => {
                let after = |word: &Word| self.options.contains(&word.text.as_str());
                let places = words.iter().enumerate().filter(|(_, word)| after(word)).take(8);
                places.flat_map(|(at, _)| command(Some(at + 1))).collect()
            }
            Runs::Each => {
                let is_line = |word: &&Word| word.text.contains(' ');
                words.iter().filter(is_line).map(|word| Inner::Line(word.letters.clone())).collect()
            }
        }
    }

    fn starts(&self, words: &[Word]) -> bool {
        let mut operands = words.iter().filter(|word| !word.text.starts_with('-'));
        self.below.iter().all(|wanted| operands.next().is_some_and(|word| word.text == *wanted))
    }

    /// Where the command begins, after what belongs to the program itself.
    fn start(&self, words: &[Word], count: usize) -> Option<usize> {
        let mut below = self.below.iter();
        let mut wanted = below.next();
        let mut operands = 0;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            let is_operand = !word.letters.is_empty() && (text == "-" || !text.starts_with('-'));
            if text == "--" {
                at += 1;
                if wanted.is_none() && operands >= count {
                    return Some(at);
                }
            } else if !is_operand {
                at += if self.options.contains(&text) { 2 } else { 1 };
            } else if let Some(name) = wanted {
                if text != *name {
                    return None;
                }
                wanted = below.next();
                at += 1;
            } else if operands < count {
                operands += 1;
                at += 1;
            } else if assigns(text).is_some() {
                at += 1;
            } else {
                return Some(at);
            }
        }
        None
    }

    /// The values of options that are lines: `-c line`, `--exec=line`, `-cline`.
    fn values(&self, words: &[Word]) -> Vec<Inner> {
        let mut lines = Vec::new();
        for (at, word) in words.iter().enumerate() {
            for option in &self.options {
                if word.text == *option {
                    lines.extend(words.get(at + 1).map(|value| value.letters.clone()));
                } else if let Some(rest) = word.text.strip_prefix(option) {
                    let skipped = option.chars().count() + usize::from(rest.starts_with('='));
                    if rest.starts_with('=') || !option.starts_with("--") {
                        lines.push(word.after(skipped).letters);
                    }
                }
            }
        }
        lines.into_iter().take(8).map(Inner::Line).collect()
    }
}
