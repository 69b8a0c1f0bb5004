//! Lines that agents write, and lines that attackers do.

use std::collections::{BTreeMap, BTreeSet};

use holdstead_core::policy::Trust;
use holdstead_core::policy::programs::{Class, class_of, core_places, form_of, programs};
use holdstead_core::policy::rule::{Effect, parse};
use holdstead_core::policy::shell::{Line, Shell, read};
use serde_json::Value;

use super::{in_shell, rules, shell};

pub(super) const EXAMPLE: &str = include_str!("../../corpus/example.rules");
pub(super) const HONEST: &str = include_str!("../../corpus/honest.txt");
pub(super) const HOSTILE: &str = include_str!("../../corpus/hostile.txt");
/// Lines that use what programs make of their words, written with knowledge of the rules.
const WALKED: &str = include_str!("../../corpus/walked.txt");
/// The example, and what was offered for a hundred approved commands.
const BROAD: &str = include_str!("../../corpus/broad.rules");

/// Verdict, line and reason of each row.
pub(super) fn corpus(text: &'static str) -> impl Iterator<Item = (&'static str, String, &'static str)> {
    text.lines().filter(|row| !row.is_empty() && !row.starts_with('#')).map(|row| {
        let columns: Vec<&str> = row.split('\t').collect();
        let [verdict, _, line, why] = columns.as_slice() else { panic!("{row}") };
        let line: Value = serde_json::from_str(line).expect(row);
        (*verdict, line.as_str().expect(row).to_owned(), *why)
    })
}

#[test]
fn no_hostile_line_is_allowed() {
    let rules = rules(EXAMPLE);
    let mut wrong = Vec::new();
    for (verdict, line, why) in corpus(HOSTILE) {
        let expected = if verdict == "deny" { Effect::Deny } else { Effect::Ask };
        let got = shell(&line, &rules, Trust::Trusted);
        if got.effect != expected {
            wrong.push(format!("{line:?} ({why}): {:?}", got.effect));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A rule with `:*` for each program that a table knows.
fn broadest() -> String {
    let offered = programs().flat_map(|(_, program)| &program.forms).map(|form| {
        let named = ["build"].iter().take(form.named_operands);
        let words: Vec<&str> = form.head.iter().chain(named).copied().collect();
        format!("allow Bash({}:*)", words.join(" "))
    });
    offered.filter(|text| parse(text).is_ok()).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_hostile_line_is_allowed_by_the_broadest_rules_that_are_offered() {
    let broadest = broadest();
    assert!(broadest.lines().count() > 150, "{broadest}");
    let mut wrong = BTreeSet::new();
    for text in [EXAMPLE, BROAD, &broadest] {
        let rules = rules(&format!("{text}\ndeny Read(.env)"));
        for in_which in [Shell::Bash, Shell::Zsh] {
            for (_, line, why) in corpus(HOSTILE).chain(corpus(WALKED)).filter(|row| row.0 != "either") {
                if in_shell(in_which, &line, &rules, Trust::Trusted).effect == Effect::Allow {
                    wrong.insert(format!("{line:?} ({why})"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The program of a line's first command with its subcommand, and the script's name where that is what runs.
fn what_runs(line: &str) -> String {
    let Line::Plain(commands) = read(line, Shell::Bash) else { panic!("{line}") };
    let argv = &commands[0].argv;
    let length = form_of(argv).map_or(2, |form| form.head.len() + form.named_operands);
    let core = core_places(argv).into_iter().map(|place| argv[place].text());
    let words = core.filter(|word| !word.starts_with('-'));
    let named = if class_of(argv[0].text()) == Class::Family { length } else { 1 };
    words.take(named).collect::<Vec<_>>().join(" ")
}

#[test]
fn honest_lines_are_mostly_decided_without_asking() {
    let rules = rules(EXAMPLE);
    let (mut asked, mut lines) = (Vec::new(), 0);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line, _) in corpus(HONEST) {
        lines += 1;
        *kinds.entry(what_runs(&line)).or_default() += 1;
        let got = shell(&line, &rules, Trust::Trusted);
        if got.effect == Effect::Ask {
            asked.push(format!("{line:?}: {:?}", got.reason));
        }
    }
    assert!(asked.len() * 10 <= lines, "{} of {lines}: {asked:#?}", asked.len());
    assert!(
        lines >= 200 && kinds.len() >= 60 && kinds.values().all(|count| *count <= 3),
        "{lines} {kinds:?}"
    );
}
