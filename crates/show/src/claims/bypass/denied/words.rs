//! Words as a shell reads them.

use crate::dice::Dice;

pub(super) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn double(text: &str) -> String {
    let escaped = |c: char| match c {
        '\\' | '"' | '$' | '`' => vec!['\\', c],
        _ => vec![c],
    };
    format!("\"{}\"", text.chars().flat_map(escaped).collect::<String>())
}

/// At blanks outside quotes.
pub(super) fn split(words: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in words.chars() {
        inside ^= c == '\'';
        match parts.last_mut() {
            Some(part) if inside || c != ' ' => part.push(c),
            Some(_) | None => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The same word to a shell.
pub(super) fn quoted(dice: &mut Dice, word: &str) -> String {
    let end = word.chars().next().map_or(0, char::len_utf8);
    let (first, rest) = word.split_at(end);
    match dice.below(9) {
        0 => single(word),
        1 => double(word),
        2 => format!("\\{word}"),
        3 => format!("{first}''{rest}"),
        4 => format!("{first}\"{rest}\""),
        5 => format!("$'{word}'"),
        6 => format!("$\"{word}\""),
        7 => format!("$'{}'", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        _ => format!("{first}\\\n{rest}"),
    }
}
