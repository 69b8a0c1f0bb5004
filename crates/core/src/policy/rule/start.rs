//! Lines of a file that are about a session's start: `default $phase build`, `context when agent claude-code # words`.

use holdstead_protocol::VariableValue;

use super::condition::{self, Condition};
use super::cursor::Cursor;
use super::file::Wrong;
use super::parse;
use crate::policy::variables;

/// The value of a variable while nobody set one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValue {
    pub name: String,
    pub value: VariableValue,
    /// The line as it was written, and its number from 1.
    pub text: String,
    pub line: usize,
}

/// Words that an agent is told once, with its first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// All of them must hold.
    pub when: Vec<Condition>,
    pub words: String,
    /// The line as it was written, and its number from 1.
    pub text: String,
    pub line: usize,
}

pub(super) const DEFAULT: &str = "default";
pub(super) const CONTEXT: &str = "context";

pub(super) fn default_value(text: &str, line: usize) -> Result<DefaultValue, Wrong> {
    const HINT: &str = "default $require_task true";
    let mut cursor = parse::visible(text)?;
    cursor.word();
    cursor.skip_blanks();
    let start = cursor;
    let Some(name) = cursor.word().strip_prefix('$') else {
        return Err(start.wrong(0, "a default of what?", HINT));
    };
    variables::check_settable(name).map_err(|why| start.wrong(1, why, HINT))?;
    cursor.skip_blanks();
    let at = cursor;
    let value = condition::value(&mut cursor).map_err(|what| at.wrong(0, what, HINT))?;
    cursor.skip_blanks();
    if !cursor.rest().is_empty() && !cursor.rest().starts_with('#') {
        return Err(cursor.wrong(
            0,
            format!("`{}` is not expected here", cursor.rest()),
            "several words stand in quotes: default $phase 'two words'",
        ));
    }
    Ok(DefaultValue { name: name.to_owned(), value, text: text.trim().to_owned(), line })
}

pub(super) fn context(text: &str, line: usize) -> Result<Context, Wrong> {
    let mut cursor = parse::visible(text)?;
    cursor.word();
    let after = cursor;
    let (when, words) = parse::tail(cursor)?;
    match words {
        Some(words) => Ok(Context { when, words, text: text.trim().to_owned(), line }),
        None => {
            Err(end(after).wrong(0, "a context without words", "context # Commits need a ticket's number"))
        }
    }
}

fn end(mut cursor: Cursor<'_>) -> Cursor<'_> {
    cursor.skip(cursor.rest().len());
    cursor
}
