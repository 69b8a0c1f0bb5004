//! A place in a line, for messages that name the column.

use super::file::Wrong;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    /// The same place in a line that ends so many bytes on.
    pub(super) fn shortened(self, bytes: usize) -> Self {
        Self { line: &self.line[..self.at + bytes], ..self }
    }

    pub(super) fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Everything up to the next of these characters, or the end.
    pub(super) fn until(&mut self, ends: &[char]) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// The next word, without the blanks around it.
    pub(super) fn word(&mut self) -> &'a str {
        self.skip_blanks();
        self.until(&[' ', '\t'])
    }

    /// A mistake at this place, so many bytes on.
    pub(super) fn wrong(&self, ahead: usize, what: impl Into<String>, hint: impl Into<String>) -> Wrong {
        let mut end = (self.at + ahead).min(self.line.len());
        while !self.line.is_char_boundary(end) {
            end -= 1;
        }
        let column = self.line[..end].chars().count() + 1;
        Wrong { line: 1, column, what: what.into(), hint: hint.into() }
    }
}
