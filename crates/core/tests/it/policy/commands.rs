//! Shell lines, command by command.

use holdstead_core::policy::rule::{Effect, Layer, RuleFile};
use holdstead_core::policy::{Requirement, Rules, Source, Trust};

use super::{effect, rules, shell};

#[test]
fn every_command_must_be_allowed_by_itself() {
    let both = "allow Bash(git status:*)\nallow Bash(ls:*)";
    assert_eq!(effect("git status && ls | ls; ls", both), Effect::Allow);
    let verdict = shell("git status && rm x | ls", &rules(both), Trust::Trusted);
    assert_eq!(verdict.effect, Effect::Ask);
    assert_eq!(
        verdict.parts.iter().map(|part| part.effect).collect::<Vec<_>>(),
        [Effect::Allow, Effect::Ask, Effect::Allow]
    );
    let spans: Vec<_> = verdict.parts.iter().map(|part| part.span.clone()).collect();
    assert_eq!(spans, [0..10, 14..18, 21..23]);
    let by = verdict.parts[2].by.as_ref().expect("a rule");
    assert_eq!((by.layer, by.line, by.text.as_str()), (Layer::Person, 2, "allow Bash(ls:*)"));
    assert_eq!(verdict.reason.as_deref(), Some("no rule allows `rm`"));
}

#[test]
fn deny_over_ask_over_allow_whatever_the_order_and_the_layer() {
    let lines =
        ["allow Bash(ls:*)", "ask Bash(ls -a:*)", "deny Bash(ls -a /:*) # Not there", "allow Bash(ls)"];
    let sources = [Source::BuiltIn, Source::Organisation, Source::Person, Source::Session];
    for shift in 0..4 {
        for turned in 0..4 {
            let mut rules = Rules::default();
            for (index, line) in lines.iter().enumerate() {
                let file = RuleFile::parse(lines[(index + shift) % 4]).expect(line);
                rules.add(sources[(index + turned) % 4], file);
            }
            assert_eq!(shell("ls src", &rules, Trust::Trusted).effect, Effect::Allow);
            assert_eq!(shell("ls -a", &rules, Trust::Trusted).effect, Effect::Ask);
            let denied = shell("ls -a /", &rules, Trust::Trusted);
            assert_eq!((denied.effect, denied.reason.as_deref()), (Effect::Deny, Some("Not there")));
        }
    }
    assert_eq!(effect("ls", ""), Effect::Ask);
}

#[test]
fn what_the_repository_runs_needs_its_trust() {
    for (line, text) in [
        ("git status", "allow Bash(git status:*)"),
        ("cargo test", "allow Bash(cargo test:*)"),
        ("./check.sh", "allow Bash(./check.sh:*)"),
        ("bash check.sh", "allow Bash(bash check.sh)"),
        ("terraform plan", "allow Bash(terraform plan:*)"),
        ("grep -R a .", "allow Bash(grep:*)"),
    ] {
        let rules = rules(text);
        let trusted = shell(line, &rules, Trust::Trusted);
        assert_eq!(trusted.effect, Effect::Allow, "{line}: {:?}", trusted.reason);
        assert!(trusted.requirements.contains(&Requirement::FolderTrust), "{line}");
        let untrusted = shell(line, &rules, Trust::Untrusted);
        assert_eq!(untrusted.effect, Effect::Ask, "{line}");
        assert!(untrusted.requirements.contains(&Requirement::FolderTrust), "{line}");
        assert!(untrusted.reason.expect("why").contains("trusts"), "{line}");
    }
    let verdict = shell("ls && cat a", &rules("allow Bash(ls:*)\nallow Bash(cat:*)"), Trust::Untrusted);
    assert!(verdict.effect == Effect::Allow && verdict.requirements.is_empty());
}

#[test]
fn a_rule_names_options_that_no_table_knows() {
    let cases = [
        ("allow Bash(git log:*)", "git log --show-signature", Effect::Ask),
        ("allow Bash(git log --show-signature:*)", "git log --show-signature -5", Effect::Allow),
        ("allow Bash(git log --show-signature:*)", "git log --show-signature --output=x", Effect::Ask),
        ("allow Bash(sort -o out.txt in.txt)", "sort -o out.txt in.txt", Effect::Allow),
        ("allow Bash(sort -o:*)", "sort -o .git/config x", Effect::Ask),
        ("allow Bash(sort -o:*)", "sort -o x y", Effect::Allow),
        ("allow Bash(sed -i s/a/b/:*)", "sed -i s/a/b/ src/x.rs", Effect::Allow),
        ("allow Bash(sed -i s/a/b/:*)", "sed -i s/a/b/ ../x.rs", Effect::Ask),
        ("allow Bash(rm build.log)", "rm build.log", Effect::Allow),
        ("allow Bash(rm build.log)", "rm build.log x", Effect::Ask),
        ("allow Bash(make test:*)", "make test deploy", Effect::Ask),
        ("allow Bash(make test:*)", "make test -j8", Effect::Allow),
        ("allow Bash(git diff:*)", "git --no-pager -C src diff", Effect::Allow),
        ("allow Bash(git diff:*)", "git -c a=b diff", Effect::Ask),
        ("allow Bash(git diff:*)", "/usr/bin/git diff", Effect::Ask),
        ("allow Bash(./x.sh:*)", "./x.sh a", Effect::Allow),
        ("allow Bash(./x.sh:*)", "cd src && ./x.sh a", Effect::Ask),
        ("allow Bash(cd:*)\nallow Bash(./x.sh:*)", "cd src && ./x.sh a", Effect::Ask),
        ("allow Bash(terraform plan:*)", "terraform plan -out=/etc/x", Effect::Ask),
        ("allow Bash(terraform plan:*)", "terraform plan -out=.git/x", Effect::Ask),
    ];
    for (text, line, expected) in cases {
        assert_eq!(effect(line, text), expected, "{text}: {line}");
    }
}

