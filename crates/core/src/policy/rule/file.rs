//! A file of rules: one a line, what holds from a session's start, comments, and examples that a rule carries on indented
//! lines below it.
//!
//! ```text
//! deny Bash(rm -rf:*) # Use git clean -n first
//!   yes rm -rf build
//!   no  rm notes.txt
//! ```

use super::start::{self, Context, DefaultValue};
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFile {
    pub rules: Vec<FileRule>,
    /// One for each variable at most.
    pub defaults: Vec<DefaultValue>,
    pub contexts: Vec<Context>,
}

/// What indented lines would belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    /// Nothing that has examples.
    Nothing,
    Rule,
    /// A line that could not be read: its mistake is told, and what stands below it is not.
    Mistake,
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
        let mut file = Self::default();
        let mut mistakes = Vec::new();
        let mut above = Above::Nothing;
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let read = if line.starts_with([' ', '\t']) {
                example(line, number).and_then(|example| file.add_example(example, above))
            } else {
                let read = file.add_line(line, number).map_err(|wrong| Wrong { line: number, ..wrong });
                above = *read.as_ref().unwrap_or(&Above::Mistake);
                read.map(|_| ())
            };
            mistakes.extend(read.err());
        }
        mistakes.extend(file.rules.iter().flat_map(examples::check));
        if mistakes.is_empty() { Ok(file) } else { Err(mistakes) }
    }

    fn add_line(&mut self, line: &str, number: usize) -> Result<Above, Wrong> {
        match line.split([' ', '\t']).next() {
            Some(start::DEFAULT) => {
                let value = start::default_value(line, number)?;
                if let Some(first) = self.defaults.iter().find(|default| default.name == value.name) {
                    let what = format!("`${}` has a default already, in line {}", value.name, first.line);
                    return Err(wrong(number, 1, &what, "leave one of them out"));
                }
                self.defaults.push(value);
                Ok(Above::Nothing)
            }
            Some(start::CONTEXT) => {
                self.contexts.push(start::context(line, number)?);
                Ok(Above::Nothing)
            }
            _ => {
                let rule = parse(line)?;
                self.rules.push(FileRule { rule, line: number, examples: Vec::new() });
                Ok(Above::Rule)
            }
        }
    }

    fn add_example(&mut self, example: Example, above: Above) -> Result<(), Wrong> {
        match (above, self.rules.last_mut()) {
            (Above::Rule, Some(rule)) => {
                rule.examples.push(example);
                Ok(())
            }
            (Above::Mistake, _) => Ok(()),
            (Above::Rule | Above::Nothing, _) => Err(wrong(
                example.line,
                1,
                "an example that is below no rule",
                "rules begin at the start of a line",
            )),
        }
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
