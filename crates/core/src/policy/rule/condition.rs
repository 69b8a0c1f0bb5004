//! `when agent claude-code and mode not plan and depth >= 1 and folder ~/code/shop/** and $phase release`

use holdstead_protocol::{PermissionMode, VariableValue};

use super::cursor::Cursor;
use super::file::Wrong;
use crate::policy::glob::{Base, Glob};
use crate::policy::variables;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Agent {
        is: Is,
        name: String,
    },
    Mode {
        is: Is,
        mode: PermissionMode,
    },
    /// The session's folder, or one above it.
    Folder {
        is: Is,
        glob: Glob,
    },
    /// How many agents stand between this one and the person: 0 for the one that was spoken to.
    Depth {
        comparison: Comparison,
        depth: u32,
    },
    /// What somebody set for the session, or what is counted in it.
    Variable {
        name: String,
        test: Test,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// `$phase release`, `$phase not release`
    Value { is: Is, value: VariableValue },
    /// `$stop_attempts >= 1`
    Number { comparison: Comparison, number: i64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    This,
    /// `not`
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    AtLeast,
    AtMost,
}

const HINT: &str =
    "agent NAME, mode NAME, folder PATH, depth N, $variable VALUE; several are joined by `and`";
const MODES: [(&str, PermissionMode); 4] = [
    ("default", PermissionMode::Default),
    ("acceptEdits", PermissionMode::AcceptEdits),
    ("plan", PermissionMode::Plan),
    ("auto", PermissionMode::Auto),
];

/// Reads what stands after `when`, to the end of the line.
pub(super) fn conditions(cursor: &mut Cursor<'_>) -> Result<Vec<Condition>, Wrong> {
    let mut conditions = Vec::new();
    loop {
        conditions.push(condition(cursor)?);
        cursor.skip_blanks();
        if cursor.rest().is_empty() {
            return Ok(conditions);
        }
        let before = *cursor;
        if cursor.word() != "and" {
            return Err(before.wrong(0, format!("`{}` is not expected here", before.rest()), HINT));
        }
    }
}

fn condition(cursor: &mut Cursor<'_>) -> Result<Condition, Wrong> {
    cursor.skip_blanks();
    let start = *cursor;
    let subject = cursor.word();
    if let Some(name) = subject.strip_prefix('$') {
        return variable(name, start, cursor);
    }
    if !matches!(subject, "agent" | "mode" | "folder" | "depth") {
        return Err(start.wrong(0, format!("`{subject}` is no condition"), HINT));
    }
    cursor.skip_blanks();
    let mut ahead = *cursor;
    let is = if ahead.word() == "not" {
        *cursor = ahead;
        cursor.skip_blanks();
        Is::Other
    } else {
        Is::This
    };
    let at = *cursor;
    let value = word_or_quoted(cursor)?;
    if value.is_empty() {
        return Err(at.wrong(0, format!("`{subject}` of what?"), HINT));
    }
    match subject {
        "agent" => Ok(Condition::Agent { is, name: value.to_owned() }),
        "mode" => {
            let known = MODES.iter().find(|(name, _)| *name == value);
            let hint = || "default, acceptEdits, plan, auto";
            let (_, mode) = known.ok_or_else(|| at.wrong(0, format!("`{value}` is no mode"), hint()))?;
            Ok(Condition::Mode { is, mode: *mode })
        }
        "folder" => {
            let glob = Glob::parse(value).map_err(|wrong| at.wrong(wrong.at, wrong.what, wrong.hint))?;
            if glob.base == Base::Folder {
                return Err(at.wrong(
                    0,
                    "a folder is named from the top",
                    "folder ~/code/shop, folder /srv/**",
                ));
            }
            Ok(Condition::Folder { is, glob })
        }
        _ => depth(is, value, at, cursor),
    }
}

/// A word, or several in single quotes.
fn word_or_quoted<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Wrong> {
    if !cursor.rest().starts_with('\'') {
        return Ok(cursor.word());
    }
    let start = *cursor;
    cursor.skip(1);
    let value = cursor.until(&['\'']);
    if cursor.rest().is_empty() {
        return Err(start.wrong(0, "a quote without an end", "folder '/srv/two words'"));
    }
    cursor.skip(1);
    Ok(value)
}

fn depth(is: Is, value: &str, at: Cursor<'_>, cursor: &mut Cursor<'_>) -> Result<Condition, Wrong> {
    const HINT: &str = "depth 0, depth >= 1, depth <= 2";
    let (comparison, number) = match value {
        ">=" => (Comparison::AtLeast, cursor.word()),
        "<=" => (Comparison::AtMost, cursor.word()),
        _ => (Comparison::Equal, value),
    };
    let depth = number.parse().map_err(|_| at.wrong(0, format!("`{value}` is no depth"), HINT))?;
    match is {
        Is::This => Ok(Condition::Depth { comparison, depth }),
        Is::Other => Err(at.wrong(0, "a depth has no `not`", HINT)),
    }
}

/// What stands after `$`, and what is asked of it.
fn variable(name: &str, start: Cursor<'_>, cursor: &mut Cursor<'_>) -> Result<Condition, Wrong> {
    const HINT: &str = "$phase release, $phase not release, $task_claimed true, $stop_attempts >= 1";
    variables::check_name(name).map_err(|why| start.wrong(1, why, HINT))?;
    cursor.skip_blanks();
    let mut at = *cursor;
    let mut ahead = at;
    let comparison = match ahead.word() {
        ">=" => Some(Comparison::AtLeast),
        "<=" => Some(Comparison::AtMost),
        _ => None,
    };
    let test = if let Some(comparison) = comparison {
        ahead.skip_blanks();
        let word = ahead;
        let number = ahead.word();
        *cursor = ahead;
        let number =
            number.parse().map_err(|_| word.wrong(0, format!("`{number}` is no whole number"), HINT))?;
        Test::Number { comparison, number }
    } else {
        let is = match at.rest().split([' ', '\t']).next() {
            Some("not") => {
                cursor.word();
                cursor.skip_blanks();
                at = *cursor;
                Is::Other
            }
            _ => Is::This,
        };
        Test::Value { is, value: value(cursor).map_err(|what| at.wrong(0, what, HINT))? }
    };
    Ok(Condition::Variable { name: name.to_owned(), test })
}

/// The value of a variable, as rules and defaults write it.
pub(super) fn value(cursor: &mut Cursor<'_>) -> Result<VariableValue, String> {
    let quoted = cursor.rest().starts_with('\'');
    let written = word_or_quoted(cursor).map_err(|wrong| wrong.what)?;
    match written {
        "" | "and" if !quoted => Err("a variable without a value".to_owned()),
        ">" | "<" | "=" | "==" | "!=" if !quoted => Err(format!("`{written}` is no comparison")),
        "true" if !quoted => Ok(VariableValue::Flag(true)),
        "false" if !quoted => Ok(VariableValue::Flag(false)),
        _ => {
            // `007` is no number: written again it would be another text.
            let number: Option<i64> = written.parse().ok();
            let number = number.filter(|number| !quoted && number.to_string() == written);
            let number = number.map(VariableValue::Number);
            let value = number.unwrap_or_else(|| VariableValue::Text(written.to_owned()));
            variables::check_value(&value).map(|()| value).map_err(str::to_owned)
        }
    }
}
