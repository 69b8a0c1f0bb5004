//! What a person could save for a call: exactly what they read, and never more than they mean.

use holdstead_core::policy::rule::{Effect, Rest, Target, parse};
use holdstead_core::policy::{Call, Meaning, Offer, Places, Rules, Subject, Trust, offers};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::corpus::{EXAMPLE, HONEST, HOSTILE, corpus};
use super::{FOLDER, SHELL_LINE, decided, facts, rules, shell};

/// The texts of what is offered, as if there were no symbolic links.
fn offered_for(call: &Call<'_>, rules: &Rules, trust: Trust) -> Vec<Vec<String>> {
    let none = Places::default();
    let unresolved = offers(call, rules, &facts(&none, trust), &["production".to_owned()]).unresolved;
    let places = Places::without_links(FOLDER, &unresolved);
    let found = offers(call, rules, &facts(&places, trust), &["production".to_owned()]);
    let texts = |offer: Offer| offer.rules.into_iter().map(|rule| rule.text).collect();
    found.offers.into_iter().map(texts).collect()
}

fn offered(line: &str, rules: &Rules) -> Vec<Vec<String>> {
    let input = json!({"command": line, "description": "x"});
    offered_for(&Call { tool: "Bash", input: &input, meaning: SHELL_LINE }, rules, Trust::Trusted)
}

#[test]
fn the_narrowest_rule_stands_first() {
    let some = rules("allow Bash(tail:*)\nallow Bash(cd:*)");
    let cases: [(&str, &[&[&str]]); 15] = [
        ("cargo test -p auth", &[&["cargo test -p auth"], &["cargo test:*"]]),
        ("cargo test", &[&["cargo test"], &["cargo test:*"]]),
        ("cd web && npm run build 2>&1 | tail -5", &[&["npm run build"], &["npm run build:*"]]),
        ("git --no-pager log -3", &[&["git --no-pager log -3"], &["git log:*"]]),
        ("git add -A && git status", &[&["git add -A", "git status"], &["git add:*", "git status:*"]]),
        ("git commit -m 'a (b) it'\\''s'", &[&["git commit -m 'a (b) it'\\''s'"], &["git commit:*"]]),
        ("wc -l src/*.rs", &[&["wc:*"]]),
        ("wc -l src/*.rs && wc f", &[&["wc:*"]]),
        ("make test", &[&["make test"], &["make test:*"]]),
        ("make -j4 test", &[&["make -j4 test"]]),
        ("date +%F", &[&["date +%F"]]),
        ("terraform plan -out=x", &[&["terraform plan '-out=x'"]]),
        ("./scripts/check.sh fast", &[&["./scripts/check.sh fast"]]),
        ("python3 -m pytest -q", &[&["python3 -m pytest -q"], &["python3 -m pytest:*"]]),
        ("tail -5 f", &[]),
    ];
    for (line, expected) in cases {
        let expected: Vec<Vec<String>> = expected
            .iter()
            .map(|rules| rules.iter().map(|rule| format!("allow Bash({rule})")).collect())
            .collect();
        assert_eq!(offered(line, &some), expected, "{line}");
    }
}

#[test]
fn nothing_is_offered_for_what_a_rule_must_not_cover() {
    let some = rules("ask Bash(git push:*)\ndeny Bash(npm publish:*)");
    for line in [
        // Not understood.
        "ls $(rm x)",
        "FOO=1 cargo test",
        "ls &",
        // Marked.
        "rm -rf build",
        "git push --force",
        "git restore a",
        "cat .env",
        "deploy production",
        "curl x | sh",
        "echo a > /etc/x",
        // Runs whatever it is given.
        "python3 x.py",
        "bash x.sh",
        "node -e 1",
        "sudo ls",
        "env ls",
        "xargs ls",
        "eval ls",
        "vim -c ':!ls'",
        "curl -s http://example.org",
        "find . -exec ls {} +",
        "git -c core.pager=x log",
        "git log --output=x",
        "git rebase -x 'ls' HEAD",
        // A rule would not help.
        "git push",
        "npm publish",
        "cat /etc/passwd",
        "cargo build > src/main.rs",
        // More than a person reads.
        "ls a && cat b && wc c && du d",
    ] {
        assert_eq!(offered(line, &some), Vec::<Vec<String>>::new(), "{line}");
    }
    let input = json!({"command": "cargo test", "description": "x"});
    let call = Call { tool: "Bash", input: &input, meaning: SHELL_LINE };
    assert!(
        offered_for(&call, &some, Trust::Untrusted).is_empty(),
        "it would not count before the folder is trusted"
    );
    let input = json!({"command": "ls", "as_root": true});
    assert!(offered_for(&Call { input: &input, ..call }, &some, Trust::Trusted).is_empty());
}

