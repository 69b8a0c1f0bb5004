//! Lines that agents write, and lines that attackers do.

use holdstead_core::policy::Trust;
use holdstead_core::policy::rule::Effect;
use serde_json::Value;

use super::{rules, shell};

pub(super) const EXAMPLE: &str = include_str!("../../corpus/example.rules");
pub(super) const HONEST: &str = include_str!("../../corpus/honest.txt");
pub(super) const HOSTILE: &str = include_str!("../../corpus/hostile.txt");

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

#[test]
fn honest_lines_are_mostly_decided_without_asking() {
    let rules = rules(EXAMPLE);
    let mut asked = Vec::new();
    for (_, line, _) in corpus(HONEST) {
        let got = shell(&line, &rules, Trust::Trusted);
        if got.effect != Effect::Allow {
            asked.push(format!("{line:?}: {:?}", got.reason));
        }
    }
    assert!(asked.is_empty(), "{asked:#?}");
}
