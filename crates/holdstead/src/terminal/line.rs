//! The line that is being typed.

use unicode_width::UnicodeWidthChar as _;

use super::keys::Key;
use crate::text::safe_line;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    letters: Vec<char>,
    /// Where the next letter goes.
    at: usize,
}

impl Line {
    pub(crate) fn with(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        Self { at: letters.len(), letters }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// What was typed; the line is empty then.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        *self = Self::default();
        text
    }

    /// Pasted text stays in the line: only a pressed Enter sends it.
    pub(crate) fn paste(&mut self, text: &str) {
        for letter in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            self.insert(letter);
        }
    }

    fn insert(&mut self, letter: char) {
        self.letters.insert(self.at, letter);
        self.at += 1;
    }

    /// Keys that mean nothing to a line leave it as it is.
    pub(crate) fn press(&mut self, key: &Key) {
        match key {
            Key::Letter(letter) => self.insert(*letter),
            Key::Paste(text) => self.paste(text),
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.letters.remove(self.at);
            }
            Key::Delete if self.at < self.letters.len() => drop(self.letters.remove(self.at)),
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.letters.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.letters.len(),
            Key::Ctrl('u') => drop(self.letters.drain(..std::mem::take(&mut self.at))),
            Key::Ctrl('w') => {
                let end = self.at;
                while self.at > 0 && self.letters[self.at - 1] == ' ' {
                    self.at -= 1;
                }
                while self.at > 0 && self.letters[self.at - 1] != ' ' {
                    self.at -= 1;
                }
                self.letters.drain(self.at..end);
            }
            Key::Backspace
            | Key::Delete
            | Key::Enter
            | Key::Chord
            | Key::Escape
            | Key::Tab
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Ctrl(_)
            | Key::Resize => {}
        }
    }

    /// The part of it that fits, and the column of the cursor in that.
    pub(crate) fn view(&self, columns: usize, seen: Seen) -> (String, usize) {
        let shown = |letter: &char| match seen {
            Seen::Open => safe_line(&letter.to_string()),
            Seen::Hidden => "•".to_owned(),
        };
        let wide = |text: &str| text.chars().map(|letter| letter.width().unwrap_or(0)).sum::<usize>();
        let mut from = self.at;
        let mut column = 0;
        // The cursor needs a column of its own.
        while from > 0 {
            let next = wide(&shown(&self.letters[from - 1]));
            if column + next + 1 > columns {
                break;
            }
            column += next;
            from -= 1;
        }
        let mut used = 0;
        let fitting = self.letters[from..].iter().map(shown).take_while(|text| {
            used += wide(text);
            used < columns
        });
        (fitting.collect(), column)
    }
}

/// Whether others may see what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Open,
    Hidden,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, keys: &[Key]) -> Line {
        let mut line = Line::with(text);
        keys.iter().for_each(|key| line.press(key));
        line
    }

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let left = [Key::Left, Key::Left];
        for (text, keys, after) in [
            ("helo", vec![Key::Left, Key::Letter('l')], "hello"),
            ("ab", vec![Key::Backspace, Key::Backspace, Key::Backspace], ""),
            ("rm -rf dist", vec![Key::Ctrl('w'), Key::Letter('x')], "rm -rf x"),
            ("rm -rf dist", vec![left[0].clone(), left[1].clone(), Key::Ctrl('u')], "st"),
            ("b", vec![Key::Home, Key::Letter('a'), Key::End, Key::Letter('c')], "abc"),
            ("ab", vec![Key::Home, Key::Delete], "b"),
            ("", vec![Key::Paste("a\r\nb\rc".to_owned())], "a\nb\nc"),
        ] {
            assert_eq!(typed(text, &keys).text(), after, "{keys:?}");
        }
        assert_eq!(typed("a", &[Key::Enter, Key::Tab, Key::Ctrl('x')]).text(), "a");
    }

    #[test]
    fn the_cursor_stays_in_sight_and_secrets_do_not() {
        assert_eq!(Line::with("abc").view(10, Seen::Open), ("abc".to_owned(), 3));
        assert_eq!(Line::with("abcdefgh").view(5, Seen::Open), ("efgh".to_owned(), 4));
        assert_eq!(typed("abcdefgh", &[Key::Home]).view(5, Seen::Open), ("abcd".to_owned(), 0));
        assert_eq!(Line::with("a\nb").view(10, Seen::Open), ("a⏎b".to_owned(), 3));
        assert_eq!(Line::with("你好").view(4, Seen::Open), ("好".to_owned(), 2));
        assert_eq!(Line::with("hunter2").view(10, Seen::Hidden).0, "•••••••");
    }
}
