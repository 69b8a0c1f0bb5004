//! Words: bare characters, quotes and escapes, patterns of file names.

use super::reader::{Reader, ends_word};
use super::{Shell, Unclear, Word};

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Result<Word, Unclear> {
        let start = self.at;
        if let Some(text) = self.operator_word() {
            return Ok(Word::Literal { text, span: start..self.at });
        }
        let mut text = String::new();
        // The length of what stands before the first `*` or `?`.
        let mut prefix = None;
        // Whether the character before this one was bare.
        let mut after_bare = false;
        while let Some(byte) = self.peek() {
            if ends_word(Some(&byte)) {
                break;
            }
            let first = self.at == start;
            let before = if after_bare { self.bytes.get(self.at.wrapping_sub(1)).copied() } else { None };
            match byte {
                b'\'' => self.single(&mut text)?,
                b'"' => self.double(&mut text)?,
                b'\\' => self.escape(&mut text)?,
                b'{' if matches!(before, Some(b'@' | b'^')) => self.braced_name(&mut text)?,
                b'*' | b'?' => {
                    prefix.get_or_insert(text.len());
                    self.take(&mut text, byte);
                }
                _ => match refused(byte, first, before) {
                    Some(why) => return self.unclear(why),
                    None => self.take(&mut text, byte),
                },
            }
            after_bare = !matches!(byte, b'\'' | b'"' | b'\\' | b'{');
        }
        // Digits right before `<` or `>` are a descriptor and no word.
        let digits = self.bytes[start..self.at].iter().all(u8::is_ascii_digit);
        if digits && matches!(self.peek(), Some(b'<' | b'>')) {
            return Err(Unclear { why: "a descriptor other than 0, 1 and 2", at: start });
        }
        // Shells differ in whether a quoted backslash in a pattern quotes what follows it.
        if prefix.is_some() && text.contains('\\') {
            return self.unclear("a backslash in a pattern of file names");
        }
        let span = start..self.at;
        Ok(match prefix {
            Some(length) => Word::Pattern { prefix: text[..length].to_owned(), text, span },
            None => Word::Literal { text, span },
        })
    }

    fn take(&mut self, text: &mut String, byte: u8) {
        text.push(char::from(byte));
        self.at += 1;
    }

    /// `!`, `!=`, `=`, `==` and `]` alone, as `test` and `find` use them. zsh would look for a program `=`.
    fn operator_word(&mut self) -> Option<String> {
        let operators: &[&str] =
            if self.shell == Shell::Zsh { &["!", "=", "]"] } else { &["!", "!=", "=", "==", "]"] };
        let rest = &self.line[self.at..];
        let fits =
            |operator: &&&str| rest.starts_with(**operator) && ends_word(rest.as_bytes().get(operator.len()));
        let operator = operators.iter().find(fits)?;
        self.at += operator.len();
        Some((*operator).to_owned())
    }

    fn single(&mut self, text: &mut String) -> Result<(), Unclear> {
        let inside = self.at + 1;
        let Some(length) = self.bytes[inside..].iter().position(|byte| *byte == b'\'') else {
            return self.unclear("a quote without an end");
        };
        text.push_str(&self.line[inside..inside + length]);
        self.at = inside + length + 1;
        // Some zsh read two quotes inside quotes as one.
        if self.shell == Shell::Zsh && self.peek() == Some(b'\'') {
            return self.unclear("two quotes side by side");
        }
        Ok(())
    }

    fn double(&mut self, text: &mut String) -> Result<(), Unclear> {
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'`' | b'$' | b'\\')) else {
                self.at = self.bytes.len();
                return self.unclear("a quote without an end");
            };
            text.push_str(&self.line[self.at..self.at + plain]);
            self.at += plain;
            match (rest[plain], self.after(1)) {
                (b'"', _) => {
                    self.at += 1;
                    return Ok(());
                }
                (b'`', _) => return self.unclear("a command inside a word"),
                (b'$', Some(b' ' | b'"' | b'\n' | b'|' | b')' | b',' | b'.')) => self.take(text, b'$'),
                (b'$', Some(b'(')) => self.text_block(text)?,
                (b'$', _) => return self.unclear("a variable or another expansion"),
                (_, Some(escaped @ (b'$' | b'`' | b'"' | b'\\'))) => {
                    text.push(char::from(escaped));
                    self.at += 2;
                }
                (_, Some(b'\n')) => self.at += 2,
                (_, _) => self.take(text, b'\\'),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Unclear> {
        match self.after(1) {
            Some(b'\n') => self.unclear("a line that goes on inside a word"),
            Some(escaped) if escaped.is_ascii_punctuation() || escaped == b' ' => {
                text.push(char::from(escaped));
                self.at += 2;
                Ok(())
            }
            _ => self.unclear("an escape without need"),
        }
    }

    /// `stash@{0}`, `HEAD^{commit}`: braces around one name are text to every shell.
    fn braced_name(&mut self, text: &mut String) -> Result<(), Unclear> {
        let inside = &self.bytes[self.at + 1..];
        let length = inside.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        if length == 0 || inside.get(length) != Some(&b'}') {
            return self.unclear("braces");
        }
        text.push_str(&self.line[self.at..self.at + length + 2]);
        self.at += length + 2;
        Ok(())
    }
}

/// Why this bare character is not plain text here. `before` is the bare character before it.
fn refused(byte: u8, first: bool, before: Option<u8>) -> Option<&'static str> {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => None,
        b'_' | b'-' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' => None,
        b'=' | b'^' if !first => None,
        b'#' if before.is_some() => None,
        b'~' if before.is_some_and(|before| before.is_ascii_alphanumeric() || b"@^~".contains(&before)) => {
            None
        }
        b'$' => Some("a variable or another expansion"),
        b'`' => Some("a command inside a word"),
        b'(' | b')' => Some("a parenthesis"),
        b'{' | b'}' => Some("braces"),
        b'[' | b']' => Some("brackets"),
        b'~' => Some("`~`"),
        b'!' => Some("`!`"),
        b'=' | b'^' => Some("a word that begins with `=` or `^`"),
        b'#' => Some("`#` after a quote"),
        _ => Some("a character outside quotes that is not ASCII"),
    }
}
