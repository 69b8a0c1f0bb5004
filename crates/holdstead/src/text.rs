//! Text from agents, made safe for a terminal: what could hide or move words is shown instead.

use unicode_width::UnicodeWidthChar as _;

/// So many combining marks on one letter are drawn. More of them cover what stands around it.
const MOST_STACKED: usize = 2;

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
    let mut stacked = 0;
    for character in text.chars() {
        stacked = if character.width() == Some(0) { stacked + 1 } else { 0 };
        match character {
            '\n' if lines => out.push('\n'),
            '\t' if lines => out.push('\t'),
            '\n' => out.push('⏎'),
            _ if hides(character) || stacked > MOST_STACKED => {
                out.push_str(&format!("⟨U+{:04X}⟩", u32::from(character)))
            }
            _ => out.push(character),
        }
    }
    out
}

/// Control, direction-changing, invisible and blank characters.
fn hides(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFC}'
            | '\u{E0000}'..='\u{E0FFF}'
            | '\u{2800}' | '\u{13441}' | '\u{13442}' | '\u{16FE4}' | '\u{1D159}')
}

/// The words that have both Latin letters and Cyrillic or Greek ones, which may look alike, each once. Letters that are not Latin
/// are spelled out.
pub(crate) fn mixed_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter.width() != Some(0)) {
        if !(word.contains(is_latin) && word.contains(may_look_latin)) {
            continue;
        }
        let spelled = word.chars().map(|letter| match may_look_latin(letter) {
            true => format!("⟨U+{:04X}⟩", u32::from(letter)),
            false => letter.to_string(),
        });
        let spelled: String = spelled.collect();
        if !found.contains(&spelled) {
            found.push(spelled);
        }
    }
    found
}

fn is_latin(letter: char) -> bool {
    letter.is_alphabetic()
        && matches!(letter,
            'A'..='Z' | 'a'..='z' | '\u{AA}' | '\u{BA}' | '\u{C0}'..='\u{2B8}' | '\u{1D00}'..='\u{1D25}'
            | '\u{1E00}'..='\u{1EFF}' | '\u{2C60}'..='\u{2C7F}' | '\u{A722}'..='\u{A787}'
            | '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}')
}

/// Greek and Cyrillic letters.
fn may_look_latin(letter: char) -> bool {
    letter.is_alphabetic()
        && matches!(letter,
            '\u{370}'..='\u{52F}' | '\u{1C80}'..='\u{1C8F}' | '\u{1D26}'..='\u{1D2B}' | '\u{1F00}'..='\u{1FFF}'
            | '\u{2126}' | '\u{A640}'..='\u{A69F}')
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
        assert_eq!(safe_line("rm\u{2800}-rf"), "rm⟨U+2800⟩-rf");
        assert_eq!(safe_line("e\u{302}\u{301}\u{323}\u{301}x"), "e\u{302}\u{301}⟨U+0323⟩⟨U+0301⟩x");
        for plain in ["Grüße, 你好", "Vie\u{323}\u{302}t नमस्ते ⠓⠊"] {
            assert_eq!(safe_line(plain), plain);
        }
    }

    #[test]
    fn letters_of_two_alphabets_in_one_word_are_found() {
        for (text, word) in [
            ("curl https://p\u{430}ypal.com/x", "p⟨U+0430⟩ypal"),
            ("cat /etc/p\u{430}sswd /etc/p\u{430}sswd", "p⟨U+0430⟩sswd"),
            ("s\u{3bf}urce env.sh", "s⟨U+03BF⟩urce"),
        ] {
            assert_eq!(mixed_words(text), [word], "{text}");
        }
        for text in [
            "cat документы/файл.txt отчёт_2024-final.md",
            "echo αβγ > /srv/δ/notes.txt",
            "ls 写真/photo.jpg naïve Ünïcode 5µm",
        ] {
            assert!(mixed_words(text).is_empty(), "{text}");
        }
    }
}
