//! `when agent claude-code and mode not plan and depth >= 1 and folder ~/code/shop/**`

use holdstead_protocol::PermissionMode;

use super::cursor::Cursor;
use super::file::Wrong;
use crate::policy::glob::{Base, Glob};

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

const HINT: &str = "agent NAME, mode NAME, folder PATH, depth N; several are joined by `and`";
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
    let value = value(cursor)?;
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
fn value<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Wrong> {
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
