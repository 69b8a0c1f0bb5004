use holdstead_protocol::{PermissionMode, VariableValue};
use proptest::prelude::*;

use super::*;

fn command(words: &[&str], rest: Rest) -> Target {
    Target::Command(CommandPattern { words: words.iter().map(|word| (*word).to_owned()).collect(), rest })
}

fn tool(name: &str) -> Target {
    Target::Tool(name.to_owned())
}

#[test]
fn rules_are_read() {
    let cases = [
        ("allow Bash(git status:*)", Effect::Allow, command(&["git", "status"], Rest::Anything)),
        ("allow  Bash(git status *)", Effect::Allow, command(&["git", "status"], Rest::Anything)),
        ("allow Bash(pwd)", Effect::Allow, command(&["pwd"], Rest::Nothing)),
        ("allow Bash([:*)", Effect::Allow, command(&["["], Rest::Anything)),
        (
            "allow Bash(echo 'a)b' \"c)d\" e\\)f)",
            Effect::Allow,
            command(&["echo", "a)b", "c)d", "e)f"], Rest::Nothing),
        ),
        (
            "allow Bash(npm run test:unit:*)",
            Effect::Allow,
            command(&["npm", "run", "test:unit"], Rest::Anything),
        ),
        (
            "allow Bash(bash scripts/check.sh:*)",
            Effect::Allow,
            command(&["bash", "scripts/check.sh"], Rest::Anything),
        ),
        (
            "allow Bash(python3 -m pytest:*)",
            Effect::Allow,
            command(&["python3", "-m", "pytest"], Rest::Anything),
        ),
        ("allow Bash(rm build.log)", Effect::Allow, command(&["rm", "build.log"], Rest::Nothing)),
        ("deny Bash(rm -rf ~:*)", Effect::Deny, command(&["rm", "-rf", "~"], Rest::Anything)),
        ("deny Bash(eval:*)", Effect::Deny, command(&["eval"], Rest::Anything)),
        ("ask Bash", Effect::Ask, tool("Bash")),
        ("deny Bash(*)", Effect::Deny, tool("Bash")),
        ("deny *", Effect::Deny, Target::Everything),
        ("deny Stop # Run the tests first", Effect::Deny, Target::Stop),
        ("allow Read", Effect::Allow, tool("Read")),
        ("allow mcp__github__get_issue", Effect::Allow, tool("mcp__github__get_issue")),
        ("allow mcp__github__*", Effect::Allow, Target::Server("github".into())),
        (
            "allow WebFetch(domain:Docs.rs)",
            Effect::Allow,
            Target::Domain { host: "docs.rs".into(), depth: Domains::One },
        ),
        (
            "deny WebFetch(domain:*.evil.org)",
            Effect::Deny,
            Target::Domain { host: "evil.org".into(), depth: Domains::Below },
        ),
    ];
    for (line, effect, target) in cases {
        let rule = parse(line).unwrap_or_else(|wrong| panic!("{line}: {wrong}"));
        assert_eq!((rule.effect, &rule.target), (effect, &target), "{line}");
        assert_eq!(rule.text, line, "{line}");
    }
    let path = parse("ask Edit(app/(shop)/**)").expect("a rule").target;
    assert!(
        matches!(path, Target::Path { tool, glob } if tool == "Edit" && glob.fits("app/(shop)/a", crate::policy::glob::Case::Exact))
    );
}

#[test]
fn words_and_conditions_follow() {
    let rule = parse("deny Bash(rm -rf:*) # Use git clean -n first # really").expect("a rule");
    assert_eq!(rule.words.as_deref(), Some("Use git clean -n first # really"));
    let line = "ask Bash(git push:*) when agent claude-code and mode not plan and depth >= 1 and folder '~/two words/**' # Mind";
    let rule = parse(line).expect("a rule");
    assert_eq!(rule.words.as_deref(), Some("Mind"));
    let [agent, mode, depth, folder] = rule.when.as_slice() else { panic!("{rule:?}") };
    assert_eq!(agent, &Condition::Agent { is: Is::This, name: "claude-code".into() });
    assert_eq!(mode, &Condition::Mode { is: Is::Other, mode: PermissionMode::Plan });
    assert_eq!(depth, &Condition::Depth { comparison: Comparison::AtLeast, depth: 1 });
    assert!(matches!(folder, Condition::Folder { is: Is::This, .. }));
    assert!(parse("allow Read when depth 0").expect("a rule").words.is_none());
}