#[test]
fn writing_by_redirection_is_an_edit_unless_it_keeps_output() {
    let echo = "allow Bash(echo:*)";
    for (line, expected) in [
        ("echo a > out.log", Effect::Allow),
        ("echo a > target/report.json", Effect::Allow),
        ("echo a > target/x.json", Effect::Ask),
        ("echo a > src/main.rs", Effect::Ask),
        ("echo a >> package.json", Effect::Ask),
        ("echo a > .git/x.log", Effect::Ask),
        ("echo a > ../x.log", Effect::Ask),
    ] {
        assert_eq!(effect(line, echo), expected, "{line}");
    }
    let edits = "allow Bash(echo:*)\nallow Edit(src/**)";
    assert_eq!(effect("echo a > src/main.rs", edits), Effect::Allow);
    assert_eq!(effect("echo a > package.json", edits), Effect::Ask);
}

#[test]
fn rules_about_files_also_speak_of_commands() {
    let text = "allow Bash(cat:*)\nallow Bash(touch:*)\nallow Bash(echo:*)\nallow Bash(cd:*)\ndeny Read(.env) # Secrets\nask Read(docs/**)\ndeny Edit(gen/**)\ndeny Read(~/.ssh/**)";
    for (line, expected) in [
        ("cat src/a", Effect::Allow),
        ("cat .env", Effect::Deny),
        ("cat web/.ENV", Effect::Deny),
        ("cat src/../.env", Effect::Deny),
        ("cd web && cat .env", Effect::Deny),
        ("echo a && cat docs/x", Effect::Ask),
        ("cat < .env", Effect::Deny),
        ("touch gen/x", Effect::Deny),
        ("echo a > gen/x.log", Effect::Deny),
        ("cat gen/x", Effect::Allow),
        ("cat /people/u/.ssh/id", Effect::Deny),
        ("head .env", Effect::Deny),
    ] {
        assert_eq!(effect(line, text), expected, "{line}");
    }
}

#[test]
fn denials_see_through_wrappers_and_unclear_lines() {
    let text = "deny Bash(rm -rf:*) # Use git clean -n first\nask Bash(git push:*)\nallow Bash(ls:*)";
    for line in [
        "rm -rf x",
        "sudo rm -rf x",
        "ls && rm -fr x",
        "(rm -rf x)",
        "ls $(rm -rf x)",
        "x=1 rm -rf x",
        "bash -c 'rm -rf x'",
        "for f in *; do rm -rf $f; done",
        "find . -exec rm -rf {} +",
    ] {
        let verdict = shell(line, &rules(text), Trust::Trusted);
        assert_eq!(
            (verdict.effect, verdict.reason.as_deref()),
            (Effect::Deny, Some("Use git clean -n first")),
            "{line}"
        );
    }
    assert_eq!(effect("ls 'rm -rf x'", text), Effect::Allow);
}

/// Options that print are known; their neighbours that run or write are not.
#[test]
fn harmless_options_and_their_neighbours() {
    for (rule, allowed, asks) in [
        ("cargo fmt", "cargo fmt -- --check src/lib.rs", "cargo fmt -- --config=x=y src/lib.rs"),
        ("git log", "git log --show-pulls", "git log --show-pulls --textconv"),
        ("rg", "rg --debug a", "rg --debug --pre x a"),
        ("npx tsc", "npx tsc --noEmit --moduleResolution bundler a.ts", "npx tsc --moduleResolution /x"),
        ("pytest", "pytest -n 4 --dist loadfile", "pytest --dist loadfile --tx popen"),
        ("pytest", "pytest --log-cli-level=DEBUG", "pytest --log-file=x"),
        ("gh run list", "gh run list --created '>2024-01-01'", "gh run list --created x -w ci --web"),
        ("npm explain", "npm explain react --json", "npm explain react --userconfig=x"),
        ("go env", "go env GOPATH", "go env -w GOPATH=/x"),
        ("go env", "go env -json", "go env -u GOPATH"),
        ("go doc", "go doc -all strings.Builder", "go doc -http strings"),
    ] {
        let rule = format!("allow Bash({rule}:*)");
        assert_eq!(effect(allowed, &rule), Effect::Allow, "{allowed}");
        assert_eq!(effect(asks, &rule), Effect::Ask, "{asks}");
    }
}
