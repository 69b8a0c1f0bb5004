//! Reads a shell line tolerantly: it finds every command that may run, and refuses nothing.
//!
//! One pass with a stack of what is open, so it takes time in proportion to the line and does not recurse. For marks only.

use std::collections::HashMap;
use std::mem;
use std::ops::Range;

use super::frame::{Case, Enclosed, Frame, HereDocument, Target};
use super::letters::{Kind, Letter, Word};
use crate::policy::shell::Join;

/// So many substitutions inside each other are followed.
const MAX_FRAMES: usize = 64;

/// A command that may run.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) join: Join,
    /// `NAME=value` before the program.
    pub(super) assigned: Vec<Word>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Texts that it reads: here-strings, and then here-documents.
    pub(super) bodies: Vec<Vec<Letter>>,
    /// The numbers of its here-documents.
    documents: Vec<usize>,
    pub(super) piped: Piped,
    /// Inside `(( ))`, where a shell computes.
    pub(super) computes: bool,
    /// It only ends what stands before it: `done > file`.
    pub(super) closes: bool,
}

impl Run {
    /// A command with these words and nothing else.
    pub(super) fn of(words: Vec<Word>) -> Self {
        Self {
            join: Join::First,
            assigned: Vec::new(),
            words,
            redirects: Vec::new(),
            bodies: Vec::new(),
            documents: Vec::new(),
            piped: Piped::No,
            computes: false,
            closes: false,
        }
    }

    pub(super) fn span(&self) -> Range<usize> {
        let spans = || {
            let redirects = self.redirects.iter().map(|redirect| &redirect.span);
            self.words.iter().chain(&self.assigned).map(|word| &word.span).chain(redirects)
        };
        let only_words = || self.words.iter().map(|word| &word.span);
        if self.words.is_empty() {
            return hull(spans());
        }
        hull(only_words())
    }
}

fn hull<'a>(spans: impl Iterator<Item = &'a Range<usize>> + Clone) -> Range<usize> {
    let start = spans.clone().map(|span| span.start).min().unwrap_or(0);
    start..spans.map(|span| span.end).max().unwrap_or(start)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piped {
    From,
    No,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) writes: Writes,
    pub(super) word: Word,
    /// With its operator.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    No,
    Anew,
    Appends,
}

/// What stands in a text.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) runs: Vec<Run>,
    /// Here-documents in which the shell still looks for substitutions.
    pub(super) expanding: Vec<Vec<Letter>>,
    /// Too much is open at once to follow it.
    pub(super) too_deep: bool,
}

/// A text is a line of commands, or one in which only substitutions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    Commands,
    Substitutions,
}

pub(super) fn read(letters: &[Letter], text: Text) -> Read {
    let mut reader = Reader {
        letters,
        at: 0,
        frames: Vec::new(),
        read: Read::default(),
        bodies: HashMap::new(),
        announced: 0,
    };
    let mut whole = Frame::new(Enclosed::Whole, 0);
    whole.double = text == Text::Substitutions;
    whole.only_substitutions = whole.double;
    reader.frames.push(whole);
    while reader.at < letters.len() {
        reader.step();
    }
    while reader.frames.len() > 1 {
        reader.close();
    }
    if text == Text::Commands {
        reader.end_run(Join::Then);
    }
    let Reader { mut read, mut bodies, .. } = reader;
    for run in &mut read.runs {
        run.bodies.extend(run.documents.iter().filter_map(|number| bodies.remove(number)));
    }
    read
}

struct Reader<'a> {
    letters: &'a [Letter],
    at: usize,
    /// Never empty.
    frames: Vec<Frame>,
    read: Read,
    /// Here-documents by their number.
    bodies: HashMap<usize, Vec<Letter>>,
    announced: usize,
}