#[test]
fn paths_and_hosts() {
    let cases: [(Subject<'_>, Value, &[&str]); 10] = [
        (Subject::Edits { field: "f" }, json!({"f": "src/a.rs"}), &["Edit(src/a.rs)", "Edit(src/**)"]),
        (Subject::Edits { field: "f" }, json!({"f": "/project/a b.md"}), &["Edit(a b.md)"]),
        (
            Subject::Edits { field: "f" },
            json!({"f": "a/x*(1)[2].md"}),
            &["Edit(a/x\\*\\(1\\)\\[2\\].md)", "Edit(a/**)"],
        ),
        (
            Subject::Reads { field: "f" },
            json!({"f": "src/../docs/a.md"}),
            &["Read(docs/a.md)", "Read(docs/**)"],
        ),
        (Subject::Reads { field: "f" }, json!({"f": "/etc/passwd"}), &[]),
        (Subject::Reads { field: "f" }, json!({"f": "a/.env"}), &[]),
        (Subject::Edits { field: "f" }, json!({"f": ".git/config"}), &[]),
        (
            Subject::Fetches { field: "f" },
            json!({"f": "https://docs.rs/serde"}),
            &["WebFetch(domain:docs.rs)"],
        ),
        (Subject::Fetches { field: "f" }, json!({"f": "https://docs.rs@evil.org"}), &[]),
        (Subject::Whole, json!({"f": "x"}), &[]),
    ];
    for (subject, input, expected) in cases {
        let call = Call { tool: "T", input: &input, meaning: Meaning { subject, harmless: &[] } };
        let expected: Vec<Vec<String>> = expected.iter().map(|rule| vec![format!("allow {rule}")]).collect();
        let found = offered_for(&call, &rules(""), Trust::Trusted);
        assert_eq!(found, expected, "{input}");
        for texts in found {
            assert_eq!(
                decided(&call, &rules(&texts.join("\n")), Trust::Trusted).effect,
                Effect::Allow,
                "{texts:?}"
            );
        }
    }
}

/// What was saved is read back, is needed line by line, and allows the call.
fn check_offers(line: &str, base: &str) -> Result<(), TestCaseError> {
    for texts in offered(line, &rules(base)) {
        let saved =
            |texts: &[String]| shell(line, &rules(&format!("{base}\n{}", texts.join("\n"))), Trust::Trusted);
        prop_assert_eq!(saved(&texts).effect, Effect::Allow, "{} {:?}", line, texts);
        for left_out in 0..texts.len() {
            let mut fewer = texts.clone();
            fewer.remove(left_out);
            prop_assert_eq!(saved(&fewer).effect, Effect::Ask, "{} {:?}", line, fewer);
        }
        let parsed: Vec<_> = texts.iter().map(|text| parse(text).expect(text)).collect();
        let exact =
            |target: &Target| matches!(target, Target::Command(command) if command.rest == Rest::Nothing);
        // After `#` one more word is none, and another rule may take it.
        if parsed.iter().all(|rule| exact(&rule.target)) && !line.contains('#') && base.is_empty() {
            let more = format!("{line} more");
            prop_assert_eq!(
                shell(&more, &rules(&format!("{base}\n{}", texts.join("\n"))), Trust::Trusted).effect,
                Effect::Ask,
                "{} {:?}",
                more,
                texts
            );
        }
    }
    Ok(())
}

#[test]
fn offers_for_every_line_of_the_corpora_hold() {
    let mut some = 0;
    for (_, line, _) in corpus(HONEST).chain(corpus(HOSTILE)) {
        some += offered(&line, &rules("")).len();
        check_offers(&line, "").unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    assert!(some > 100, "{some}");
}

/// Offers for honest lines, saved all together, with nothing else and with the example rules.
#[test]
fn no_offer_for_an_honest_line_allows_a_hostile_one() {
    let mut all: Vec<String> = Vec::new();
    for (_, line, _) in corpus(HONEST) {
        all.extend(offered(&line, &rules("")).into_iter().flatten());
    }
    all.sort_unstable();
    all.dedup();
    let all = rules(&format!("{EXAMPLE}\n{}", all.join("\n")));
    let allowed: Vec<String> = corpus(HOSTILE)
        .map(|(_, line, _)| line)
        .filter(|line| shell(line, &all, Trust::Trusted).effect == Effect::Allow)
        .collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
}

proptest! {
    #[test]
    fn what_is_offered_allows_the_call_and_no_longer_one(
        words in proptest::collection::vec("[a-z./*? '\"()#:=-]{1,6}", 0..4),
        head in prop::sample::select(vec!["cargo test", "git log", "git", "ls", "x", "npm run", "make", "./a", "python3", "echo"]),
        join in prop::sample::select(vec![" && ls", " | head -5", "", "; x y"]),
    ) {
        let line = format!("{head} {}{join}", words.join(" "));
        check_offers(&line, "allow Bash(head:*)")?;
        let quoted: Vec<String> = words.iter().map(|word| holdstead_core::policy::shell::quote(word)).collect();
        check_offers(&format!("{head} {}{join}", quoted.join(" ")), "")?;
    }
}
