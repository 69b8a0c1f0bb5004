//! Rules from past approvals: those that save most, never one that a person would be sorry for.

use std::collections::BTreeSet;

use Decided::{Approved, ByNobody, Denied};
use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::{
    Call, Decided, Meaning, Past, Places, Rules, Subject, Suggestion, Trust, offers, suggest,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::corpus::{HONEST, HOSTILE, corpus};
use super::{FOLDER, SHELL_LINE, facts, rules, shell};

type Calls = Vec<(Subject<'static>, Value, Decided)>;

fn lines<'a>(lines: impl IntoIterator<Item = (&'a str, Decided)>) -> Calls {
    let call = |(line, decided)| (SHELL_LINE.subject, json!({"command": line}), decided);
    lines.into_iter().map(call).collect()
}

fn suggested(calls: &Calls, rules: &Rules, trust: Trust) -> Vec<Suggestion> {
    let places = Places::default();
    let past: Vec<Past<'_>> = calls
        .iter()
        .map(|(subject, input, decided)| Past {
            call: Call { tool: "T", input, meaning: Meaning { subject: *subject, harmless: &[] } },
            facts: facts(&places, trust),
            decided: *decided,
        })
        .collect();
    suggest(&past, rules, &["production".to_owned()])
}

/// The rules of each suggestion without what all have in common, and how much it saves.
fn found(calls: &Calls, text: &str) -> Vec<(String, usize)> {
    let suggestions = suggested(calls, &rules(text), Trust::Trusted);
    let short = |text: &str| text.trim_start_matches("allow ").to_owned();
    let words =
        |one: &Suggestion| one.rules.iter().map(|rule| short(&rule.text)).collect::<Vec<_>>().join(", ");
    suggestions.iter().map(|one| (words(one), one.saves)).collect()
}

fn expect(calls: &Calls, text: &str, expected: &[(&str, usize)]) {
    let expected: Vec<(String, usize)> =
        expected.iter().map(|(rules, saves)| ((*rules).to_owned(), *saves)).collect();
    assert_eq!(found(calls, text), expected);
}

#[test]
fn the_rule_that_saves_most_stands_first() {
    let mut calls = vec![("git status", Approved); 3];
    calls.extend(
        ["cargo test a", "cargo test b", "cargo test c", "cargo test d"].map(|line| (line, Approved)),
    );
    calls.extend([("wc -l a", Approved), ("du -s", Denied), ("true", Approved)]);
    let expected =
        [("Bash(cargo test:*)", 4), ("Bash(git status)", 3), ("Bash(true:*)", 1), ("Bash(wc:*)", 1)];
    expect(&lines(calls), "", &expected);
}

#[test]
fn a_rule_for_one_input_that_came_once_saves_nothing() {
    expect(&lines([("terraform plan", Approved)]), "", &[]);
    expect(&lines([("terraform plan", Approved); 2]), "", &[("Bash(terraform plan)", 2)]);
}

#[test]
fn rules_of_before_count() {
    let calls = lines([("ls a | head -2", Approved), ("ls b | head -3", Approved)]);
    expect(&calls, "allow Bash(head:*)", &[("Bash(ls:*)", 2)]);
    expect(&calls, "", &[("Bash(ls:*), Bash(head:*)", 2)]);
    expect(&calls, "allow Bash(head:*)\nallow Bash(ls:*)", &[]);
    expect(&calls, "deny Bash(head:*)", &[]);
    expect(&calls, "ask Bash(ls:*)", &[]);
}

#[test]
fn what_was_chosen_counts_for_the_next() {
    let calls = lines([
        ("ls a", Approved),
        ("ls b", Approved),
        ("ls c", Approved),
        ("ls a | wc -l", Approved),
        ("ls b | wc -w", Approved),
    ]);
    expect(&calls, "", &[("Bash(ls:*)", 3), ("Bash(wc:*)", 2)]);
    let calls = lines([
        ("ls a | wc -l", Approved),
        ("ls b | wc -l", Approved),
        ("ls c | wc -w", Approved),
        ("ls a | head -1", Approved),
        ("ls b | head -2", Approved),
    ]);
    expect(&calls, "", &[("Bash(ls:*), Bash(wc:*)", 3), ("Bash(head:*)", 2)]);
}

