//! Text from agents, made safe for a terminal: what could hide or move words is shown instead.

/// For one line: line breaks are shown, too.
pub(crate) fn safe_line(text: &str) -> String {
    escape(text, false)
}

/// For many lines.
pub(crate) fn safe_block(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' if lines => out.push('\n'),
            '\t' if lines => out.push('\t'),
            '\n' => out.push('⏎'),
            _ if hides(character) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(character))),
            _ => out.push(character),
        }
    }
    out
}

/// Control, direction-changing and invisible characters.
fn hides(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}')
}

/// The beginning of a line that is too long for its place.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_shown() {
        assert_eq!(safe_line("a\u{202E}b"), "a⟨U+202E⟩b");
        assert_eq!(safe_line("\u{1b}[2Jrm"), "⟨U+001B⟩[2Jrm");
        assert_eq!(safe_line("x\u{200B}y\r\nz"), "x⟨U+200B⟩y⟨U+000D⟩⏎z");
        assert_eq!(safe_block("a\nb\u{7}"), "a\nb⟨U+0007⟩");
        assert_eq!(safe_line("Grüße, 你好"), "Grüße, 你好");
    }
}
