//! Lines that we allow, as odd as they can be.

use std::collections::BTreeSet;

use holdstead_core::policy::Rules;
use holdstead_core::policy::shell::Shell;

use crate::dice::Dice;
use crate::policy_lines::Asked;

const STARTS: [&str; 22] = [
    "git status",
    "git log",
    "git diff",
    "git grep a",
    "git commit -m",
    "ls",
    "cat",
    "echo",
    "printf",
    "grep a",
    "rg a",
    "wc -l",
    "head",
    "sort",
    "cut -f1",
    "tr a",
    "true",
    "test",
    "[",
    "cd",
    "cargo test",
    "jq .",
];
const WORDS: [&str; 84] = [
    "a",
    "b",
    "f",
    "x",
    "rm",
    "src/main.rs",
    "-la",
    "-n",
    "--stat",
    "HEAD~1",
    "stash@{0}",
    "HEAD^{commit}",
    "a.b",
    "a:b",
    "a,b",
    "a@b",
    "a%b",
    "a+b",
    "a^b",
    "2",
    "1",
    "./a",
    "--",
    "-",
    "-R",
    "=",
    "==",
    "!=",
    "!",
    "]",
    "-f",
    "-d",
    "a=b",
    "a#b",
    "'a b'",
    "\"a b\"",
    "''",
    "\"\"",
    "'$(rm x)'",
    "'`rm x`'",
    "\"\\$(rm x)\"",
    "\"\\`rm x\\`\"",
    "\"a\\\"b\"",
    "'a'\\''b'",
    "\"a'b\"",
    "'a\"b'",
    "\"a\\\\\"",
    "\"!a\"",
    "\"$ \"",
    "\"a\\\nb\"",
    "'a\\'",
    "'a\nb'",
    "\"a\nb\"",
    "'; rm x'",
    "\"; rm x\"",
    "'a'b\"c\"",
    "\"a\"'b'",
    "'a'\"'\"'b'",
    "a*",
    "src/*.rs",
    "src/?ain.rs",
    "./*",
    "\\*",
    "\\$x",
    "\\;",
    "\\&",
    "\\|",
    "\\#",
    "\\\\",
    "\\'",
    "\\\"",
    "\\ ",
    "a\\ b",
    "\\(",
    "\\)",
    "'*'",
    "\"~\"",
    "'~/a'",
    "a~b",
    "'\u{e9}'",
    "\"\u{4e2d}\"",
    "\"$(cat <<'EOF'\na $(rm x) `rm x`\nEOF\n)\"",
    "\"$(cat <<'E'\n'\nE\n)\"",
    "'#'",
];
const JOINS: [&str; 17] = [
    " && ",
    " || ",
    "; ",
    " | ",
    "\n",
    "\n\n",
    "&&",
    "||",
    ";",
    "|",
    " &&\n",
    " |\n",
    "\\\n&& ",
    " \\\n; ",
    " # a\n",
    "\n# a b\n",
    ";\n",
];
const REDIRECTS: [&str; 14] = [
    "2>&1",
    ">/dev/null",
    "2>/dev/null",
    ">&2",
    "1>&2",
    ">a.log",
    ">>a.log",
    "2>a.log",
    "&>a.log",
    "&>>a.log",
    "<f",
    "< src/main.rs",
    "> 'a b.log'",
    ">a.log 2>&1",
];
const BLANKS: [&str; 8] = [" ", " ", " ", " ", "  ", "\t", " \\\n", " \\\n  "];

/// So many different lines that rules allow in this shell.
pub(crate) fn lines(
    dice: &mut Dice,
    shell: Shell,
    honest: &[String],
    rules: &Rules,
    count: usize,
) -> Vec<String> {
    let is_allowed = |line: &str| Asked { line, shell }.is_allowed(rules);
    let mut found: BTreeSet<String> = honest.iter().filter(|line| is_allowed(line)).cloned().collect();
    // Far more than needed: about one of four is allowed.
    for _ in 0..count * 200 {
        if found.len() >= count {
            break;
        }
        let line = line(dice, honest);
        if is_allowed(&line) {
            found.insert(line);
        }
    }
    found.into_iter().collect()
}

fn line(dice: &mut Dice, honest: &[String]) -> String {
    let mut line = String::new();
    for part in 0..=dice.below(3) {
        if part > 0 {
            line += dice.pick::<&str>(&JOINS);
        }
        if dice.below(6) == 0 {
            line += dice.pick::<String>(honest);
            continue;
        }
        line += dice.pick::<&str>(&STARTS);
        for _ in 0..dice.below(4) {
            line += dice.pick::<&str>(&BLANKS);
            line += dice.pick::<&str>(&WORDS);
        }
        if dice.below(4) == 0 {
            line += dice.pick::<&str>(&BLANKS);
            line += dice.pick::<&str>(&REDIRECTS);
        }
    }
    line
}
