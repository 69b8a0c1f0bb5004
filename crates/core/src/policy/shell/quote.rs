//! Writes a word so that the reader, and every shell, reads it back.

/// Characters that need no quotes wherever they stand in a word.
fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '@' | '%' | '+')
}

/// The word as it would be typed: bare if it can be, in single quotes otherwise.
pub fn quote(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_bare) {
        return word.to_owned();
    }
    // `'\''` leaves the quotes, writes one, and enters them again.
    format!("'{}'", word.replace('\'', r"'\''"))
}
