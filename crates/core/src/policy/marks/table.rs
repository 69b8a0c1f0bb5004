//! The table of what commands do: `risks.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Risk;
use crate::policy::programs::base_name;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("risks.txt")));

#[derive(Default)]
struct Table {
    entries: Vec<Entry>,
    /// The places of entries by their program, in lower case. Names with `*` come last.
    by_name: HashMap<String, Vec<usize>>,
    by_pattern: Vec<(&'static str, usize)>,
    /// A program's options whose value is the next word.
    values: HashMap<&'static str, Vec<&'static str>>,
}

struct Entry {
    risk: Risk,
    wanted: Vec<Wanted>,
}

type AnyOf = Vec<&'static str>;

enum Wanted {
    /// The next operand.
    Next(AnyOf),
    /// Any operand after those before it.
    Later(AnyOf),
    Option(AnyOf),
    Not(&'static str),
    Word(AnyOf),
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap_or_default();
            let programs = words.next().unwrap_or_default().split(',');
            let Some(risk) = risk(first) else {
                let values: Vec<_> = words.collect();
                programs.for_each(|program| table.values.entry(program).or_default().extend(&values));
                continue;
            };
            for program in programs {
                if program.contains('*') {
                    table.by_pattern.push((program, table.entries.len()));
                } else {
                    table.by_name.entry(program.to_ascii_lowercase()).or_default().push(table.entries.len());
                }
            }
            table.entries.push(Entry { risk, wanted: wanted(words) });
        }
        table
    }

    fn of(&self, program: &str) -> impl Iterator<Item = &Entry> {
        let named = self.by_name.get(&program.to_ascii_lowercase()).into_iter().flatten().copied();
        let patterns =
            self.by_pattern.iter().filter(|(pattern, _)| fits(pattern, program)).map(|(_, at)| *at);
        let places: Vec<usize> = named.chain(patterns).collect();
        places.into_iter().map(|at| &self.entries[at])
    }
}

fn risk(name: &str) -> Option<Risk> {
    let risks = [
        Risk::Deletes,
        Risk::Destroys,
        Risk::Forces,
        Risk::Rewrites,
        Risk::RunsCode,
        Risk::Sends,
        Risk::ChangesMachine,
        Risk::Credentials,
    ];
    risks.into_iter().find(|risk| risk.as_str() == name)
}

fn wanted(words: impl Iterator<Item = &'static str>) -> Vec<Wanted> {
    let mut later = false;
    let mut all = Vec::new();
    for word in words {
        let any = |word: &'static str| word.split('|').collect::<AnyOf>();
        match word.strip_prefix('!') {
            _ if word == ".." => later = true,
            Some(not) => all.push(Wanted::Not(not)),
            None if word.starts_with('=') => all.push(Wanted::Word(any(&word[1..]))),
            None if word.starts_with('-') => all.push(Wanted::Option(any(word))),
            None if later => all.push(Wanted::Later(any(word))),
            None => all.push(Wanted::Next(any(word))),
        }
    }
    all
}

/// What a command does by its name and its words.
pub(super) fn risks(words: &[String]) -> impl Iterator<Item = Risk> {
    let program = words.first().map_or("", |name| base_name(name));
    let stem = program.strip_suffix(".exe").unwrap_or(program);
    let rest = words.get(1..).unwrap_or_default();
    let operands = operands(rest, values_of(stem));
    TABLE.of(stem).filter(move |entry| entry.fits(rest, &operands)).map(|entry| entry.risk)
}

/// A program's options whose value is the next word.
pub(in crate::policy) fn values_of(program: &str) -> &'static [&'static str] {
    TABLE.values.get(program).map_or(&[], Vec::as_slice)
}

/// The words that are no options, and not the value of one of these.
pub(in crate::policy) fn operands<'a>(words: &'a [String], values: &[&str]) -> Vec<&'a str> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if values.contains(&word.as_str()) {
            words.next();
        } else if word == "-" || !word.starts_with(['-', '+']) {
            operands.push(word.as_str());
        }
    }
    operands
}

impl Entry {
    fn fits(&self, words: &[String], operands: &[&str]) -> bool {
        let mut at = 0;
        self.wanted.iter().all(|wanted| match wanted {
            Wanted::Next(any) => {
                at += 1;
                operands.get(at - 1).is_some_and(|word| any.iter().any(|pattern| fits(pattern, word)))
            }
            Wanted::Later(any) => {
                let rest = operands.get(at..).unwrap_or_default();
                let found = rest.iter().position(|word| any.iter().any(|pattern| fits(pattern, word)));
                at += found.map_or(0, |found| found + 1);
                found.is_some()
            }
            Wanted::Option(any) => any.iter().any(|option| words.iter().any(|word| is_given(word, option))),
            Wanted::Not(pattern) => !words
                .iter()
                .any(|word| is_given(word, pattern) || fits(pattern.trim_start_matches('='), word)),
            Wanted::Word(any) => any.iter().any(|pattern| words.iter().any(|word| fits(pattern, word))),
        })
    }
}

/// `*` at the beginning or at the end stands for anything; letters are alike in both cases.
fn fits(pattern: &str, word: &str) -> bool {
    let (pattern, word) = (pattern.as_bytes(), word.as_bytes());
    match pattern {
        [b'*', middle @ .., b'*'] => {
            word.windows(middle.len().max(1)).any(|part| part.eq_ignore_ascii_case(middle))
        }
        [b'*', end @ ..] => {
            word.len() >= end.len() && word[word.len() - end.len()..].eq_ignore_ascii_case(end)
        }
        [start @ .., b'*'] => word.len() >= start.len() && word[..start.len()].eq_ignore_ascii_case(start),
        _ => word.eq_ignore_ascii_case(pattern),
    }
}

/// A letter also among others: `-uf` is `-f` too; a long option also with its value.
pub(super) fn is_given(given: &str, wanted: &str) -> bool {
    const LONGEST_CLUSTER: usize = 5;
    let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    let cluster = given.strip_prefix('-').filter(|letters| {
        given.len() <= LONGEST_CLUSTER && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
    });
    given == wanted
        || (wanted.len() > 2 && given.split('=').next() == Some(wanted))
        || letter.zip(cluster).is_some_and(|(letter, cluster)| cluster.contains(letter))
}
