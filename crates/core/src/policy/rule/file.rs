//! A file of rules: one a line, comments, and examples that a rule carries on indented lines below it.
//!
//! ```text
//! deny Bash(rm -rf:*) # Use git clean -n first
//!   yes rm -rf build
//!   no  rm notes.txt
//! ```

use super::{Rule, examples, parse};

/// The most that one file may hold.
const MAX_BYTES: usize = 1024 * 1024;

/// A mistake, where it is, and what to write instead. Columns count characters, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what} ({hint})")]
pub struct Wrong {
    pub line: usize,
    pub column: usize,
    pub what: String,
    pub hint: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    pub rules: Vec<FileRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
    pub rule: Rule,
    /// From 1.
    pub line: usize,
    pub examples: Vec<Example>,
}

/// A call of the rule's tool: a shell line, a path, an address, or the tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub expect: Expect,
    pub text: String,
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The rule decides this call.
    Yes,
    /// It does not.
    No,
}

impl RuleFile {
    /// Reads a file. All its mistakes are told, and none of its rules count while there is one.
    pub fn parse(text: &str) -> Result<Self, Vec<Wrong>> {
        if text.len() > MAX_BYTES {
            let hint = "split it, or name programs instead of single commands".to_owned();
            return Err(vec![Wrong { line: 1, column: 1, what: "a file over 1 MiB".to_owned(), hint }]);
        }
        let mut rules: Vec<FileRule> = Vec::new();
        let mut mistakes = Vec::new();
        // Whether the rule that examples below would belong to could be read.
        let mut owner_is_wrong = false;
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let read = if line.starts_with([' ', '\t']) {
                example(line, number).and_then(|example| match rules.last_mut() {
                    Some(rule) if !owner_is_wrong => {
                        rule.examples.push(example);
                        Ok(())
                    }
                    _ if owner_is_wrong => Ok(()),
                    _ => Err(wrong(
                        number,
                        1,
                        "an example before any rule",
                        "rules begin at the start of a line",
                    )),
                })
            } else {
                let rule = parse(line).map_err(|wrong| Wrong { line: number, ..wrong });
                owner_is_wrong = rule.is_err();
                rule.map(|rule| rules.push(FileRule { rule, line: number, examples: Vec::new() }))
            };
            mistakes.extend(read.err());
        }
        mistakes.extend(rules.iter().flat_map(examples::check));
        if mistakes.is_empty() { Ok(Self { rules }) } else { Err(mistakes) }
    }
}

fn wrong(line: usize, column: usize, what: &str, hint: &str) -> Wrong {
    Wrong { line, column, what: what.to_owned(), hint: hint.to_owned() }
}

fn example(line: &str, number: usize) -> Result<Example, Wrong> {
    let indent = line.len() - line.trim_start().len();
    let (word, text) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
    let expect = match word {
        "yes" => Expect::Yes,
        "no" => Expect::No,
        _ => {
            let hint = "indented lines are examples, `yes CALL` or `no CALL`; a rule begins at the start of its line";
            return Err(wrong(number, indent + 1, "neither a rule nor an example", hint));
        }
    };
    let text = text.trim();
    let column = line[..line.trim_end().len() - text.len()].chars().count() + 1;
    if text.is_empty() {
        return Err(wrong(number, column, "an empty example", "yes git status"));
    }
    Ok(Example { expect, text: text.to_owned(), line: number, column })
}
