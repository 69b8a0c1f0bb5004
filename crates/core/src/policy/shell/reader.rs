//! Commands and what joins them.

use super::characters::is_hidden;
use super::redirect::Redirected;
use super::{Join, MAX_BYTES, MAX_COMMANDS, Shell, Simple, Unclear, Word};

/// Words that begin something else than a command, in any of the shells.
const KEYWORDS: [&str; 30] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "until",
    "for",
    "foreach",
    "end",
    "select",
    "repeat",
    "in",
    "function",
    "time",
    "coproc",
    "nocorrect",
    "noglob",
    "always",
    "namespace",
    "{",
    "}",
    "[[",
    "]]",
    "!",
    "-",
];

pub(super) struct Reader<'a> {
    pub(super) line: &'a str,
    pub(super) bytes: &'a [u8],
    /// Where reading goes on; always between two characters.
    pub(super) at: usize,
    pub(super) shell: Shell,
}

pub(super) fn read(line: &str, shell: Shell) -> Result<Vec<Simple>, Unclear> {
    if shell == Shell::Other {
        return Err(Unclear { why: "a shell that is not known", at: 0 });
    }
    if line.len() > MAX_BYTES {
        return Err(Unclear { why: "too long", at: MAX_BYTES });
    }
    if let Some((at, _)) = line.char_indices().find(|(_, c)| is_hidden(*c)) {
        return Err(Unclear { why: "a character that cannot be seen", at });
    }
    Reader { line, bytes: line.as_bytes(), at: 0, shell }.commands()
}

/// A byte that ends a word where it is not quoted.
pub(super) fn ends_word(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>'))
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn after(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn unclear<T>(&self, why: &'static str) -> Result<T, Unclear> {
        Err(Unclear { why, at: self.at })
    }

    fn commands(mut self) -> Result<Vec<Simple>, Unclear> {
        let mut commands = Vec::new();
        let mut join = Join::First;
        loop {
            self.blank_lines()?;
            let Some(next) = self.peek() else {
                return match join {
                    Join::First | Join::Then if !commands.is_empty() => Ok(commands),
                    Join::First | Join::Then => self.unclear("no command"),
                    Join::And | Join::Or | Join::Pipe => self.unclear("a line that is not finished"),
                };
            };
            if matches!(next, b'&' | b'|' | b';') {
                return self.unclear("an operator without a command before it");
            }
            if commands.len() == MAX_COMMANDS {
                return self.unclear("too many commands");
            }
            commands.push(self.simple(join)?);
            join = self.join()?;
        }
    }

    /// What stands before a command: blanks, newlines, comments on a line of their own.
    fn blank_lines(&mut self) -> Result<(), Unclear> {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(b'#') => self.comment(true)?,
                _ => return Ok(()),
            }
        }
    }

    fn blanks(&mut self) {
        loop {
            match (self.peek(), self.after(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                _ => return,
            }
        }
    }

    /// To the end of the line; a backslash does not continue it. Some zsh know no comments: there one after a command
    /// would be arguments, and one on its own line must not be more than words.
    fn comment(&mut self, own_line: bool) -> Result<(), Unclear> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"# \t.,:_-".contains(byte);
        if self.shell == Shell::Zsh && !(own_line && rest[..length].iter().all(plain)) {
            return self.unclear("a comment");
        }
        self.at += length;
        Ok(())
    }

    fn join(&mut self) -> Result<Join, Unclear> {
        let (join, length) = match (self.peek(), self.after(1)) {
            (None, _) => (Join::Then, 0),
            (Some(b'\n'), _) => (Join::Then, 1),
            (Some(b';'), Some(b';' | b'&' | b'|')) => return self.unclear("the end of a case"),
            (Some(b';'), _) => (Join::Then, 1),
            (Some(b'&'), Some(b'&')) => (Join::And, 2),
            (Some(b'&'), _) => return self.unclear("a command in the background"),
            (Some(b'|'), Some(b'|')) => (Join::Or, 2),
            (Some(b'|'), Some(b'&')) => return self.unclear("`|&`"),
            (Some(b'|'), _) => (Join::Pipe, 1),
            (Some(_), _) => return self.unclear("a character that is not expected here"),
        };
        self.at += length;
        Ok(join)
    }

    fn simple(&mut self, join: Join) -> Result<Simple, Unclear> {
        let start = self.at;
        let mut end = self.at;
        let (mut argv, mut redirects) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            match (self.peek(), self.after(1)) {
                (None | Some(b'\n' | b';' | b'|'), _) => break,
                (Some(b'&'), next) if next != Some(b'>') => break,
                (Some(b'#'), _) => {
                    self.comment(false)?;
                    continue;
                }
                _ => {}
            }
            match self.redirect()? {
                Redirected::To(_) if argv.is_empty() => {
                    return Err(Unclear { why: "a redirection before its command", at: start });
                }
                Redirected::To(redirect) => redirects.push(redirect),
                Redirected::No if argv.is_empty() => argv.push(self.name()?),
                Redirected::No => argv.push(self.word()?),
            }
            end = self.at;
        }
        if argv.is_empty() {
            return self.unclear("no command");
        }
        Ok(Simple { join, argv, redirects, span: start..end })
    }

    /// The program's name is spelled as it is meant, or it is not understood.
    fn name(&mut self) -> Result<Word, Unclear> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| ends_word(Some(byte))).unwrap_or(rest.len());
        let name = &self.line[self.at..self.at + length];
        if KEYWORDS.contains(&name) {
            return self.unclear("control flow");
        }
        if name.contains('=') {
            return self.unclear("an assignment");
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
        if !matches!(name, "[" | ":") && (!name.chars().all(plain) || name.starts_with(['-', '+'])) {
            return self.unclear("the program's name is not plain");
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.unclear("a number instead of a program");
        }
        let span = self.at..self.at + length;
        self.at = span.end;
        Ok(Word::Literal { text: name.to_owned(), span })
    }
}
