//! What only the machine knows: which program a name stands for, and which files lie below a folder.

use holdstead_core::policy::programs::{Installed, KeptBy};
use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::{
    Call, Found, Lookup, NameBelow, Places, Presence, Requirement, Rules, Tool, Trust, Verdict, decide,
};
use serde_json::json;

use super::{FOLDER, SHELL_LINE, facts, rules};

/// Decides where all programs are this one, and no name that a rule speaks of lies below a folder.
fn decided(line: &str, rules: &Rules, trust: Trust, installed: &Installed) -> (Vec<Lookup>, Verdict) {
    let input = json!({ "command": line });
    let call = Call { tool: "Bash", input: &input, meaning: SHELL_LINE };
    let lookups = decide(&call, rules, &facts(&Places::default(), trust)).unresolved;
    let mut places = Places::without_links(FOLDER, &lookups);
    for lookup in &lookups {
        match lookup {
            Lookup::Path(_) => {}
            Lookup::Program(_) => places.insert(lookup.clone(), Found::Program(installed.clone())),
            Lookup::Below(_) => places.insert(lookup.clone(), Found::Below(Presence::Absent)),
        }
    }
    let asked = lookups.into_iter().filter(|lookup| !matches!(lookup, Lookup::Path(_))).collect();
    (asked, decide(&call, rules, &facts(&places, trust)))
}

fn known(implementation: &str, version: &str, kept_by: KeptBy) -> Installed {
    Installed::Known { implementation: implementation.to_owned(), version: version.to_owned(), kept_by }
}

#[test]
fn an_option_counts_for_the_programs_that_the_tables_were_verified_with() {
    let rules = rules("allow Bash(grep:*)\nallow Bash(ls:*)\nallow Bash(cat -n:*)\nallow Bash(head -n:*)");
    let (administrator, user) = (KeptBy::Administrator, KeptBy::User);
    for (line, trust, installed, effect) in [
        ("grep -n x a", Trust::Untrusted, known("grep", "3.8", administrator), Effect::Allow),
        ("grep -n x a", Trust::Untrusted, known("grep", "3.1", administrator), Effect::Ask),
        ("grep -n x a", Trust::Untrusted, known("busybox", "1.36", administrator), Effect::Ask),
        ("grep -n x a", Trust::Untrusted, known("grep", "3.8", user), Effect::Ask),
        ("grep -n x a", Trust::Trusted, known("grep", "3.8", user), Effect::Allow),
        ("grep -n x a", Trust::Trusted, Installed::Unknown, Effect::Ask),
        ("grep -n x a", Trust::Untrusted, Installed::Missing, Effect::Allow),
        // Without an option, and where the rule names it, it does not matter.
        ("grep x a", Trust::Untrusted, Installed::Unknown, Effect::Allow),
        ("cat -n a", Trust::Untrusted, Installed::Unknown, Effect::Allow),
        ("cat -n -s a", Trust::Untrusted, Installed::Unknown, Effect::Ask),
        // What the option takes does matter.
        ("head -n 5 a", Trust::Untrusted, Installed::Unknown, Effect::Ask),
        // On macOS and the BSDs.
        ("ls -la", Trust::Untrusted, Installed::Bsd, Effect::Allow),
        ("grep -rn x a", Trust::Untrusted, Installed::Bsd, Effect::Allow),
        ("ls --all", Trust::Untrusted, Installed::Bsd, Effect::Ask),
        ("grep -C 5 x a", Trust::Untrusted, Installed::Bsd, Effect::Ask),
    ] {
        let (_, verdict) = decided(line, &rules, trust, &installed);
        assert_eq!(verdict.effect, effect, "{line} {installed:?}: {:?}", verdict.reason);
    }
    let (_, verdict) = decided("grep -n x a", &rules, Trust::Untrusted, &known("grep", "3.8", user));
    assert!(verdict.requirements.contains(&Requirement::FolderTrust));
}

#[test]
fn the_program_whose_options_they_are_is_looked_up() {
    let rules = rules(
        "allow Bash(grep:*)\nallow Bash(ls:*)\nallow Bash(./grep:*)\nallow Bash(python -m pytest:*)\n\
         allow Bash(npx eslint:*)\nallow Bash(cargo nextest run:*)\nallow Bash(cd:*)\nallow Bash(pwd:*)",
    );
    let program = |name: &str| Tool::Program(name.to_owned());
    for (line, tools) in [
        ("grep x a", vec![]),
        ("pwd -P", vec![]),
        ("grep -n x a && ls -l", vec![program("grep"), program("ls")]),
        ("./grep -n x a", vec![program("/project/./grep")]),
        (
            "python -m pytest -q",
            vec![Tool::Module { python: "python".to_owned(), name: "pytest".to_owned() }],
        ),
        (
            "cd web && npx eslint --quiet src",
            vec![Tool::Package { name: "eslint".to_owned(), folder: "/project/web".to_owned() }],
        ),
        ("cargo nextest run --release", vec![program("cargo-nextest")]),
    ] {
        let (asked, _) = decided(line, &rules, Trust::Trusted, &Installed::Missing);
        let tools: Vec<_> = tools.into_iter().map(Lookup::Program).collect();
        assert_eq!(asked, tools, "{line}");
    }
}

#[test]
fn a_search_asks_only_if_what_is_denied_may_lie_below() {
    let rules =
        rules("allow Bash(grep:*)\nallow Bash(cd:*)\ndeny Read(.env)\ndeny Read(keys/**)\ndeny Read(*.pem)");
    for (line, effect) in [
        ("grep -r x src", Effect::Allow),
        ("cd src && grep -r x .", Effect::Allow),
        // A pattern names no folder that could be looked into, and an earlier command may change what is there.
        ("grep -r x s*", Effect::Ask),
        ("grep x a && grep -r x src", Effect::Ask),
        // `.env` itself could be made at any time.
        ("grep -r x .", Effect::Ask),
        ("grep -r x --include='*.rs' .", Effect::Allow),
    ] {
        let (_, verdict) = decided(line, &rules, Trust::Trusted, &Installed::Missing);
        assert_eq!(verdict.effect, effect, "{line}: {:?}", verdict.reason);
    }
    let (asked, _) = decided("grep -r x src", &rules, Trust::Trusted, &Installed::Missing);
    let below = |name: &str| NameBelow { folder: "/project/src".to_owned(), name: name.to_owned() };
    assert!(asked.contains(&Lookup::Below(below(".env"))) && asked.contains(&Lookup::Below(below("*.pem"))));
    // In `keys` there is no need to look.
    let (_, verdict) = decided("cd keys/a && grep -r x .", &rules, Trust::Trusted, &Installed::Missing);
    assert_ne!(verdict.effect, Effect::Allow);
}