#[test]
fn wrong_rules_name_the_column_and_help() {
    let cases = [
        ("alow Bash(ls)", 1, "did you mean `allow`?"),
        ("Bash(ls)", 1, "a rule is"),
        ("allow", 6, "Bash(git status:*)"),
        ("allow bash(ls)", 7, "did you mean `Bash`?"),
        ("allow WebSearch(x)", 7, "write `WebSearch` alone"),
        ("allow Bash(git status:*", 24, "close the pattern"),
        ("allow Bash(git status && ls)", 26, "write one rule for each"),
        ("deny Bash(a; b)", 14, "write one rule for each"),
        ("allow Bash(git log $x)", 20, "a rule names one program"),
        ("allow Bash(git lo* x)", 16, "`:*` at the end"),
        ("allow Bash(git log > x)", 12, "redirections are judged"),
        ("allow Bash", 7, "name the commands"),
        ("allow Bash(*)", 12, "name the program"),
        ("allow Bash(:*)", 12, "name the program"),
        ("allow *", 7, "name the tool"),
        ("allow Bash(git:*)", 12, "add the subcommand"),
        ("allow Bash(git -c x=y:*)", 12, "add the subcommand"),
        ("allow Bash(cargo +nightly:*)", 12, "add the subcommand"),
        ("allow Bash(env:*)", 12, "allow the command itself"),
        ("allow Bash(env git status)", 12, "allow the command itself"),
        ("allow Bash(/usr/bin/env:*)", 12, "allow the command itself"),
        ("allow Bash(xargs rm:*)", 12, "allow the command itself"),
        ("allow Bash(sudo ls)", 12, "allow the command itself"),
        ("allow Bash(python:*)", 12, "name the script"),
        ("allow Bash(python3.12:*)", 12, "name the script"),
        ("allow Bash(python3 -c 'x')", 12, "put it into a script"),
        ("allow Bash(node:*)", 12, "name the script"),
        ("allow Bash(bash -c 'x')", 12, "name the script"),
        ("allow Bash(sh:*)", 12, "name the script"),
        ("allow Bash(eval x)", 12, "no rule can allow it"),
        ("allow Bash(source x)", 12, "no rule can allow it"),
        ("allow Bash(export A=b)", 12, "no rule can allow it"),
        ("allow Bash(rm:*)", 12, "without `:*`"),
        ("allow Bash(rm -rf build:*)", 12, "without `:*`"),
        ("allow Bash(curl:*)", 12, "without `:*`"),
        ("allow Bash(docker:*)", 12, "add the subcommand"),
        ("allow Bash(git bisect:*)", 12, "name the whole command"),
        ("allow Bash(docker run:*)", 12, "`docker compose logs:*`"),
        ("allow Edit(../x)", 12, "patterns begin at the folder"),
        ("allow Edit(src/[ab])", 16, "one rule for each"),
        ("allow Edit(/etc/x)", 12, "always asked"),
        ("allow Read(~/.ssh/x)", 12, "always asked"),
        ("allow WebFetch(example.org)", 16, "domain:example.org"),
        ("allow WebFetch(domain:https://x)", 23, "domain:example.org"),
        ("allow WebFetch(domain:*.org.)", 23, "domain:example.org"),
        ("allow mcp__*", 7, "mcp__server__*"),
        ("allow mcp____*", 12, "mcp__server__*"),
        ("allow Edit(a)x", 14, "a blank"),
        ("allow Edit(a) if mode plan", 15, "begin with `when`"),
        ("allow Edit(a) when moon full", 20, "agent NAME"),
        ("allow Edit(a) when mode full", 25, "acceptEdits"),
        ("allow Edit(a) when mode", 24, "agent NAME"),
        ("allow Edit(a) when depth x", 26, "depth >= 1"),
        ("allow Edit(a) when depth >= x", 26, "depth >= 1"),
        ("allow Edit(a) when mode plan or depth 1", 30, "joined by `and`"),
        ("allow Edit(a) when folder code", 27, "folder ~/code/shop"),
        ("allow Edit(a) when $ x", 21, "$phase release"),
        ("allow Edit(a) when $Phase x", 21, "$phase release"),
        ("allow Edit(a) when $count>=2", 21, "$stop_attempts >= 1"),
        ("allow Edit(a) when $count >= two", 30, "$stop_attempts >= 1"),
        ("allow Edit(a) when $count > 2", 27, "$stop_attempts >= 1"),
        ("allow Edit(a) when $phase", 26, "$phase release"),
        ("allow Edit(a) when $claimed and $phase x", 29, "$task_claimed true"),
        ("allow Edit(a) when $phase two words", 31, "joined by `and`"),
        ("allow Stop", 7, "deny Stop"),
        ("ask Stop", 5, "deny Stop"),
        ("deny Stop(now)", 6, "write `Stop` alone"),
        ("allow Edit(a\u{202e})", 13, "write it without"),
    ];
    for (line, column, hint) in cases {
        let wrong = parse(line).expect_err(line);
        assert_eq!((wrong.line, wrong.column), (1, column), "{line}: {wrong}");
        assert!(wrong.hint.contains(hint) && !wrong.what.is_empty(), "{line}: {wrong}");
    }
}

