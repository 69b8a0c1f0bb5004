//! A deny covers all forms of what it speaks of. Everything here is decided in mode `auto`, where denies are all there is.

use holdstead_core::policy::{
    Call, Facts, Judgement, MayAllow, Meaning, Places, Standing, Trust, decide, judge,
};
use holdstead_protocol::{PermissionMode, Told};
use serde_json::{Value, json};

use super::{FOLDER, SHELL_LINE, facts, rules};

/// What becomes of a call in mode `auto`.
#[derive(Debug, PartialEq, Eq)]
enum Becomes {
    Denied,
    Asked,
    /// No rule speaks of it, so the mode allows it.
    Runs,
}
use Becomes::{Asked, Denied, Runs};

fn becomes(tool: &str, meaning: Meaning<'_>, input: &Value, text: &str) -> Becomes {
    let call = Call { tool, input, meaning };
    let all = rules(text);
    let none = Places::default();
    let facts = Facts { mode: PermissionMode::Auto, ..facts(&none, Trust::Trusted) };
    let unresolved = decide(&call, &all, &facts).unresolved;
    let places = Places::without_links(FOLDER, &unresolved);
    let verdict = decide(&call, &all, &Facts { places: &places, ..facts });
    let standing =
        Standing { may_allow: MayAllow::Rules, mode: PermissionMode::Auto, grant: None, may_have_run: false };
    match judge(&verdict, None, &standing) {
        Judgement::Ask(_) => Asked,
        Judgement::Decided(decision) => match decision.told {
            Told::Denied => Denied,
            Told::Allowed => Runs,
            Told::LeftToAgent => panic!("{input}"),
        },
    }
}

fn lines(text: &str, expected: &Becomes, lines: &[&str]) {
    let becomes = |line: &&&str| becomes("Bash", SHELL_LINE, &json!({ "command": **line }), text);
    let wrong: Vec<_> = lines.iter().filter(|line| becomes(line) != *expected).collect();
    assert!(wrong.is_empty(), "not {expected:?} by {text}: {wrong:#?}");
}

#[test]
fn a_denied_command_in_every_spelling_of_its_options() {
    lines(
        "deny Bash(rm -rf:*)",
        &Denied,
        &[
            "rm -Rf x",
            "rm -fR x",
            "rm --recursive --force x",
            "rm --rec --f x",
            "rm -r --force x",
            "rm -f --recursive x",
            "rm x -f -v -R",
            "rm -rf -- x",
            "RM -rf x",
            "sudo rm -Rf x",
            "echo $?; rm --force -R x",
        ],
    );
    lines("deny Bash(rm --recursive:*)", &Denied, &["rm -r x", "rm -vR x"]);
    lines("deny Bash(rm -rf x)", &Denied, &["rm -rf x", "rm -f -r x", "rm --recursive -f -- x"]);
    lines("deny Bash(rm -rf x)", &Runs, &["rm -rf x y", "rm -rfv x", "rm -r x"]);
    lines("deny Bash(rm -rf:*)", &Runs, &["rm -r x", "rm -f x", "rm x", "ls -Rf", "echo rm -rf"]);
    lines("deny Bash(ls -r:*)", &Runs, &["ls -R x"]);
    lines("deny Bash(cp -r:*)", &Denied, &["cp -R a b", "cp --recursive a b", "cp -a a b"]);
    lines("deny Bash(chmod -R:*)", &Denied, &["chmod --recursive 777 x"]);
    lines(
        "deny Bash(curl -X DELETE:*)",
        &Denied,
        &["curl -XDELETE x", "curl --request DELETE x", "curl --request=DELETE x", "curl -s -X DELETE x"],
    );
    lines("deny Bash(terraform apply -auto-approve:*)", &Denied, &["terraform apply --auto-approve"]);
}

#[test]
fn a_denied_subcommand_behind_any_options() {
    lines(
        "deny Bash(git push:*)",
        &Denied,
        &[
            "git -C . -c a=b push",
            "git --git-dir=.git push",
            "git --git-dir .git --work-tree . push",
            "git -c a=b -C . --no-pager push origin",
            "git --config-env a.b=C push",
            "/usr/bin/git -P push; echo $?",
        ],
    );
    lines("deny Bash(git push)", &Denied, &["git push", "git -C . push", "git --no-pager push"]);
    lines("deny Bash(git push)", &Runs, &["git push origin", "git push -n"]);
    lines("deny Bash(git push:*)", &Runs, &["git commit -m push", "git log push"]);
    lines(
        "deny Bash(git push --force:*)",
        &Denied,
        &[
            "git push -f",
            "git push origin +main",
            "git push -uf origin main",
            "git -C . push origin +main:main",
        ],
    );
    lines(
        "deny Bash(git push --force:*)",
        &Runs,
        &["git push origin main", "git push --force-with-lease", "git push -u origin main"],
    );
    lines("deny Bash(git push --delete:*)", &Denied, &["git push -d origin a", "git push origin :a"]);
    lines("deny Bash(git branch -D:*)", &Denied, &["git branch -d -f a", "git branch --delete --force a"]);
    lines("deny Bash(git commit --no-verify:*)", &Denied, &["git commit -n -m x", "git commit -anm x"]);
    lines("deny Bash(git reset --hard:*)", &Denied, &["git reset HEAD~1 --hard", "git reset --har"]);
}

#[test]
fn a_denied_command_in_every_quoting() {
    lines(
        "deny Bash(rm -rf:*)",
        &Denied,
        &[
            "$'rm' -rf x",
            "$'\\x72m' -rf x",
            "$'r\\155' $'-rf' x",
            "$\"rm\" -rf x",
            "\\r\\m -rf x",
            "r'm' -rf x",
            "r\"\"m -r''f x",
            "'r'\"m\" -\\rf x",
            "r\\\nm -rf x",
            "bash -c \"\\$'rm' -rf x\"",
        ],
    );
    lines("deny Bash(rm -rf:*)", &Runs, &["echo $'rm -rf x'", "echo '$' rm -rf x"]);
}