#[test]
fn nothing_that_a_person_denied_is_ever_allowed() {
    let tests = ["cargo test a", "cargo test b", "cargo test a", "cargo test b"];
    let with = |denied: &'static str| {
        lines(tests.map(|line| (line, Approved)).into_iter().chain([(denied, Denied)]))
    };
    let exact = [("Bash(cargo test a)", 2), ("Bash(cargo test b)", 2)];
    expect(&with("cargo test c"), "", &exact);
    expect(&with("ls && cargo test c"), "", &[("Bash(cargo test:*)", 4)]);
    expect(&with("cargo test c"), "allow Bash(cargo test c)", &[("Bash(cargo test:*)", 4)]);
    expect(&with("cargo test b"), "", &exact[..1]);
    // Two rules that together allow what neither does alone.
    let both = lines([
        ("ls a", Approved),
        ("ls b", Approved),
        ("ls c", Approved),
        ("wc a", Approved),
        ("wc b", Approved),
        ("ls x | wc", Denied),
    ]);
    expect(&both, "", &[("Bash(ls:*)", 3)]);
}

#[test]
fn a_denial_in_a_folder_that_nobody_trusts_counts_once_it_is_trusted() {
    let calls = lines([("ls a", Approved), ("ls b", Approved), ("ls -L c", Denied)]);
    let allowed = |trust| !suggested(&calls, &rules(""), trust).is_empty();
    assert!(!allowed(Trust::Trusted));
    assert!(!allowed(Trust::Untrusted), "`ls -L` would be allowed in the end");
}

#[test]
fn nothing_is_suggested_that_no_card_offers() {
    let calls =
        ["rm -r a", "cat .env", "deploy production", "python3 x.py", "ls $x", "curl -s h", "cat /etc/hosts"];
    expect(&lines(calls.into_iter().flat_map(|line| [(line, Approved); 3])), "", &[]);
    let whole: Calls = vec![(Subject::Whole, json!({"a": 1}), Approved); 3];
    expect(&whole, "", &[]);
    expect(&lines([("du c", ByNobody), ("du d", ByNobody)]), "", &[]);
}

#[test]
fn a_folder_covers_the_files_below_it() {
    let edit = |path: &str, decided| (Subject::Edits { field: "f" }, json!({"f": path}), decided);
    let paths = ["src/a.rs", "src/b.rs", "src/x/c.rs", "src/x/y/d.rs", "docs/e.md"];
    let mut calls: Calls = paths.iter().map(|path| edit(path, Approved)).collect();
    expect(&calls, "", &[("Edit(src/**)", 4)]);
    calls.push(edit("src/x/secret_plan.rs", Denied));
    expect(&calls, "", &[]);
    calls.extend([edit("src/x/y/f.rs", Approved), edit("src/b.rs", Approved)]);
    expect(&calls, "", &[("Edit(src/b.rs)", 2), ("Edit(src/x/y/**)", 2)]);
    let pages: Calls = ["https://docs.rs/a", "https://docs.rs/b"]
        .map(|page| (Subject::Fetches { field: "f" }, json!({"f": page}), Approved))
        .into();
    expect(&pages, "", &[("WebFetch(domain:docs.rs)", 2)]);
}

