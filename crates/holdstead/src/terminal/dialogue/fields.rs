//! The questions or fields of an ask, and what was typed for each.

use holdstead_protocol::{AskBody, Field, FieldKind, InteractionRequest, Question, ResponseDraft};
use serde_json::Value;

use super::{Paste, Prompt};
use crate::answer_flags::{field_value, submit};
use crate::failure::Failure;
use crate::terminal::card::options;
use crate::terminal::line::Seen;
use crate::terminal::row::{Ink, Row};
use crate::text::safe_line;

#[derive(Debug)]
pub(super) struct Filling(Vec<Place>);

#[derive(Debug)]
struct Place {
    of: Asked,
    /// As it was typed last.
    typed: Option<String>,
}

#[derive(Debug)]
enum Asked {
    Question(Question),
    Field(Field),
}

impl Filling {
    /// What was typed for an earlier prompt is there already.
    pub(super) fn new(request: &InteractionRequest) -> Self {
        let asked: Vec<Asked> = match &request.body {
            AskBody::Approval { .. } => Vec::new(),
            AskBody::Question { questions } => questions.iter().cloned().map(Asked::Question).collect(),
            AskBody::Form { form } => form.fields.iter().cloned().map(Asked::Field).collect(),
        };
        let before = |of: &Asked| request.initial_values.get(of.id()).map(plain);
        Self(asked.into_iter().map(|of| Place { typed: before(&of), of }).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|place| place.of.id() == name).map(|place| place.of.label())
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|place| place.of.id() == name)
    }

    pub(super) fn prompt(&self, place: usize) -> Prompt {
        let Some(place) = self.0.get(place) else {
            // A form without fields.
            let label = Row::new(Ink::Waiting, "Enter sends it: ");
            return Prompt { label, seen: Seen::Open, prefill: String::new(), paste: Paste::Taken };
        };
        let seen = if place.of.is_secret() { Seen::Hidden } else { Seen::Open };
        let how = match (&place.of, &place.typed) {
            (of, Some(_)) if of.is_secret() => " (not shown; Enter keeps what you typed)".to_owned(),
            (of, None) if of.is_secret() => " (not shown)".to_owned(),
            (Asked::Question(question), _) if question.options.is_empty() => String::new(),
            (Asked::Question(question), _) => match (question.multi_select, question.allow_other) {
                (true, true) => " (numbers with commas, or your own words)".to_owned(),
                (true, false) => " (numbers with commas)".to_owned(),
                (false, true) => " (a number, or your own words)".to_owned(),
                (false, false) => " (a number)".to_owned(),
            },
            (Asked::Field(field), _) => {
                field.default.as_ref().map(|value| format!(" [{}]", plain(value))).unwrap_or_default()
            }
        };
        let label = Row::new(Ink::Waiting, place.of.label()).and(Ink::Dim, &how).and(Ink::Plain, ": ");
        let prefill = match seen {
            Seen::Open => place.typed.clone().unwrap_or_default(),
            Seen::Hidden => String::new(),
        };
        Prompt { label, seen, prefill, paste: Paste::Taken }
    }

    /// Takes a line, or says what is wrong with it.
    pub(super) fn fill(&mut self, place: usize, line: &str) -> Result<(), String> {
        let Some(place) = self.0.get_mut(place) else { return Ok(()) };
        // A secret is taken as it was typed.
        let line = if place.of.is_secret() { line } else { line.trim() };
        if line.trim().is_empty() {
            if place.of.is_secret() && place.typed.is_some() {
                return Ok(());
            }
            place.typed = None;
            let label = safe_line(place.of.label());
            return if place.of.may_be_empty() { Ok(()) } else { Err(format!("{label} needs an answer.")) };
        }
        place.typed = Some(line.to_owned());
        match &place.of {
            Asked::Question(question) => {
                let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
                // A slip of the finger is not what somebody wants to say.
                match beyond(&labels, line).filter(|_| !question.secret) {
                    Some(number) => {
                        place.typed = None;
                        Err(format!(
                            "There is no option {number}. To answer with the number itself, put words around it."
                        ))
                    }
                    None => Ok(()),
                }
            }
            Asked::Field(field) => match field_value(&field.kind, values(field, line)) {
                Some(_) => Ok(()),
                None => Err(format!("{} {}", safe_line(&field.label), kind_words(&field.kind))),
            },
        }
    }

    pub(super) fn submit(&self, request: &InteractionRequest) -> Result<ResponseDraft, Failure> {
        let mut pairs = Vec::new();
        for place in &self.0 {
            let Some(typed) = &place.typed else { continue };
            let values = match &place.of {
                Asked::Question(question) if question.secret => vec![typed.clone()],
                Asked::Question(question) => {
                    let labels: Vec<&str> =
                        question.options.iter().map(|option| option.label.as_str()).collect();
                    chosen(&labels, question.multi_select, typed)
                }
                Asked::Field(field) => values(field, typed),
            };
            pairs.extend(values.into_iter().map(|value| (place.of.id().to_owned(), value)));
        }
        submit(request, pairs)
    }
}

impl Asked {
    fn id(&self) -> &str {
        match self {
            Self::Question(question) => &question.id,
            Self::Field(field) => &field.id,
        }
    }

    fn label(&self) -> &str {
        match self {
            Self::Question(question) => &question.header,
            Self::Field(field) => &field.label,
        }
    }

    fn is_secret(&self) -> bool {
        match self {
            Self::Question(question) => question.secret,
            Self::Field(field) => matches!(field.kind, FieldKind::Secret {}),
        }
    }

