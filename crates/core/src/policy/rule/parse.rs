//! A rule from its line.

use super::cursor::Cursor;
use super::file::Wrong;
use super::{Effect, Rule, condition, target};

const RULE_HINT: &str =
    "a rule is `allow Bash(git status:*)`, `ask Edit(src/**)`, `deny Bash(rm -rf:*) # why`";
/// The longest line of a rule.
const MAX_BYTES: usize = 4_096;

/// Reads one rule, without examples. The line of a mistake is 1.
pub fn parse(line: &str) -> Result<Rule, Wrong> {
    let mut cursor = visible(line)?;
    cursor.skip_blanks();
    let start = cursor;
    let effect = match cursor.word() {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        "deny" => Effect::Deny,
        "" => return Err(start.wrong(0, "no rule", RULE_HINT)),
        word => return Err(start.wrong(0, format!("`{word}` is no effect"), effect_hint(word))),
    };
    let target = target::target(&mut cursor, effect)?;
    let (when, words) = tail(cursor)?;
    Ok(Rule { effect, target, when, words, text: line.trim().to_owned() })
}

/// The start of a line that can be seen whole, and is no longer than a line may be.
pub(super) fn visible(line: &str) -> Result<Cursor<'_>, Wrong> {
    let cursor = Cursor::new(line);
    if line.len() > MAX_BYTES {
        return Err(cursor.wrong(
            MAX_BYTES,
            "a rule that is too long",
            "name the program and its first arguments",
        ));
    }
    if let Some((at, _)) =
        line.char_indices().find(|(_, c)| *c == '\n' || crate::policy::shell::is_hidden(*c))
    {
        return Err(cursor.wrong(at, "a character that cannot be seen", "write it without"));
    }
    Ok(cursor)
}

/// `when …`, then `# …`, each of them or none.
pub(super) fn tail(mut cursor: Cursor<'_>) -> Result<(Vec<condition::Condition>, Option<String>), Wrong> {
    let blank = cursor.rest().starts_with([' ', '\t']) || cursor.rest().is_empty();
    if !blank {
        return Err(cursor.wrong(
            0,
            format!("`{}` right after the tool", cursor.rest()),
            "a blank, then `when` or `#`",
        ));
    }
    let (conditions, words) = match comment(cursor.rest()) {
        Some((before, words)) => (before, Some(words)),
        None => (cursor.rest(), None),
    };
    let words = words.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
    if conditions.trim().is_empty() {
        return Ok((Vec::new(), words));
    }
    cursor = cursor.shortened(conditions.len());
    cursor.skip_blanks();
    let start = cursor;
    if cursor.word() != "when" {
        let hint = "conditions begin with `when`, words for a reader with `#`";
        return Err(start.wrong(0, format!("`{}` is not expected here", start.rest().trim()), hint));
    }
    Ok((condition::conditions(&mut cursor)?, words))
}

/// Splits at the first `#` that stands after a blank and outside quotes.
fn comment(rest: &str) -> Option<(&str, &str)> {
    let (mut quoted, mut blank) = (false, false);
    for (at, c) in rest.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '#' if !quoted && blank => return Some((&rest[..at], &rest[at + 1..])),
            _ => {}
        }
        blank = matches!(c, ' ' | '\t');
    }
    None
}

/// What somebody may have meant.
fn effect_hint(word: &str) -> String {
    let close = |effect: &&&str| distance(&word.to_ascii_lowercase(), effect) <= 2;
    match ["allow", "ask", "deny"].iter().find(close) {
        Some(effect) => format!("did you mean `{effect}`?"),
        None => RULE_HINT.to_owned(),
    }
}

/// How many characters two short words differ by, put in, left out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(16).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[other.len()]
}