#[test]
fn a_suggestion_says_what_else_it_would_allow() {
    let calls = lines([
        ("cat a", Approved),
        ("cat b", Approved),
        ("cat b", Approved),
        ("cat c", ByNobody),
        ("cat d | nothing", ByNobody),
    ]);
    let [suggestion] = suggested(&calls, &rules(""), Trust::Trusted).try_into().expect("one");
    assert_eq!((suggestion.saves, &suggestion.examples, &suggestion.unapproved), (3, &vec![0, 1], &vec![3]));
    assert_eq!(
        suggestion.reach,
        [
            "`cat` with all further arguments that are known as harmless.",
            "It reads any file of the folder, also those with secrets in them.",
        ]
    );
    let reach = |line: &'static str, other: &'static str| {
        let calls = lines([(line, Approved), (other, Approved)]);
        suggested(&calls, &rules(""), Trust::Trusted).remove(0).reach.join(" ")
    };
    assert!(reach("cargo test", "cargo test").contains("No other command than this one"));
    assert!(reach("cargo test a", "cargo test b").contains("only where the folder is trusted"));
    assert!(reach("touch a", "touch b").contains("makes and changes files"));
    assert!(!reach("pwd", "pwd").contains("trusted"));
}

#[test]
fn what_two_suggestions_save_together_is_counted() {
    let approved = [
        "git branch -a --sort=-committerdate | head -20",
        "git branch -a --sort=-committerdate | head -20",
        "git grep -c unwrap HEAD~5 -- src",
        // By `head -20` of the one and `git grep:*` of the other: no card offered just these two.
        "git grep -l TODO | head -20",
    ];
    let calls = approved.into_iter().map(|line| (line, Approved));
    let calls = calls.chain([("head -c 300 package.json", Denied)]);
    let suggestions = suggested(&lines(calls), &rules(""), Trust::Trusted);
    assert_eq!(suggestions.iter().map(|one| one.saves).sum::<usize>(), approved.len(), "{suggestions:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Honest lines are approved, hostile ones denied, and some of either the other way round.
    #[test]
    fn suggestions_hold_what_they_promise(seed in prop::collection::vec((0_usize..200, 0_usize..HOSTILE.lines().count(), 0_u8..8), 10..60)) {
        let honest: Vec<String> = corpus(HONEST).map(|(_, line, _)| line).collect();
        let hostile: Vec<String> = corpus(HOSTILE).map(|(_, line, _)| line).collect();
        let calls: Vec<(&str, Decided)> = seed
            .iter()
            .map(|(one, other, kind)| match kind {
                0 => (hostile[*other].as_str(), Denied),
                1 => (hostile[*other].as_str(), Approved),
                2 => (honest[*one].as_str(), Denied),
                3 => (honest[*one].as_str(), ByNobody),
                _ => (honest[one % 60].as_str(), Approved),
            })
            .collect();
        let suggestions = suggested(&lines(calls.iter().copied()), &rules(""), Trust::Trusted);
        let texts: Vec<&str> =
            suggestions.iter().flat_map(|one| &one.rules).map(|rule| rule.text.as_str()).collect();
        let after = rules(&texts.join("\n"));
        let is_allowed = |line: &str| shell(line, &after, Trust::Trusted).effect == Effect::Allow;
        let denied: BTreeSet<&str> =
            calls.iter().filter(|(_, decided)| *decided == Denied).map(|(line, _)| *line).collect();
        prop_assert!(!denied.iter().any(|line| is_allowed(line)), "{:?}", texts);
        let saved = calls.iter().filter(|(line, decided)| *decided == Approved && is_allowed(line)).count();
        prop_assert_eq!(saved, suggestions.iter().map(|one| one.saves).sum::<usize>(), "{:?}", texts);
        let offered: BTreeSet<String> = calls.iter().filter(|(_, decided)| *decided == Approved).flat_map(|(line, _)| offered(line)).collect();
        prop_assert!(texts.iter().all(|text| offered.contains(*text)), "{:?}", texts);
    }
}

fn offered(line: &str) -> Vec<String> {
    let input = json!({"command": line});
    let call = Call { tool: "T", input: &input, meaning: SHELL_LINE };
    let (none, rules) = (Places::default(), rules(""));
    let unresolved = offers(&call, &rules, &facts(&none, Trust::Trusted), &[]).unresolved;
    let places = Places::without_links(FOLDER, &unresolved);
    let found = offers(&call, &rules, &facts(&places, Trust::Trusted), &[]).offers;
    found.into_iter().flat_map(|offer| offer.rules).map(|rule| rule.text).collect()
}
