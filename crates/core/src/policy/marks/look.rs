//! Marks of a shell line: of every command that may run in it, however it is wrapped.

use std::collections::HashMap;
use std::ops::Range;

use super::code::{self, Code, Reads};
use super::frame::assigns;
use super::letters::{Letter, Word, joined, letters};
use super::places::Outside;
use super::reader::{self, Piped, Read, Run, Text};
use super::variables::{Variables, of_assignment};
use super::wrappers::{self, Inner};
use super::written::{Written, remember};
use super::{Found, Risk, programs, secrets, sends, sql, table};
use crate::policy::call::Facts;
use crate::policy::programs::base_name;

/// Lines inside lines are followed so deep.
const MAX_DEPTH: usize = 8;
/// Wrappers of one command.
const MAX_HOPS: usize = 16;
/// All that is read for one line, as a multiple of its letters.
const MAX_WORK: usize = 16;

pub(super) fn marks(line: &str, facts: &Facts<'_>) -> Vec<Found> {
    let letters = letters(line);
    let mut look = Look::new(facts, letters.len());
    look.text(&letters, Text::Commands, 0);
    look.found
}

/// The marks of one command whose words are known: `["rm", "-rf", "x"]`.
pub(super) fn marks_of_words(words: &[&str], facts: &Facts<'_>) -> Vec<Risk> {
    let mut line: Vec<Word> = Vec::new();
    for text in words {
        let mut letters = letters(text);
        letters.iter_mut().for_each(|letter| letter.kind = super::letters::Kind::Quoted);
        line.push(Word::new(letters, 0..0));
    }
    let run = Run::of(line);
    let mut look = Look::new(facts, words.iter().map(|word| word.len()).sum());
    look.run(&run, &[], 0);
    look.found.into_iter().map(|(_, risk)| risk).collect()
}

pub(super) struct Look<'a> {
    pub(super) found: Vec<Found>,
    outside: Outside<'a>,
    /// So many letters may still be read.
    left: usize,
    variables: Variables,
    written: HashMap<String, Written>,
}

/// What surrounds a command.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    run: &'a Run,
    /// What writes into it, from the first.
    upstream: &'a [Run],
    depth: usize,
    hops: usize,
}

impl<'a> Look<'a> {
    fn new(facts: &'a Facts<'a>, length: usize) -> Self {
        Self {
            found: Vec::new(),
            outside: Outside::new(facts),
            left: length * MAX_WORK,
            variables: Variables::default(),
            written: HashMap::new(),
        }
    }

    fn mark(&mut self, span: Range<usize>, risk: Risk) {
        self.found.push((span, risk));
    }

    fn text(&mut self, letters: &[Letter], text: Text, depth: usize) {
        let Some((first, last)) = letters.first().zip(letters.last()) else { return };
        let whole = first.from..last.to;
        let Some(left) = self.left.checked_sub(letters.len()).filter(|_| depth <= MAX_DEPTH) else {
            // This reader cannot follow it, and it runs.
            return self.mark(whole, Risk::RunsCode);
        };
        self.left = left;
        let Read { runs, expanding, too_deep } = reader::read(letters, text);
        if too_deep {
            self.mark(whole, Risk::RunsCode);
        }
        let folders = self.outside.folders.clone();
        self.variables.learn(&runs);
        for (at, run) in runs.iter().enumerate() {
            let piped = runs[..at].iter().rev().take_while(|run| run.piped == Piped::From).count();
            let from = if run.piped == Piped::From { at.saturating_sub(piped + 1) } else { at };
            let next = runs.get(at + 1).filter(|next| next.piped == Piped::From);
            let marked = self.found.len();
            self.run(run, &runs[from..at], depth);
            if next.is_some_and(|next| secrets::is_filtered(&run.words, &next.words)) {
                let others = self.found.split_off(marked);
                self.found.extend(others.into_iter().filter(|(_, risk)| *risk != Risk::Credentials));
            }
        }
        if depth > 0 {
            self.outside.folders = folders;
        }
        for body in expanding {
            self.text(&body, Text::Substitutions, depth + 1);
        }
    }

