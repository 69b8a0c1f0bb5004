//! How large an ask may be. What a person cannot take in, or would cost the others their turn, is refused in words.
//!
//! The bounds are far above what anybody reads. They are looked at before an ask is queued for the journal, so that
//! one that is too large costs its asker and nobody else.

use std::collections::BTreeSet;

use holdstead_protocol::json::unreadable;
use holdstead_protocol::{AskBody, FieldKind, FieldOption, Form, InteractionRequest, Question};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Rejection;

const FIELDS: usize = 200;
const OPTIONS: usize = 1_000;
const QUESTIONS: usize = 50;
/// All texts of a form or of a set of questions together, in bytes.
const WORDS: usize = 256 * 1024;
/// So many unknown keys of an answer are named one by one.
const NAMED: usize = 20;

/// What the asks of one session that wait for a person may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pub asks: usize,
    /// Their texts together.
    pub bytes: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { asks: 1_000, bytes: 32 * 1024 * 1024 }
    }
}

/// Refuses what is too large to be asked, whatever the session's state.
pub fn check(request: &InteractionRequest) -> Result<(), Rejection> {
    let body = match &request.body {
        AskBody::Approval { .. } => None,
        AskBody::Question { questions } => questions_flaw(questions),
        AskBody::Form { form } => form_flaw(form),
    };
    body.or_else(|| values_flaw(request)).map_or(Ok(()), |why| Err(Rejection::BadAsk { why }))
}

/// What comes through a door was read there. What a tool in this process asks with was not, and a value that the journal
/// could not read again would be an ask that nobody can see.
fn values_flaw(request: &InteractionRequest) -> Option<String> {
    let values = [Some(&request.input), request.handler_state.as_ref()].into_iter().flatten();
    values.chain(request.initial_values.values()).find_map(unreadable).map(|bad| bad.to_string())
}

/// The bytes of what an ask shows. It is part of the stored state: whoever changes how it is counted raises
/// `STATE_VERSION`.
pub(crate) fn bytes(request: &InteractionRequest) -> u64 {
    let body = match &request.body {
        AskBody::Approval { preview, .. } => preview.as_ref().map_or(0, String::len),
        AskBody::Question { questions } => questions_words(questions),
        AskBody::Form { form } => form_words(form),
    };
    let says = request.agent_says.as_ref().map_or(0, String::len);
    let kept = request.handler_state.as_ref().map_or(0, value_bytes);
    let initial: usize =
        request.initial_values.iter().map(|(key, value)| key.len() + value_bytes(value)).sum();
    (value_bytes(&request.input) + body + says + kept + initial) as u64
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 8 + value_bytes(item)).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| 8 + key.len() + value_bytes(value)).sum(),
    }
}

pub(crate) fn form_flaw(form: &Form) -> Option<String> {
    let count = form.fields.len();
    if count > FIELDS {
        return Some(format!("the form has {count} fields, and may have {FIELDS}: ask in several forms"));
    }
    for field in &form.fields {
        if let Some(why) = options_flaw(options(&field.kind).len()) {
            return Some(format!("field `{}`: {why}", shortened(&field.id)));
        }
    }
    words_flaw("form", form_words(form))
}

fn form_words(form: &Form) -> usize {
    let mut words = form.title.as_ref().map_or(0, String::len);
    for field in &form.fields {
        words += field.id.len() + field.label.len() + field.description.as_ref().map_or(0, String::len);
        words += options(&field.kind).iter().map(|one| one.value.len() + one.label.len()).sum::<usize>();
        words += field.default.as_ref().map_or(0, value_bytes);
    }
    words
}

pub(crate) fn questions_flaw(questions: &[Question]) -> Option<String> {
    let count = questions.len();
    if count > QUESTIONS {
        return Some(format!("it has {count} questions, and may have {QUESTIONS}: ask in several goes"));
    }
    for question in questions {
        if let Some(why) = options_flaw(question.options.len()) {
            return Some(format!("question `{}`: {why}", shortened(&question.id)));
        }
    }
    words_flaw("set of questions", questions_words(questions))
}

fn questions_words(questions: &[Question]) -> usize {
    let mut words = 0;
    for question in questions {
        words += question.id.len() + question.header.len() + question.question.len();
        for option in &question.options {
            let more = [&option.description, &option.preview].into_iter().flatten();
            words += option.label.len() + more.map(String::len).sum::<usize>();
        }
    }
    words
}

/// Answers to more than was asked: not each of them is worth words of its own.
pub(crate) fn too_many_keys(given: &Map<String, Value>, asked: usize, what: &str) -> Option<String> {
    let count = given.len();
    (count > asked + NAMED).then(|| format!("there are {count} values for {asked} {what}"))
}

