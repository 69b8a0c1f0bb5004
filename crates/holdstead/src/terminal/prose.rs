//! Words that come in pieces, as rows of the terminal's width. The last row is not complete until it is full.

use super::row::{Row, width};
use crate::text::safe_line;

#[derive(Debug, Default)]
pub(crate) struct Prose {
    /// Escaped already.
    row: String,
}

impl Prose {
    /// The rows that are complete with these words.
    pub(crate) fn say(&mut self, words: &str, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, line) in words.split('\n').enumerate() {
            if index > 0 {
                rows.push(Row::plain(&std::mem::take(&mut self.row)));
            }
            self.row.push_str(&safe_line(&line.replace('\t', "    ")));
            if width(&self.row) > columns {
                let mut wrapped = Row::plain(&self.row).wrapped(columns);
                self.row = wrapped.pop().unwrap_or_default().text();
                rows.extend(wrapped);
            }
        }
        rows
    }

    /// What was said so far is all there is.
    pub(crate) fn end(&mut self) -> Option<Row> {
        let row = std::mem::take(&mut self.row);
        (!row.is_empty()).then(|| Row::plain(&row))
    }

    pub(crate) fn unfinished(&self) -> Option<Row> {
        (!self.row.is_empty()).then(|| Row::plain(&self.row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_as_rows_whatever_pieces_they_come_in() {
        let text = "Let me look at the tests.\n\nThey fail because of \u{1b}[31mtime\u{1b}[0m.";
        let rows = |pieces: &[&str]| {
            let mut prose = Prose::default();
            let mut rows: Vec<String> = Vec::new();
            for piece in pieces {
                rows.extend(prose.say(piece, 14).iter().map(Row::text));
            }
            rows.extend(prose.end().map(|row| row.text()));
            rows
        };
        let letters: Vec<String> = text.chars().map(|letter| letter.to_string()).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let at_once = rows(&[text]);
        assert_eq!(at_once[..3], ["Let me look ", "at the tests.", ""]);
        assert!(at_once.concat().contains("⟨U+001B⟩[31mtime"), "{at_once:?}");
        assert_eq!(rows(&letters), at_once);
    }
}
