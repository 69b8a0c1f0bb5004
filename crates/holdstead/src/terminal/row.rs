//! Rows of text with ink. What an agent wrote cannot get here but as text: a row escapes whatever is put into it.

use unicode_width::UnicodeWidthChar as _;

use crate::text::safe_line;

/// What a piece of text is, for those who see colours. The words say it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    /// Less important than the rest.
    Dim,
    Strong,
    /// Waits for a person.
    Waiting,
    Good,
    Danger,
    Added,
    Removed,
}

/// One line, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row(Vec<(Ink, String)>);

impl Row {
    pub(crate) fn new(ink: Ink, text: &str) -> Self {
        Self::default().and(ink, text)
    }

    pub(crate) fn plain(text: &str) -> Self {
        Self::new(Ink::Plain, text)
    }

    #[must_use]
    pub(crate) fn and(mut self, ink: Ink, text: &str) -> Self {
        self.0.push((ink, safe_line(&text.replace('\t', "    "))));
        self
    }

    /// Each line of a text as a row, after these words.
    pub(crate) fn block(before: &str, ink: Ink, text: &str) -> Vec<Self> {
        text.lines().map(|line| Self::plain(before).and(ink, line)).collect()
    }

    pub(crate) fn pieces(&self) -> &[(Ink, String)] {
        &self.0
    }

    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// As many rows as it takes, broken between words where there are some.
    pub(crate) fn wrapped(&self, columns: usize) -> Vec<Self> {
        let columns = columns.max(8);
        let letters: Vec<(Ink, char)> =
            self.0.iter().flat_map(|(ink, text)| text.chars().map(|letter| (*ink, letter))).collect();
        let mut rows = Vec::new();
        let mut rest = letters.as_slice();
        loop {
            let end = fitting(rest, columns);
            rows.push(Self::of(&rest[..end]));
            rest = &rest[end..];
            if rest.is_empty() {
                return rows;
            }
        }
    }

    /// Its beginning, where it is too long for its place.
    pub(crate) fn cut(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let letters = self.0.iter().flat_map(|(ink, text)| text.chars().map(|letter| (*ink, letter)));
        let mut used = 1;
        let kept: Vec<(Ink, char)> = letters
            .take_while(|(_, letter)| {
                used += letter.width().unwrap_or(0);
                used <= columns
            })
            .collect();
        let mut row = Self::of(&kept);
        row.0.push((Ink::Dim, "…".to_owned()));
        row
    }

    fn of(letters: &[(Ink, char)]) -> Self {
        let mut row = Self::default();
        for (ink, letter) in letters {
            match row.0.last_mut() {
                Some((last, text)) if last == ink => text.push(*letter),
                Some(_) | None => row.0.push((*ink, letter.to_string())),
            }
        }
        row
    }
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// How many letters go into a row: up to a space if there is one, and at least one.
fn fitting(letters: &[(Ink, char)], columns: usize) -> usize {
    let mut used = 0;
    let mut after_space = None;
    for (index, (_, letter)) in letters.iter().enumerate() {
        used += letter.width().unwrap_or(0);
        if used > columns {
            return after_space.unwrap_or(index).max(1);
        }
        if *letter == ' ' {
            after_space = Some(index + 1);
        }
    }
    letters.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn what_an_agent_wrote_is_text() {
        let row = Row::new(Ink::Danger, "\u{1b}[2Jrm\n\u{202E}x\ty");
        assert_eq!(row.text(), "⟨U+001B⟩[2Jrm⏎⟨U+202E⟩x    y");
    }

    #[test]
    fn rows_break_between_words_and_lose_nothing() {
        let row = Row::plain("rm -rf ").and(Ink::Danger, "/var/lib/everything and more");
        let wrapped = row.wrapped(12);
        assert_eq!(texts(&wrapped), ["rm -rf ", "/var/lib/eve", "rything and ", "more"]);
        assert_eq!(texts(&wrapped).concat(), row.text());
        assert_eq!(wrapped[1].pieces()[0].0, Ink::Danger);
        assert_eq!(texts(&Row::default().wrapped(12)), [""]);
        assert_eq!(texts(&Row::plain("你好你好你").wrapped(8)), ["你好你好", "你"]);
    }

    #[test]
    fn a_cut_row_says_so() {
        assert_eq!(Row::plain("abcdef").cut(4).text(), "abc…");
        assert_eq!(Row::plain("你好你").cut(4).text(), "你…");
        assert_eq!(Row::plain("abcd").cut(4).text(), "abcd");
    }
}
