//! `< f`, `> f`, `>> f` with 0, 1 or 2 before them, `&> f`, `&>> f`, `2>&1`, `1>&2`, `>&2`.

use super::reader::{Reader, ends_word};
use super::{Redirect, Shell, Unclear, Word};

pub(super) enum Redirected {
    To(Redirect),
    /// A word begins here.
    No,
}

impl Reader<'_> {
    pub(super) fn redirect(&mut self) -> Result<Redirected, Unclear> {
        let start = self.at;
        let rest = &self.bytes[self.at..];
        let (before, both) = match rest {
            [b'0'..=b'2', b'<' | b'>', ..] => (1, false),
            [b'0'..=b'9', b'<' | b'>', ..] => return self.unclear("a descriptor other than 0, 1 and 2"),
            [b'<' | b'>', ..] => (0, false),
            [b'&', b'>', ..] if matches!(self.shell, Shell::Sh | Shell::Bash3) => {
                return self.unclear("`&>` in a shell without it");
            }
            [b'&', b'>', ..] => (1, true),
            _ => return Ok(Redirected::No),
        };
        let operator = &rest[before..];
        let (reads, length) = match operator {
            [b'>', b'&', b'1' | b'2', tail @ ..] if !both && ends_word(tail.first()) => {
                self.at += before + 3;
                return Ok(Redirected::To(Redirect::Duplicate));
            }
            [b'>', b'>', b'&' | b'|' | b'(' | b'>' | b'<' | b'!', ..]
            | [b'>', b'&' | b'|' | b'(' | b'<' | b'!', ..]
            // zsh reads `<1-9>` as a pattern.
            | [b'<', b'&' | b'<' | b'>' | b'(' | b'-' | b'0'..=b'9', ..] => {
                return self.unclear("a redirection of another kind");
            }
            [b'>', b'>', ..] => (false, 2),
            [b'>', ..] => (false, 1),
            _ => (true, 1),
        };
        self.at += before + length;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if ends_word(self.peek().as_ref()) || self.peek() == Some(b'#') {
            return self.unclear("a redirection without a file");
        }
        let from = self.at;
        let path = match self.word()? {
            Word::Literal { text, .. } => text,
            Word::Pattern { .. } => return Err(Unclear { why: "a redirection to a pattern", at: from }),
        };
        if path.is_empty() {
            return Err(Unclear { why: "a redirection without a file", at: from });
        }
        // bash opens these as connections, and devices by number.
        if path.starts_with("/dev/") && path != "/dev/null" {
            return Err(Unclear { why: "a redirection to a device or a connection", at: from });
        }
        let span = start..self.at;
        Ok(Redirected::To(if reads { Redirect::Read { path, span } } else { Redirect::Write { path, span } }))
    }
}