impl Reader<'_> {
    fn c(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).map(|letter| letter.c)
    }

    fn top(&mut self) -> &mut Frame {
        // The first frame is never closed.
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Where the letter at this place begins in the input; behind the last letter, where that ends.
    fn place(&self, at: usize) -> usize {
        let end = || self.letters.last().map_or(0, |last| last.to);
        self.letters.get(at).map_or_else(end, |letter| letter.from)
    }

    fn end_before(&self, at: usize) -> usize {
        at.checked_sub(1).and_then(|last| self.letters.get(last)).map_or(0, |letter| letter.to)
    }

    fn step(&mut self) {
        let letter = self.letters[self.at];
        if self.top().double {
            self.quoted(letter);
        } else if self.top().kind == Enclosed::Parameter {
            self.parameter(letter);
        } else {
            self.plain(letter);
        }
    }

    /// In double quotes, or in a text of which only substitutions count.
    fn quoted(&mut self, letter: Letter) {
        let only_substitutions = self.top().only_substitutions;
        match letter.c {
            '"' if !only_substitutions => {
                self.top().double = false;
                self.at += 1;
            }
            '\\' => match self.c(1) {
                Some('\n') => self.at += 2,
                Some('$' | '`' | '"' | '\\') => {
                    self.at += 1;
                    self.put(self.letters[self.at], Kind::Quoted);
                }
                _ => self.put(letter, Kind::Quoted),
            },
            '`' => self.backtick(),
            '$' => self.dollar(),
            _ => self.put(letter, Kind::Quoted),
        }
    }

    /// Between `${` and `}`.
    fn parameter(&mut self, letter: Letter) {
        match letter.c {
            '}' => self.close(),
            '"' => {
                self.top().double = true;
                self.at += 1;
            }
            '\\' => {
                self.put(letter, Kind::Expanded);
                if self.at < self.letters.len() {
                    self.put(self.letters[self.at], Kind::Expanded);
                }
            }
            '`' => self.backtick(),
            '$' => self.dollar(),
            _ => self.put(letter, Kind::Expanded),
        }
    }

    fn plain(&mut self, letter: Letter) {
        let case = self.top().case();
        match letter.c {
            ' ' | '\t' | '\r' => self.skip_after(Self::end_word),
            '\n' => {
                self.end_run(Join::Then);
                self.at += 1;
                self.here_documents();
            }
            '\\' => match self.c(1) {
                None | Some('\n') => self.at += 2,
                Some(_) => {
                    self.top().begin(letter.from);
                    self.at += 1;
                    self.put(self.letters[self.at], Kind::Quoted);
                }
            },
            '\'' => self.single(),
            '"' => {
                self.top().begin(letter.from);
                self.top().double = true;
                self.at += 1;
            }
            '`' => self.backtick(),
            '$' => self.dollar(),
            '#' if self.top().word.is_none() => {
                while self.c(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            '|' | '(' if case == Some(Case::Pattern) => self.skip_after(Self::end_word),
            ')' if case == Some(Case::Pattern) => {
                self.top().forget();
                self.top().set_case(Case::Body);
                self.at += 1;
            }
            ';' => {
                self.end_run(Join::Then);
                let ends_case = matches!(self.c(1), Some(';' | '&')) && case.is_some();
                if ends_case {
                    self.top().set_case(Case::Pattern);
                }
                self.at += if ends_case { 2 } else { 1 };
            }
            '&' => match self.c(1) {
                Some('>') => self.redirect(1),
                Some('&') => self.end_run_by(Join::And, 2),
                _ => self.end_run_by(Join::Then, 1),
            },
            '|' => match self.c(1) {
                Some('|') => self.end_run_by(Join::Or, 2),
                Some('&') => self.end_run_by(Join::Pipe, 2),
                _ => self.end_run_by(Join::Pipe, 1),
            },
            '(' => self.parenthesis(),
            ')' => self.closing(),
            '<' | '>' if self.top().computes => self.skip_after(Self::end_word),
            '<' | '>' if self.c(1) == Some('(') => self.open(Enclosed::Process, 2),
            '<' | '>' => self.redirect(0),
            _ => self.put(letter, Kind::Plain),
        }
    }

    fn skip_after(&mut self, act: fn(&mut Self)) {
        act(self);
        self.at += 1;
    }

    fn put(&mut self, letter: Letter, kind: Kind) {
        self.top().put(Letter { kind, ..letter });
        self.at += 1;
    }

    fn single(&mut self) {
        let from = self.letters[self.at].from;
        self.top().begin(from);
        self.at += 1;
        while let Some(letter) = self.letters.get(self.at).copied() {
            if letter.c == '\'' {
                self.at += 1;
                return;
            }
            self.put(letter, Kind::Quoted);
        }
    }

    /// `$'…'`
    fn escaped(&mut self) {
        let from = self.letters[self.at].from;
        self.top().begin(from);
        self.at += 2;
        while let Some(letter) = self.letters.get(self.at).copied() {
            match letter.c {
                '\'' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    let rest = &self.letters[self.at + 1..];
                    let (c, taken) = crate::policy::shell::escapes::read(rest.iter().map(|letter| letter.c));
                    let to = self.end_before((self.at + 1 + taken).min(self.letters.len()));
                    self.top().put(Letter { c, from: letter.from, to, kind: Kind::Quoted });
                    self.at += 1 + taken;
                }
                _ => self.put(letter, Kind::Quoted),
            }
        }
    }

    fn dollar(&mut self) {
        let double = self.top().double;
        match self.c(1) {
            Some('(') if self.c(2) == Some('(') => self.open(Enclosed::Arithmetic { expands: true }, 3),
            Some('(') => self.open(Enclosed::Substitution, 2),
            Some('{') => self.open(Enclosed::Parameter, 2),
            Some('\'') if !double => self.escaped(),
            Some('"') if !double => self.at += 1,
            Some(c)
                if c.is_ascii_alphanumeric()
                    || matches!(c, '_' | '@' | '*' | '#' | '?' | '!' | '-' | '$') =>
            {
                self.put(self.letters[self.at], Kind::Expanded);
                self.put(self.letters[self.at], Kind::Expanded);
                let is_name = c.is_ascii_alphabetic() || c == '_';
                while is_name && self.c(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.put(self.letters[self.at], Kind::Expanded);
                }
            }
            _ => self.put(self.letters[self.at], Kind::Quoted),
        }
    }

    fn backtick(&mut self) {
        if self.frames.iter().any(|frame| frame.kind == Enclosed::Backtick) {
            while self.top().kind != Enclosed::Backtick {
                self.close_without_a_letter();
            }
            self.close();
        } else {
            self.open(Enclosed::Backtick, 1);
        }
    }

    fn parenthesis(&mut self) {
        let doubled = self.c(1) == Some('(');
        let frame = self.top();
        let is_bare = frame.word.is_none() && frame.is_at_command();
        let assigns =
            frame.word.as_ref().is_some_and(|word| word.letters.last().is_some_and(|last| last.c == '='));
        match is_bare {
            _ if assigns => self.open(Enclosed::Array, 1),
            true if doubled => self.open(Enclosed::Arithmetic { expands: false }, 2),
            true => self.open(Enclosed::Subshell, 1),
            false => {
                self.end_run(Join::Then);
                self.open(Enclosed::Subshell, 1);
            }
        }
    }

    fn closing(&mut self) {
        let kind = self.top().kind;
        match kind {
            Enclosed::Arithmetic { .. } if self.c(1) == Some(')') => {
                self.close();
                self.at += 1;
            }
            // It was no arithmetic: `$((a) | b)`.
            Enclosed::Arithmetic { .. } => {
                self.end_run_by(Join::Then, 1);
                self.top().kind = Enclosed::Subshell;
            }
            Enclosed::Substitution | Enclosed::Process | Enclosed::Subshell | Enclosed::Array => self.close(),
            Enclosed::Whole | Enclosed::Backtick | Enclosed::Parameter => self.end_run_by(Join::Then, 1),
        }
    }

    fn open(&mut self, kind: Enclosed, taken: usize) {
        let start = self.place(self.at);
        let outer = self.top();
        let (computes, piped) = (outer.computes, outer.piped);
        if kind != Enclosed::Subshell && !matches!(kind, Enclosed::Arithmetic { expands: false }) {
            outer.begin(start);
        }
        let mut frame = Frame::new(kind, start);
        frame.computes =
            matches!(kind, Enclosed::Arithmetic { .. }) || (computes && kind == Enclosed::Subshell);
        if kind == Enclosed::Subshell {
            frame.piped = piped;
        }
        self.at += taken;
        if self.frames.len() < MAX_FRAMES {
            self.frames.push(frame);
        } else {
            self.read.too_deep = true;
        }
    }

    /// At the letter that closes the innermost frame, or at the end of the text.
    fn close(&mut self) {
        self.close_without_a_letter();
        self.at += 1;
    }

    fn close_without_a_letter(&mut self) {
        let end = self.letters.get(self.at).map_or_else(|| self.end_before(self.at), |letter| letter.to);
        if self.top().kind != Enclosed::Parameter {
            self.end_run(Join::Then);
        }
        if self.frames.len() == 1 {
            return;
        }
        let Some(closed) = self.frames.pop() else { return };
        let outer = self.top();
        outer.here_documents.extend(closed.here_documents);
        let mark = |c, from, to| Letter { c, from, to, kind: Kind::Expanded };
        let start = closed.start;
        match closed.kind {
            Enclosed::Parameter => {
                outer.put(mark('$', start, end));
                outer.put(mark('{', start, end));
                for letter in closed.word.into_iter().flat_map(|word| word.letters) {
                    outer.put(Letter { kind: Kind::Expanded, ..letter });
                }
                outer.put(mark('}', start, end));
            }
            Enclosed::Process => "<()".chars().for_each(|c| outer.put(mark(c, start, end))),
            Enclosed::Substitution | Enclosed::Backtick | Enclosed::Arithmetic { expands: true } => {
                "$()".chars().for_each(|c| outer.put(mark(c, start, end)));
            }
            Enclosed::Array => {}
            Enclosed::Whole | Enclosed::Subshell | Enclosed::Arithmetic { expands: false } => {
                outer.after_group = true;
            }
        }
    }

    /// At `<` or `>`, or so many letters before it.
    fn redirect(&mut self, ahead: usize) {
        let frame = self.top();
        // `2>file`
        if frame.word.as_ref().is_some_and(|word| word.letters.iter().all(|letter| letter.c.is_ascii_digit()))
        {
            frame.word = None;
        }
        self.end_word();
        let start = self.place(self.at);
        self.at += ahead;
        let (target, taken) = match (self.c(0), self.c(1), self.c(2)) {
            (Some('<'), Some('<'), Some('<')) => (Target::HereString, 3),
            (Some('<'), Some('<'), Some('-')) => (Target::HereDocument { tabs: true }, 3),
            (Some('<'), Some('<'), _) => (Target::HereDocument { tabs: false }, 2),
            (Some('<'), Some('>'), _) => (Target::File(Writes::Appends), 2),
            (Some('<'), Some('&'), _) => (Target::File(Writes::No), 2),
            (Some('<'), _, _) => (Target::File(Writes::No), 1),
            (_, Some('>'), _) => (Target::File(Writes::Appends), 2),
            (_, Some('|' | '&' | '!'), _) => (Target::File(Writes::Anew), 2),
            _ => (Target::File(Writes::Anew), 1),
        };
        self.at += taken;
        self.top().target = Some((target, start));
    }

    fn end_word(&mut self) {
        let end = self.end_before(self.at);
        let Some(word) = self.top().word.take() else { return };
        let word = Word::new(word.letters, word.start..end.max(word.start));
        let frame = self.top();
        let Some((target, start)) = frame.target.take() else {
            frame.take(word);
            return;
        };
        match target {
            Target::HereString => frame.run.bodies.push(word.letters),
            Target::HereDocument { tabs } => {
                let expands = word.letters.iter().all(|letter| letter.kind != Kind::Quoted);
                let number = self.announced;
                self.announced += 1;
                let frame = self.top();
                frame.here_documents.push(HereDocument { end: word.text, tabs, expands, number });
                frame.run.documents.push(number);
            }
            // `2>&1` opens no file.
            Target::File(_) if word.text == "-" || word.text.bytes().all(|c| c.is_ascii_digit()) => {}
            Target::File(writes) => {
                frame.run.redirects.push(Redirect { writes, span: start..word.span.end, word });
            }
        }
    }

    fn end_run_by(&mut self, next: Join, taken: usize) {
        self.end_run(next);
        self.at += taken;
    }

    /// What follows is joined like this.
    fn end_run(&mut self, next: Join) {
        self.end_word();
        let frame = self.top();
        if frame.case() == Some(Case::Pattern) {
            frame.forget();
            return;
        }
        let run = mem::take(&mut frame.run);
        let is_empty = run.words.is_empty() && run.assigned.is_empty() && run.redirects.is_empty();
        if !(is_empty && run.bodies.is_empty() && run.documents.is_empty()) && frame.kind != Enclosed::Array {
            let found = Run {
                join: frame.join,
                assigned: run.assigned,
                words: run.words,
                redirects: run.redirects,
                bodies: run.bodies,
                documents: run.documents,
                piped: frame.piped,
                computes: frame.computes,
                closes: run.closes || frame.after_group,
            };
            self.read.runs.push(found);
        }
        let frame = self.top();
        frame.after_group = false;
        frame.join = next;
        frame.piped = if next == Join::Pipe { Piped::From } else { Piped::No };
    }

    /// The texts that were announced on the line before.
    fn here_documents(&mut self) {
        for document in mem::take(&mut self.top().here_documents) {
            let start = self.at;
            let end = loop {
                let line = self.at;
                let rest = &self.letters[line..];
                let length = rest.iter().position(|letter| letter.c == '\n').unwrap_or(rest.len());
                self.at = (line + length + 1).min(self.letters.len());
                let tabs = rest.iter().take_while(|letter| document.tabs && letter.c == '\t').count();
                let is_end =
                    rest[tabs.min(length)..length].iter().map(|letter| letter.c).eq(document.end.chars());
                if is_end || self.at == self.letters.len() {
                    break if is_end { line } else { self.letters.len() };
                }
            };
            let body = self.letters[start..end.max(start)].to_vec();
            if document.expands {
                self.read.expanding.push(body.clone());
            }
            self.bodies.insert(document.number, body);
        }
    }
}