/// The first that stands there twice, in one go: an ask is checked by the one writer.
pub(crate) fn first_double<T: Ord + Copy>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    items.into_iter().find(|item| !seen.insert(*item))
}

const fn options(kind: &FieldKind) -> &[FieldOption] {
    match kind {
        FieldKind::Select { options }
        | FieldKind::Multiselect { options, .. }
        | FieldKind::Radio { options } => options.as_slice(),
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => &[],
    }
}

fn options_flaw(count: usize) -> Option<String> {
    (count > OPTIONS)
        .then(|| format!("it has {count} options, and may have {OPTIONS}: offer fewer, or ask for text"))
}

fn words_flaw(what: &str, bytes: usize) -> Option<String> {
    (bytes > WORDS).then(|| {
        format!("the {what} has {} KB of text, and may have {}: say it shorter", bytes / 1024, WORDS / 1024)
    })
}

/// An id is somebody else's text, and may be the very thing that is too long.
fn shortened(id: &str) -> String {
    match id.char_indices().nth(80) {
        None => id.to_owned(),
        Some((end, _)) => format!("{}…", &id[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::cell::Cell;

    fn form(fields: Vec<Value>) -> Form {
        serde_json::from_value(json!({ "fields": fields })).unwrap()
    }

    fn select(options: usize, label: &str) -> Value {
        let options: Vec<_> = (0..options).map(|n| json!({"value": n.to_string(), "label": label})).collect();
        json!({"id": "f", "label": "F", "type": "select", "options": options})
    }

    #[test]
    fn what_is_too_large_to_be_shown_is_refused_in_words() {
        assert_eq!(form_flaw(&form(vec![select(OPTIONS, "x")])), None);
        let cases = [
            (form(vec![select(34_000, "x")]), "34000 options, and may have 1000"),
            (form(vec![json!({"id": "f", "label": "F", "type": "checkbox"}); 201]), "201 fields"),
            (form(vec![select(1_000, &"x".repeat(300))]), "KB of text"),
        ];
        for (form, words) in cases {
            let flaw = form_flaw(&form).unwrap_or_default();
            assert!(flaw.contains(words), "{flaw}");
        }
    }

    /// Counts how often it is compared.
    #[derive(Debug, Clone, Copy)]
    struct Counted<'a>(usize, &'a Cell<usize>);

    impl Ord for Counted<'_> {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Counted<'_> {}

    #[test]
    fn looking_for_doubles_does_not_compare_each_with_each() {
        let work = |count: usize| {
            let compared = Cell::new(0);
            assert!(first_double((0..count).map(|n| Counted(n, &compared))).is_none());
            compared.get()
        };
        // Eight times as many: 64 times the work if each were compared with each.
        assert!(work(16_000) < 16 * work(2_000), "{} and {}", work(16_000), work(2_000));
        let compared = Cell::new(0);
        let twice = [3, 1, 2, 1].map(|n| Counted(n, &compared));
        assert_eq!(first_double(twice.into_iter()).map(|one| one.0), Some(1));
    }

    #[test]
    fn questions_are_bounded_too() {
        let question = |options: usize, text: &str| -> Question {
            let options: Vec<_> = (0..options).map(|n| json!({"label": n.to_string()})).collect();
            serde_json::from_value(json!({"id": "q", "header": "Q", "question": text, "options": options}))
                .unwrap()
        };
        assert_eq!(questions_flaw(&vec![question(2, "Which?"); QUESTIONS]), None);
        assert!(questions_flaw(&vec![question(2, "Which?"); 51]).unwrap().contains("51 questions"));
        assert!(questions_flaw(&[question(1_001, "Which?")]).unwrap().contains("1001 options"));
        assert!(questions_flaw(&[question(1, &"x".repeat(300_000))]).unwrap().contains("KB of text"));
    }

    #[test]
    fn an_answer_with_a_flood_of_keys_is_one_error() {
        let many: Map<String, Value> = (0..10_000).map(|n| (n.to_string(), json!("x"))).collect();
        let question: Question =
            serde_json::from_value(json!({"id": "q", "header": "Q", "question": "Which?"})).unwrap();
        assert_eq!(crate::answers::normalise(&[question], &many).unwrap_err().len(), 1);
        let form = form(vec![json!({"id": "f", "label": "F", "type": "checkbox"})]);
        assert_eq!(crate::form::check(&form, &many).unwrap_err().len(), 1);
    }
}
