//! Reads a shell line, strictly.
//!
//! [`read`] understands the part of the shell whose meaning does not depend on what runs: words and quotes, commands
//! joined by `&&`, `||`, `;`, `|` and newlines, redirections to a literal file, comments. Everything else is
//! [`Line::Unclear`], with the place and the reason. It never guesses: what is plain here means the same in bash, dash and
//! zsh when they are started as `SHELL -c LINE`. Tests ask the shells themselves.

mod braces;
mod characters;
pub mod escapes;
pub mod loose;
mod quote;
mod reader;
mod redirect;
mod text_block;
mod word;

use std::ops::Range;

pub use braces::braces;
pub use characters::is_hidden;
pub use holdstead_protocol::Shell;
pub use quote::quote;

/// The most that is read. A longer line is unclear.
pub const MAX_BYTES: usize = 1024 * 1024;
/// More commands than a person can follow are unclear.
pub const MAX_COMMANDS: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// These commands and no others, each with exactly these words. Never empty.
    Plain(Vec<Simple>),
    Unclear(Unclear),
}

/// Why a line was not understood, and the byte where reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclear {
    pub why: &'static str,
    pub at: usize,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    pub join: Join,
    /// The program's name first, which is always literal.
    pub argv: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub span: Range<usize>,
}

impl Simple {
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", Word::text)
    }
}

/// How a command follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    First,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a newline
    Then,
    /// `|`
    Pipe,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The argument exactly as the program gets it.
    Literal { text: String, span: Range<usize> },
    /// Stands for any number of names, all of which begin with `prefix`, or for `text` if there are none.
    Pattern { prefix: String, text: String, span: Range<usize> },
}

impl Word {
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal { text, .. } => Some(text),
            Self::Pattern { .. } => None,
        }
    }

    /// As it was written, without quotes.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal { text, .. } | Self::Pattern { text, .. } => text,
        }
    }

    pub fn span(&self) -> Range<usize> {
        match self {
            Self::Literal { span, .. } | Self::Pattern { span, .. } => span.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect {
    /// `< file`
    Read { path: String, span: Range<usize> },
    /// `> file`, `>> file`, `&> file`
    Write { path: String, span: Range<usize> },
    /// `2>&1`, `>&2`: no file is opened.
    Duplicate,
}

/// Takes time in proportion to the line, does not recurse, and is total.
pub fn read(line: &str, shell: Shell) -> Line {
    match reader::read(line, shell) {
        Ok(commands) => Line::Plain(commands),
        Err(unclear) => Line::Unclear(unclear),
    }
}

#[cfg(test)]
mod tests;
