//! Variables of a session, as conditions of rules read them.

use holdstead_protocol::{VariableValue, Variables};

use super::rules::Rules;

/// How often the end of this turn was blocked. It is counted, and always there.
pub const STOP_ATTEMPTS: &str = "stop_attempts";
/// For calls of which no session is known.
pub static NO_VARIABLES: Variables = Variables::new();

/// The longest name and the longest text: variables are part of a session's head, which is written at every append.
const MAX_NAME: usize = 40;
const MAX_TEXT: usize = 200;
/// The largest number that every JSON reader keeps whole.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// All that a rule can ask about: what was set, otherwise its default, and what is counted.
pub fn variables(rules: &Rules, set: &Variables, stop_attempts: u32) -> Variables {
    let mut all = rules.defaults();
    all.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
    all.insert(STOP_ATTEMPTS.to_owned(), VariableValue::Number(stop_attempts.into()));
    all
}

pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = name.len() <= MAX_NAME
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if starts && fits {
        Ok(())
    } else {
        Err("a variable's name is a small letter, then at most 39 small letters, digits and `_`")
    }
}

/// As [`check_name`], for a variable that somebody sets.
pub(crate) fn check_settable(name: &str) -> Result<(), &'static str> {
    check_name(name)?;
    if name == STOP_ATTEMPTS {
        Err("`stop_attempts` is counted by Holdstead, and nobody sets it")
    } else {
        Ok(())
    }
}

pub(crate) fn check_value(value: &VariableValue) -> Result<(), &'static str> {
    match value {
        VariableValue::Flag(_) => Ok(()),
        VariableValue::Number(number) if number.unsigned_abs() <= MAX_NUMBER => Ok(()),
        VariableValue::Number(_) => Err("a variable's number has at most 53 bits"),
        VariableValue::Text(text) if text.len() > MAX_TEXT => Err("a variable's text has at most 200 bytes"),
        // What cannot be seen would make two values that look alike differ.
        VariableValue::Text(text) if text.contains(|c| c == '\n' || super::shell::is_hidden(c)) => {
            Err("a variable's text has a character that cannot be seen")
        }
        VariableValue::Text(_) => Ok(()),
    }
}