    fn run(&mut self, run: &Run, upstream: &[Run], depth: usize) {
        self.outside.folders.join(run.join);
        let declares = matches!(
            run.words.first().map(|word| word.text.as_str()),
            Some("export" | "declare" | "typeset" | "local" | "readonly" | "env" | "sudo" | "alias")
        );
        for word in run.assigned.iter().chain(run.words.iter().filter(|_| declares)) {
            self.assigned(word, run, depth);
        }
        self.redirects(run);
        let around = Around { run, upstream, depth, hops: 0 };
        if !run.words.is_empty() {
            self.command(&run.words, around);
            self.outside.follow(&run.words);
        }
        remember(&mut self.written, run, upstream);
    }

    fn assigned(&mut self, word: &Word, run: &Run, depth: usize) {
        let Some((name, value)) = assigns(&word.text) else { return };
        let value = word.after(value);
        let is_alias = run.words.first().is_some_and(|word| word.text == "alias");
        match of_assignment(name, &value) {
            Some(risk) => self.mark(word.span.clone(), risk),
            None if is_alias || super::variables::is_run(name) => {
                self.text(&value.letters, Text::Commands, depth + 1);
            }
            None => {}
        }
    }

    fn redirects(&mut self, run: &Run) {
        for redirect in &run.redirects {
            let path = &redirect.word;
            let writes = redirect.writes != reader::Writes::No;
            let is_setting = base_name(&path.text).starts_with(".env");
            if path.text.starts_with("/dev/tcp/") || path.text.starts_with("/dev/udp/") {
                self.mark(redirect.span.clone(), Risk::Sends);
            } else if writes && self.outside.leads_out(&path.text) {
                self.mark(redirect.span.clone(), Risk::WritesOutside);
            }
            if writes && runs_later(&path.text) {
                self.mark(redirect.span.clone(), Risk::RunsCode);
            }
            if secrets::names_secret(&path.text) && !(writes && is_setting) {
                self.mark(redirect.span.clone(), Risk::Credentials);
            }
            if redirect.writes == reader::Writes::Anew
                && programs::writes_nothing(run)
                && !path.text.starts_with("/dev/")
            {
                let span = run.span();
                let (start, end) = (span.start.min(redirect.span.start), span.end.max(redirect.span.end));
                self.mark(start..end, Risk::Destroys);
            }
        }
    }

    fn command(&mut self, words: &[Word], around: Around<'_>) {
        let Some(program) = words.first().filter(|_| around.hops < MAX_HOPS) else { return };
        let span = around.span();
        if (program.is_unknown_name() && !around.run.computes) || matches!(program.text.as_str(), "{}" | "%")
        {
            let known = self.variables.known(program).filter(|_| around.hops == 0);
            let Some(values) = known else { return self.mark(span, Risk::RunsCode) };
            for value in values {
                let value = value.split_whitespace().map(|text| Word {
                    text: text.to_owned(),
                    letters: letters(text),
                    span: program.span.clone(),
                });
                let words: Vec<Word> = value.chain(words[1..].iter().cloned()).collect();
                self.command(&words, around.inside());
            }
            return;
        }
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        self.found.extend(table::risks(&texts).map(|risk| (span.clone(), risk)));
        self.found.extend(programs::risks(words, around.run).into_iter().map(|risk| (span.clone(), risk)));
        self.found.extend(sends::risk(words).map(|risk| (span.clone(), risk)));
        if self.outside.is_left_by(&texts) {
            self.mark(span.clone(), Risk::WritesOutside);
        }
        self.found
            .extend(secrets::shown(words).into_iter().map(|word| (word.span.clone(), Risk::Credentials)));
        self.statements(words, around);
        self.code(words, around);
        for inner in wrappers::inner(words) {
            match inner {
                Inner::Command(words) => self.command(&words, around.inside()),
                Inner::Line(line) => self.text(&line, Text::Commands, around.depth + 1),
            }
        }
    }