#[test]
fn a_file_has_comments_and_examples_and_tells_all_its_mistakes() {
    let file = RuleFile::parse(
        "# mine\n\nallow Bash(ls:*)\n  yes ls -la\n\tno   ls; rm x\n\ndeny Bash(rm:*) # No\n",
    )
    .expect("a file");
    let [ls, rm] = file.rules.as_slice() else { panic!("{file:?}") };
    assert_eq!((ls.line, rm.line), (3, 7));
    assert_eq!(ls.examples[0], Example { expect: Expect::Yes, text: "ls -la".into(), line: 4, column: 7 });
    assert_eq!(ls.examples[1], Example { expect: Expect::No, text: "ls; rm x".into(), line: 5, column: 7 });
    let wrong =
        RuleFile::parse("  yes x\nalow x\n  yes y\n  maybe z\nallow Read\n  yes\n").expect_err("mistakes");
    assert_eq!(
        wrong.iter().map(|wrong| (wrong.line, wrong.column)).collect::<Vec<_>>(),
        [(1, 1), (2, 1), (4, 3), (6, 6)]
    );
    assert!(RuleFile::parse(&"#".repeat(2 << 20)).is_err());
}

#[test]
fn a_file_says_what_holds_from_the_start() {
    let file = RuleFile::parse(
        "default $require_task true\ndefault $phase 'two words' # why\ndefault $version 007\ncontext # Speak French\ncontext when agent claude-code and $phase 3 # Be # brief\n",
    )
    .expect("a file");
    let values: Vec<_> = file.defaults.iter().map(|one| (one.name.as_str(), one.value.clone())).collect();
    assert_eq!(
        values,
        [
            ("require_task", VariableValue::Flag(true)),
            ("phase", VariableValue::Text("two words".into())),
            ("version", VariableValue::Text("007".into()))
        ]
    );
    let words: Vec<_> =
        file.contexts.iter().map(|one| (one.line, one.when.len(), one.words.as_str())).collect();
    assert_eq!(words, [(4, 0, "Speak French"), (5, 2, "Be # brief")]);
    for (line, column, hint) in [
        ("default", 8, "default $require_task true"),
        ("default require_task true", 9, "default $require_task true"),
        ("default $require_task", 22, "default $require_task true"),
        ("default $phase two words", 20, "in quotes"),
        ("default $stop_attempts 3", 10, "default $require_task true"),
        ("context", 8, "context # "),
        ("context Speak French", 9, "begin with `when`"),
        ("context when moon full # x", 14, "agent NAME"),
        ("default $a 1\u{202e}", 13, "write it without"),
    ] {
        let wrong = RuleFile::parse(line).expect_err(line);
        assert_eq!((wrong.len(), wrong[0].column), (1, column), "{line}: {wrong:?}");
        assert!(wrong[0].hint.contains(hint), "{line}: {wrong:?}");
    }
    let wrong = RuleFile::parse("allow Read\ndefault $a 1\n  yes x\ndefault $a 2").expect_err("mistakes");
    assert_eq!(wrong.iter().map(|wrong| wrong.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn examples_are_checked_when_a_file_is_read() {
    let right = "allow Bash(git log:*) when mode plan
  yes git log --oneline
  no git log --output=x
  no git log && rm x
allow Edit(src/**)
  yes src/a.rs
  no src/../b.rs
deny Bash(rm -rf:*)
  yes rm -fr x
  no rm x
ask WebFetch(domain:docs.rs)
  yes https://docs.rs/a
  no https://evil.org/docs.rs
allow mcp__github__*
  yes mcp__github__get
  no mcp__github__a__b
";
    RuleFile::parse(right).expect("all examples hold");
    let wrong =
        RuleFile::parse("allow Bash(ls:*)\n  yes ls; rm x\n  no  ls -la\n  yes ls").expect_err("examples");
    assert_eq!(wrong.iter().map(|wrong| (wrong.line, wrong.column)).collect::<Vec<_>>(), [(2, 7), (3, 7)]);
    assert_eq!(wrong[0].to_string(), "line 2, column 7: the rule does not allow this (no rule allows `rm`)");
}

#[test]
fn whoever_saves_a_rule_is_told_what_it_covers() {
    let told = |line| remark(&parse(line).expect(line));
    assert!(
        told("allow Bash(terraform plan:*)")
            .is_some_and(|words| words.contains("nothing is known of `terraform`"))
    );
    assert!(told("allow Bash(./check.sh:*)").is_some());
    for line in [
        "allow Bash(terraform plan)",
        "allow Bash(git log:*)",
        "allow Bash(npm run build:*)",
        "deny Bash(terraform:*)",
        "allow Read",
    ] {
        assert_eq!(told(line), None, "{line}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_rule_or_a_mistake(text in prop_oneof![any::<String>(), "(allow|ask|deny) (Bash|Edit|mcp__x|WebFetch)[a-z():*'\"\\\\# /.~]{0,30}( when (agent|mode|depth|folder|[$][a-z]) (not |>= )?[a-z0-9/~']{0,5})?"]) {
        match parse(&text) {
            Ok(rule) => prop_assert_eq!(parse(&rule.text).expect("again"), rule),
            Err(wrong) => prop_assert!(wrong.column >= 1 && wrong.column <= text.chars().count() + 1, "{}", wrong),
        }
        let _ = RuleFile::parse(&text);
    }
}
