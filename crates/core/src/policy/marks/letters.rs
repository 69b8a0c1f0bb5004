//! Text whose every letter knows where it stands in the input, also after quotes were taken away.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) c: char,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// A shell gives it no meaning.
    Quoted,
    /// It stands for a text that is not known.
    Expanded,
}

pub(super) fn letters(text: &str) -> Vec<Letter> {
    let letter = |(from, c): (usize, char)| Letter { c, from, to: from + c.len_utf8(), kind: Kind::Plain };
    text.char_indices().map(letter).collect()
}

/// A word of a command, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) letters: Vec<Letter>,
    pub(super) text: String,
    /// With its quotes.
    pub(super) span: Range<usize>,
}

impl Word {
    pub(super) fn new(letters: Vec<Letter>, span: Range<usize>) -> Self {
        Self { text: letters.iter().map(|letter| letter.c).collect(), letters, span }
    }

    pub(super) fn is_expanded(&self) -> bool {
        self.letters.iter().any(|letter| letter.kind == Kind::Expanded)
    }

    /// Whether its last name depends on what runs: `$x`, `/bin/r?`, `{rm,-rf}`, but not `$HOME/bin/tool`.
    pub(super) fn is_unknown_name(&self) -> bool {
        let name = self.letters.rsplit(|letter| letter.c == '/' && letter.kind != Kind::Expanded).next();
        let name = name.unwrap_or(&self.letters);
        let plain = |wanted: char| name.iter().any(|letter| letter.c == wanted && letter.kind == Kind::Plain);
        let is_test = matches!(self.text.as_str(), "[" | "[[");
        let braces = self.letters.first().is_some_and(|first| first.c == '{' && first.kind == Kind::Plain);
        name.iter().any(|letter| letter.kind == Kind::Expanded)
            || (!is_test && (plain('*') || plain('?') || plain('[')))
            || (braces && self.text.contains(','))
    }

    /// From this letter on.
    pub(super) fn after(&self, count: usize) -> Self {
        let letters = self.letters.get(count..).unwrap_or_default().to_vec();
        let from = letters.first().map_or(self.span.end, |letter| letter.from);
        Self::new(letters, from..self.span.end)
    }
}

/// Words with a blank between them, as one line.
pub(super) fn joined(words: &[Word]) -> Vec<Letter> {
    let mut line = Vec::new();
    for word in words {
        let at = word.span.start;
        line.push(Letter { c: ' ', from: at, to: at, kind: Kind::Plain });
        line.extend(&word.letters);
    }
    line
}