    /// SQL for a database, wherever it comes from.
    fn statements(&mut self, words: &[Word], around: Around<'_>) {
        if !sql::CLIENTS.contains(&base_name(&words[0].text)) {
            return;
        }
        let given = words[1..].iter().map(|word| word.letters.as_slice());
        let read = around.run.bodies.iter().chain(around.upstream.iter().flat_map(|run| &run.bodies));
        let printed = around
            .upstream
            .iter()
            .flat_map(|run| run.words.iter().skip(1))
            .map(|word| word.letters.as_slice());
        for letters in given.chain(read.map(Vec::as_slice)).chain(printed) {
            let text: String = letters.iter().map(|letter| letter.c).collect();
            for (range, risk) in sql::risks(&text, sql::Sure::Yes) {
                let count = |at: usize| text.get(..at).map_or(0, |text| text.chars().count());
                let part = letters.get(count(range.start)..count(range.end)).unwrap_or_default();
                if let Some((first, last)) = part.first().zip(part.last()) {
                    self.found.push((first.from..last.to, risk));
                }
            }
        }
    }

    fn code(&mut self, words: &[Word], around: Around<'_>) {
        let (run, depth) = (around.run, around.depth);
        let name = base_name(&words[0].text);
        match name {
            "eval" => {
                self.mark(around.span(), Risk::RunsCode);
                return self.text(&joined(&words[1..]), Text::Commands, depth + 1);
            }
            "trap" => {
                let line = words.get(1).map_or(&[][..], |line| line.letters.as_slice());
                return self.text(line, Text::Commands, depth + 1);
            }
            "source" | "." => return self.script(Reads::Shell, &words[1..], around),
            "ssh" | "su" if wrappers::inner(words).is_empty() => {
                return run.bodies.iter().for_each(|body| self.text(body, Text::Commands, depth + 1));
            }
            _ => {}
        }
        match code::code(words) {
            None => {
                let is_file = words[0].text.contains('/');
                if is_file {
                    self.script(Reads::OtherCode, words, around);
                }
            }
            Some(Code::Line(line)) => self.text(&line, Text::Commands, depth + 1),
            Some(Code::Inline) => self.mark(around.span(), Risk::RunsCode),
            Some(Code::Script(reads, words)) => {
                self.script(reads, &words, around);
                let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
                self.found.extend(table::risks(&texts).map(|risk| (around.span(), risk)));
            }
            Some(Code::Input(Reads::Shell)) if !run.bodies.is_empty() => {
                run.bodies.iter().for_each(|body| self.text(body, Text::Commands, depth + 1));
            }
            Some(Code::Input(_)) => {
                let substituted = run.redirects.iter().any(|redirect| redirect.word.text.starts_with("<("));
                if substituted || !run.bodies.is_empty() {
                    self.mark(around.span(), Risk::RunsCode);
                } else if run.piped == Piped::From {
                    self.mark(around.span(), Risk::PipesToShell);
                }
            }
        }
    }

    /// A file is run: what this very line wrote into it is known.
    fn script(&mut self, reads: Reads, words: &[Word], around: Around<'_>) {
        let Some(file) = words.first() else { return };
        if file.text.starts_with("<(") || file.text == "/dev/stdin" {
            return self.mark(around.span(), Risk::RunsCode);
        }
        match self.written.get(super::written::name(&file.text)).cloned() {
            None => {}
            Some(Written::Unknown) => self.mark(around.span(), Risk::RunsCode),
            Some(Written::Text(text)) => {
                let code: String = text.iter().map(|letter| letter.c).collect();
                if reads == Reads::OtherCode && code::is_risky(&code) {
                    self.mark(around.span(), Risk::RunsCode);
                }
                if reads == Reads::Shell || !words[0].text.contains(".py") {
                    self.text(&text, Text::Commands, around.depth + 1);
                }
            }
        }
    }
}

/// Whether Git runs what stands in this file.
fn runs_later(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    folders.any(|folder| matches!(folder, "hooks" | ".husky" | ".githooks"))
}

impl Around<'_> {
    fn span(&self) -> Range<usize> {
        self.run.span()
    }

    fn inside(self) -> Self {
        Self { hops: self.hops + 1, ..self }
    }
}
