//! What is risky in a call, for the person who is asked about it. Each mark quotes the part of the input that it stands on.
//!
//! A mark allows and denies nothing; what is marked wants a second act, and a passkey where a person requires one. Words in
//! prose are never marked: what is looked at is run, written, sent or opened.

mod code;
mod fields;
mod frame;
mod letters;
mod look;
mod places;
mod programs;
mod reader;
mod secrets;
mod sends;
mod sql;
mod table;
mod variables;
mod wrappers;
mod written;

use std::collections::BTreeMap;
use std::ops::Range;

pub use holdstead_protocol::Risk;
use holdstead_protocol::{CallMark, Meaning, PermissionMode};
use serde_json::Value;

use super::call::{Call, Facts, Subject};
use super::judge::told_marks;
use super::lookup::{Asked, Place, Places};
use super::paths;
use super::programs::Spelling;
use super::rules::Trust;
use super::variables::NO_VARIABLES;
use letters::{Kind, Word, letters};
use secrets::{carries_secret, names_secret};
pub(super) use table::{operands, values_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Where in the input, as a JSON pointer: `/command`.
    pub field: String,
    /// Where in the text of the field. Empty where the whole field is meant.
    pub span: Range<usize>,
    pub risk: Risk,
}

impl Mark {
    fn place(&self) -> (&str, usize, usize, Risk) {
        (&self.field, self.span.start, self.span.end, self.risk)
    }
}

/// A risk, and where in a text.
type Found = (Range<usize>, Risk);

/// So many marks of one risk are told: nobody reads more.
const MAX_OF_A_RISK: usize = 8;

/// Folders for what is thrown away: agents write there all day.
const SCRATCH: [&str; 3] = ["/tmp/", "/var/tmp/", "/private/tmp/"];

/// What a command does by its name and its words alone.
pub(super) fn risks(words: &[String]) -> Vec<Risk> {
    let word = |text: &String| {
        let mut letters = letters(text);
        letters.iter_mut().for_each(|letter| letter.kind = Kind::Quoted);
        Word::new(letters, 0..0)
    };
    let line: Vec<Word> = words.iter().map(word).collect();
    let run = reader::Run::of(line);
    table::risks(words).chain(programs::risks(&run.words, &run)).collect()
}

/// The marks of a call, from left to right in each field. `listed` are words of a person's own, looked for in all of the
/// input.
pub fn marks(call: &Call<'_>, facts: &Facts<'_>, listed: &[String]) -> Vec<Mark> {
    let mut marks = Vec::new();
    match call.meaning.subject {
        Subject::Shell { field, .. } => of_text(call, field, &mut marks, |line| look::marks(line, facts)),
        Subject::Reads { field } | Subject::Searches { field, .. } | Subject::ReadsBelow { field, .. } => {
            of_text(call, field, &mut marks, |path| of_path(path, facts).secret)
        }
        Subject::Edits { field } => of_text(call, field, &mut marks, |path| {
            let OfPath { mut secret, outside } = of_path(path, facts);
            secret.extend(outside);
            secret
        }),
        Subject::Fetches { field } => of_text(call, field, &mut marks, secret),
        Subject::Whole => marks = fields::marks(call.input, facts),
    }
    let listed: Vec<String> =
        listed.iter().filter(|word| !word.is_empty()).map(|word| word.to_ascii_lowercase()).collect();
    if !listed.is_empty() {
        each_text(call.input, "", &mut |field, text| {
            let spans = found(text.text, &listed).map(|span| text.span(span));
            marks.extend(spans.map(|span| Mark { field: field.to_owned(), span, risk: Risk::Listed }));
        });
    }
    marks.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
    marks.dedup();
    let mut counts: BTreeMap<Risk, usize> = BTreeMap::new();
    marks.retain(|mark| {
        let count = counts.entry(mark.risk).or_default();
        *count += 1;
        *count <= MAX_OF_A_RISK
    });
    marks
}

