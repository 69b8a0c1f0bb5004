//! What a session is called that nobody gave a title: the beginning of its first message.

use crate::policy::shell::is_hidden;

/// In characters.
const LONGEST: usize = 80;

/// The first line that has words, without what cannot be seen, cut at a word.
pub(crate) fn title_of(message: &str) -> Option<String> {
    let line = message.lines().map(visible).find(|line| !line.is_empty())?;
    Some(if line.chars().nth(LONGEST).is_none() { line } else { cut(&line) })
}

/// Single blanks between words, and none of the characters that hide or turn others.
fn visible(line: &str) -> String {
    let seen: String = line.chars().filter(|c| c.is_whitespace() || !is_hidden(*c)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One word that is too long is cut within.
fn cut(line: &str) -> String {
    // One character is for the mark.
    let beginning: String = line.chars().take(LONGEST).collect();
    let whole_words = beginning.rfind(' ').map_or("", |blank| &beginning[..blank]);
    let kept = if whole_words.chars().count() >= LONGEST / 2 {
        whole_words.to_owned()
    } else {
        beginning.chars().take(LONGEST - 1).collect()
    };
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_with_words() {
        let titled = |message: &str| title_of(message).unwrap_or_default();
        assert_eq!(titled("  Mend   the\tlogin \n and then …"), "Mend the login");
        assert_eq!(titled("\n \u{a0}\r\n\nSecond line\n"), "Second line");
        assert_eq!(titled("Grüße, 你好"), "Grüße, 你好");
        assert_eq!(title_of(" \n\t\n\u{200b}\n"), None);
        assert_eq!(titled("a\u{202e}b\u{1b}[2Jc\u{0}\u{200b}d\u{2028}e"), "ab[2Jcd e");
    }

    #[test]
    fn a_long_one_is_cut_at_a_word() {
        let words = "word ".repeat(40);
        let title = title_of(&words).unwrap();
        assert!(title.ends_with("word…") && title.chars().count() <= 80, "{title}");
        let exact: String = "a".repeat(80);
        assert_eq!(title_of(&exact).unwrap(), exact);
        let one = title_of(&"é".repeat(500)).unwrap();
        assert_eq!((one.chars().count(), one.chars().last()), (80, Some('…')));
        // The only blank stands at its beginning.
        let late = title_of(&format!("see {}", "x".repeat(200))).unwrap();
        assert_eq!(late.chars().count(), 80, "{late}");
    }
}