    /// Only what must be filled, and has nothing to fall back on, is asked for again.
    fn may_be_empty(&self) -> bool {
        match self {
            Self::Question(_) => false,
            Self::Field(field) => !field.required || field.default.is_some(),
        }
    }
}

/// What a line says for a field: options by their number, their label or their value.
fn values(field: &Field, line: &str) -> Vec<String> {
    let options = options(&field.kind);
    let one = |text: &str| {
        let text = text.trim();
        let named = options.iter().find(|option| option.value == text || option.label == text);
        let numbered = || options.get(text.parse::<usize>().ok()?.checked_sub(1)?);
        named.or_else(numbered).map_or_else(|| text.to_owned(), |option| option.value.clone())
    };
    match field.kind {
        FieldKind::Multiselect { .. } => line.split(',').map(one).collect(),
        FieldKind::Select { .. } | FieldKind::Radio { .. } => vec![one(line)],
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => vec![line.to_owned()],
    }
}

const fn kind_words(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Number { .. } => "is a number, like 12 or 1.5.",
        FieldKind::Checkbox {} => "is yes or no.",
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Select { .. }
        | FieldKind::Multiselect { .. }
        | FieldKind::Radio { .. }
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => "does not fit.",
    }
}

/// The first of these numbers that is no option's, where all of them are numbers.
fn beyond(labels: &[&str], line: &str) -> Option<usize> {
    if labels.is_empty() || labels.contains(&line) {
        return None;
    }
    let numbers: Option<Vec<usize>> = line.split(',').map(|part| part.trim().parse().ok()).collect();
    numbers?.into_iter().find(|number| !(1..=labels.len()).contains(number))
}

/// The labels behind the numbers, or the words as they are.
fn chosen(labels: &[&str], many: bool, line: &str) -> Vec<String> {
    let label = |text: &str| {
        let index: usize = text.trim().parse().ok()?;
        labels.get(index.checked_sub(1)?).map(|label| (*label).to_owned())
    };
    if labels.contains(&line) {
        return vec![line.to_owned()];
    }
    if many {
        let picked: Option<Vec<String>> = line.split(',').map(label).collect();
        if let Some(picked) = picked {
            return picked;
        }
    }
    vec![label(line).unwrap_or_else(|| line.to_owned())]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Dialogue, Next};
    use super::*;
    use crate::terminal::sample;

    #[test]
    fn a_number_without_an_option_is_asked_again_and_words_are_words() {
        let labels = ["SQLite", "PostgreSQL", "7"];
        for (line, number) in [
            ("4", Some(4)),
            ("0", Some(0)),
            ("1, 9", Some(9)),
            ("1,2", None),
            ("7", None),
            ("7 shards", None),
        ] {
            assert_eq!(beyond(&labels, line), number, "{line}");
        }
        assert_eq!(beyond(&[], "4"), None, "without options a number is an answer");
        assert_eq!(chosen(&labels, false, "7"), ["7"], "a label goes before a number");
    }

    fn answered(ask: holdstead_protocol::api::Interaction, lines: &[&str]) -> Value {
        let mut dialogue = Dialogue::new(ask);
        let mut said = Next::More(Vec::new());
        for line in lines {
            said = dialogue.line(line);
        }
        let Next::Answer(draft) = said else { panic!("{said:?}") };
        serde_json::to_value(draft).unwrap()
    }

    #[test]
    fn questions_are_answered_by_number_or_in_words() {
        let ask = sample::questions(json!([
            {"id": "store", "header": "Store", "question": "Which?", "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}]},
            {"id": "parts", "header": "Parts", "question": "Which?", "multiSelect": true, "options": [{"label": "A"}, {"label": "B"}]},
            {"id": "name", "header": "Name", "question": "How is it called?"},
        ]));
        let answer = answered(ask, &["", "9", "2", "1, 2", "q"]);
        assert_eq!(answer["answers"], json!({"store": "PostgreSQL", "parts": ["A", "B"], "name": "q"}));
    }

    #[test]
    fn fields_take_numbers_of_options_and_say_at_once_what_does_not_fit() {
        let ask = sample::form(json!([
            {"id": "a=b", "label": "Place", "type": "select", "required": true,
             "options": [{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]},
            {"id": "count", "label": "Count", "type": "number", "required": true},
            {"id": "sure", "label": "Sure", "type": "checkbox"},
            {"id": "note", "label": "Note", "type": "text"},
        ]));
        let answer = answered(ask, &["2", "many", "12", "maybe", "yes", ""]);
        assert_eq!(answer["input"], json!({"a=b": "us", "count": 12, "sure": true}));
    }

    #[test]
    fn a_secret_is_hidden_and_kept_over_an_error() {
        let ask = sample::form(json!([
            {"id": "token", "label": "Token", "type": "secret", "required": true},
            {"id": "count", "label": "Count", "type": "number", "required": true},
        ]));
        let mut dialogue = Dialogue::new(ask);
        assert_eq!(dialogue.prompt().seen, Seen::Hidden);
        dialogue.line(" hunter2 ");
        dialogue.back();
        assert_eq!(dialogue.prompt().prefill, "");
        assert!(dialogue.prompt().label.text().contains("Enter keeps"));
        dialogue.line("");
        let Next::Answer(draft) = dialogue.line("1") else { panic!("it is complete") };
        assert_eq!(serde_json::to_value(draft).unwrap()["input"], json!({"token": " hunter2 ", "count": 1}));
    }
}
