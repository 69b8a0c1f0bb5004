//! The table in `docs/guides/rules.md` is what the rules do: `just rules-guide` writes it, and a test compares.

use std::fmt::Write as _;

use holdstead_core::policy::rule::{Effect, Target, parse};
use holdstead_core::policy::{Call, Meaning, Subject, Trust};
use serde_json::json;

use super::{decided, rules, shell};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/rules.md");
const BEGIN: &str = "<!-- table: written by `just rules-guide` -->\n";
const END: &str = "<!-- end of the table -->";

/// Rules, and calls that are held against each of them alone.
const CASES: [(&str, &[&str]); 19] = [
    (
        "allow Bash(git status:*)",
        &[
            "git status",
            "git status --short",
            "git --no-pager status",
            "git status && rm x",
            "git status $(rm x)",
            "./git status",
            "git -c core.fsmonitor=x status",
        ],
    ),
    (
        "allow Bash(git log:*)",
        &["git log -5 src", "git log --output=x", "git log --outp=x", "PAGER=x git log"],
    ),
    ("allow Bash(git push:*)", &["git push origin main", "git push --force", "git push origin +main"]),
    ("allow Bash(git stash list)", &["git stash list", "git stash list -3"]),
    (
        "allow Bash(cargo test:*)",
        &[
            "cargo test -p auth 2>&1",
            "cargo test > test.log",
            "cargo test > src/lib.rs",
            "cargo test --config x",
        ],
    ),
    ("allow Bash(cargo test -p auth)", &["cargo test -p auth", "cargo test -p auth login", "cargo test"]),
    (
        "allow Bash(npm run build:*)",
        &["npm run build", "npm run build -- --watch", "npm run build -- '; rm x'", "npm run deploy"],
    ),
    ("allow Bash(make test:*)", &["make test", "make test -j4", "make test deploy", "make test SHELL=x"]),
    ("allow Bash(find:*)", &["find . -name '*.rs'", "find . -delete", "find . -exec rm {} +", "find /etc"]),
    ("allow Bash(sed:*)", &["sed -n 1,9p f", "sed -i s/a/b/ f", "sed 's/a/b/e' f", "sed 'w x' f"]),
    ("allow Bash(cat:*)", &["cat README.md", "cat src/*.rs", "cat *", "cat ../x", "cat ~/.ssh/id_rsa"]),
    ("allow Bash(bash scripts/check.sh)", &["bash scripts/check.sh", "bash scripts/other.sh", "bash -c ls"]),
    (
        "deny Bash(rm -rf:*) # Say what you want gone.",
        &[
            "rm -rf x",
            "rm -fr x",
            "rm x -r -f",
            "sudo rm -rf x",
            "ls; /bin/rm -rf x",
            "ls $(rm -rf x)",
            "rm x",
        ],
    ),
    ("ask Bash(git push:*)", &["git push", "git -C web push", "git pull"]),
    ("allow Edit(src/**)", &["src/a.rs", "src/a/b.rs", "notes/a.md", "src/../notes/a.md", "src/.git/config"]),
    ("allow Read(notes/*.md)", &["notes/a.md", "notes/a/b.md", "/etc/passwd"]),
    ("deny Read(.env)", &[".env", "app/.env", ".ENV", "env"]),
    (
        "allow WebFetch(domain:docs.rs)",
        &[
            "https://docs.rs/serde",
            "https://a.docs.rs",
            "https://docs.rs@evil.org",
            "https://docs.rs.evil.org",
        ],
    ),
    ("allow mcp__github__*", &["mcp__github__get_issue", "mcp__githubx__get", "mcp__github__x__get"]),
];

fn tried(rule: &str, call: &str) -> (Effect, Option<String>) {
    let all = rules(rule);
    let verdict = match parse(rule).expect(rule).target {
        Target::Command(_) => shell(call, &all, Trust::Trusted),
        Target::Path { tool, .. } => {
            let subject =
                if tool == "Edit" { Subject::Edits { field: "x" } } else { Subject::Reads { field: "x" } };
            decided(
                &Call {
                    tool: &tool,
                    input: &json!({"x": call}),
                    meaning: Meaning { subject, harmless: &[] },
                },
                &all,
                Trust::Trusted,
            )
        }
        Target::Domain { .. } => {
            let meaning = Meaning { subject: Subject::Fetches { field: "x" }, harmless: &[] };
            decided(&Call { tool: "WebFetch", input: &json!({"x": call}), meaning }, &all, Trust::Trusted)
        }
        Target::Tool(_) | Target::Server(_) | Target::Everything | Target::Stop => {
            let meaning = Meaning { subject: Subject::Whole, harmless: &[] };
            decided(&Call { tool: call, input: &json!({}), meaning }, &all, Trust::Trusted)
        }
    };
    let by_rule = verdict.parts.iter().any(|part| part.effect == verdict.effect && part.by.is_some());
    (verdict.effect, verdict.reason.filter(|_| !by_rule))
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn table() -> String {
    let mut table = String::from("| Rule | Decides | Does not, so it asks |\n| --- | --- | --- |\n");
    for (rule, calls) in CASES {
        let effect = parse(rule).expect(rule).effect;
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        for call in calls {
            match tried(rule, call) {
                (got, None) if got == effect => yes.push(code(call)),
                (Effect::Ask, why) => {
                    let why = why.map_or_else(String::new, |why| format!(": {}", why.replace('|', "\\|")));
                    no.push(format!("{}{why}", code(call)));
                }
                (got, _) => panic!("{rule} and {call}: {got}"),
            }
        }
        writeln!(table, "| {} | {} | {} |", code(rule), yes.join("<br>"), no.join("<br>")).expect("text");
    }
    table
}

#[test]
fn the_guides_table_is_what_the_rules_do() {
    let guide = std::fs::read_to_string(GUIDE).expect("the guide");
    let (before, rest) = guide.split_once(BEGIN).expect("where the table begins");
    let (written, after) = rest.split_once(END).expect("where the table ends");
    let table = table();
    if std::env::var_os("WRITE_RULES_GUIDE").is_some() {
        std::fs::write(GUIDE, format!("{before}{BEGIN}{table}{END}{after}")).expect("the guide is written");
        return;
    }
    assert_eq!(written, table, "run `just rules-guide`");
}