/// The marks of a call of which no driver tells what it means, and that runs in a folder that is not known: what a program or
/// a tool asks about.
pub fn marks_of_input(tool: &str, input: &Value, listed: &[String]) -> Vec<CallMark> {
    let meaning = Meaning { subject: Subject::Whole, harmless: &[] };
    let facts = Facts {
        agent: "",
        mode: PermissionMode::Default,
        depth: None,
        folder: "",
        cwd: None,
        home: None,
        trust: Trust::Untrusted,
        runs: &[],
        places: &Places::default(),
        variables: &NO_VARIABLES,
    };
    told_marks(&marks(&Call { tool, input, meaning }, &facts, listed), input)
}

/// The marks of the field that the call is about, if it is a text.
fn of_text(call: &Call<'_>, field: &str, marks: &mut Vec<Mark>, found: impl FnOnce(&str) -> Vec<Found>) {
    if let Some(text) = call.input.get(field).and_then(Value::as_str) {
        let field = pointer("", field);
        marks.extend(found(text).into_iter().map(|(span, risk)| Mark { field: field.clone(), span, risk }));
    }
}

fn secret(text: &str) -> Vec<Found> {
    carries_secret(text).then_some((0..text.len(), Risk::Credentials)).into_iter().collect()
}

struct OfPath {
    secret: Vec<Found>,
    outside: Option<Found>,
}

/// As the path is written, and where it leads if somebody looked that up.
fn of_path(path: &str, facts: &Facts<'_>) -> OfPath {
    let base = facts.cwd.unwrap_or(facts.folder);
    let led = match place(path, base, facts) {
        Some(Place::Inside(paths)) => paths.as_slice(),
        Some(Place::Outside) | None => &[],
    };
    let whole = 0..path.len();
    let is_secret = names_secret(path) || led.iter().any(|path| names_secret(path));
    OfPath {
        secret: is_secret.then(|| (whole.clone(), Risk::Credentials)).into_iter().collect(),
        outside: leaves(path, base, facts).then_some((whole, Risk::WritesOutside)),
    }
}

fn place<'a>(path: &str, base: &str, facts: &Facts<'a>) -> Option<&'a Place> {
    facts.places.path(&Asked { path: paths::join(base, path), spelling: Spelling::Literal })
}

/// Whether writing this path from this folder writes outside the session's.
fn leaves(path: &str, base: &str, facts: &Facts<'_>) -> bool {
    if matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path.starts_with("/dev/fd/")
    {
        return false;
    }
    let normal = paths::normal(&paths::join(base, path));
    let is_scratch = |path: &String| SCRATCH.iter().any(|folder| path.starts_with(folder));
    if normal.as_ref().is_some_and(is_scratch) && !path.starts_with('~') {
        return false;
    }
    let inside = normal.as_deref().and_then(|path| paths::inside(facts.folder, path)).is_some();
    path.starts_with('~') || !inside || place(path, base, facts) == Some(&Place::Outside)
}

/// Some text of an input.
struct Text<'a> {
    text: &'a str,
    /// Whether it is what the field holds as a text, and not the field's name or a number.
    is_value: bool,
}

impl Text<'_> {
    fn span(&self, span: Range<usize>) -> Range<usize> {
        if self.is_value { span } else { 0..0 }
    }
}

/// Every text of the input, with where it is.
fn each_text(input: &Value, at: &str, each: &mut impl FnMut(&str, Text<'_>)) {
    match input {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => each(at, Text { text: &number.to_string(), is_value: false }),
        Value::String(text) => each(at, Text { text, is_value: true }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, &pointer(at, &index.to_string()), each);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let below = pointer(at, name);
                each(&below, Text { text: name, is_value: false });
                each_text(value, &below, each);
            }
        }
    }
}

/// RFC 6901.
fn pointer(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Where these words stand, in any case. They are lower case.
fn found<'a>(text: &str, words: &'a [String]) -> impl Iterator<Item = Range<usize>> + use<'a> {
    // ASCII only, so that places in both texts are the same.
    let text = text.to_ascii_lowercase();
    words.iter().flat_map(move |word| {
        let places: Vec<usize> = text.match_indices(word).map(|(at, _)| at).take(MAX_OF_A_RISK).collect();
        places.into_iter().map(|at| at..at + word.len())
    })
}
