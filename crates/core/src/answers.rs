//! Answers to questions: brought into one form, and checked.
//!
//! Screens, terminals and programs send answers in many spellings. They are normalised here, once, so that a
//! driver never has to guess what a person meant. A blank answer is no answer.

use std::collections::{BTreeMap, BTreeSet};

use holdstead_protocol::{Answer, FieldErrors, Question};
use serde_json::{Map, Value};

use crate::shape;

/// Every question's answer in the order asked, or what is wrong with each.
pub(crate) fn normalise(
    questions: &[Question],
    given: &Map<String, Value>,
) -> Result<Vec<Answer>, FieldErrors> {
    if let Some(why) = shape::too_many_keys(given, questions.len(), "questions") {
        return Err(FieldErrors::from([("answers".to_owned(), why)]));
    }
    let mut errors = FieldErrors::new();
    let mut answers: BTreeMap<&str, Answer> = BTreeMap::new();
    for (key, value) in given {
        match find(questions, key) {
            None => {
                errors.insert(key.clone(), "there is no such question".to_owned());
            }
            Some(question) if answers.contains_key(question.id.as_str()) => {
                errors.insert(question.id.clone(), "answered twice".to_owned());
            }
            Some(question) => match read(question, value) {
                Ok(answer) => {
                    answers.insert(&question.id, answer);
                }
                Err(why) => {
                    errors.insert(question.id.clone(), why);
                }
            },
        }
    }
    let mut in_order = Vec::with_capacity(questions.len());
    for question in questions {
        match answers.remove(question.id.as_str()) {
            Some(answer) => in_order.push(answer),
            None => {
                errors.entry(question.id.clone()).or_insert_with(|| "has no answer".to_owned());
            }
        }
    }
    if errors.is_empty() { Ok(in_order) } else { Err(errors) }
}

/// Why these cannot be asked, if they cannot.
pub(crate) fn flaw(questions: &[Question]) -> Option<String> {
    if questions.is_empty() {
        return Some("it has no questions".to_owned());
    }
    if let Some(why) = shape::questions_flaw(questions) {
        return Some(why);
    }
    let mut ids = BTreeSet::new();
    for (index, question) in questions.iter().enumerate() {
        if question.question.trim().is_empty() {
            return Some(format!("question {} has no words", index + 1));
        }
        if question.id.is_empty() || !ids.insert(&question.id) {
            return Some(format!("question id `{}` is empty or used twice", question.id));
        }
        if question.secret && (!question.options.is_empty() || question.multi_select || !question.allow_other)
        {
            let id = &question.id;
            return Some(format!("question `{id}` is secret, so it takes one free text and no options"));
        }
        if question.options.is_empty() && !question.allow_other {
            return Some(format!("question `{}` has no options and allows no free text", question.id));
        }
    }
    None
}

/// By id, then by the question's text, then by its index.
pub(crate) fn find<'a>(questions: &'a [Question], key: &str) -> Option<&'a Question> {
    questions
        .iter()
        .find(|question| question.id == key)
        .or_else(|| questions.iter().find(|question| question.question == key))
        .or_else(|| questions.get(key.parse::<usize>().ok()?))
}

fn read(question: &Question, value: &Value) -> Result<Answer, String> {
    let parts = match value {
        Value::String(text) if question.multi_select => split(question, text),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items
            .iter()
            .map(|item| {
                item.as_str().map(str::to_owned).ok_or_else(|| "must be text or a list of texts".to_owned())
            })
            .collect::<Result<_, _>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("must be text or a list of texts".to_owned());
        }
    };
    classify(question, parts)
}

/// For a multi-select: a JSON array inside a string, or labels joined by commas, is a list.
fn split(question: &Question, text: &str) -> Vec<String> {
    let known = labels_of(question);
    if known.contains(text) {
        return vec![text.to_owned()];
    }
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 1 && parts.iter().all(|part| known.contains(part)) {
        return parts.into_iter().map(str::to_owned).collect();
    }
    vec![text.to_owned()]
}

fn labels_of(question: &Question) -> BTreeSet<&str> {
    question.options.iter().map(|option| option.label.as_str()).collect()
}

fn classify(question: &Question, parts: Vec<String>) -> Result<Answer, String> {
    let known = labels_of(question);
    let mut left = known.clone();
    let mut labels: Vec<String> = Vec::new();
    let mut other = None;
    for part in parts {
        if known.contains(part.as_str()) {
            if left.remove(part.as_str()) {
                labels.push(part);
            }
        } else if part.trim().is_empty() {
            return Err("is blank: choose an option or write an answer".to_owned());
        } else if !question.allow_other {
            return Err(format!("`{part}` is none of the options"));
        } else if other.is_some() {
            return Err("has two free texts: write one".to_owned());
        } else {
            other = Some(part);
        }
    }
    match labels.len() + usize::from(other.is_some()) {
        0 => Err("has no answer".to_owned()),
        1 => Ok(Answer { question_id: question.id.clone(), labels, other }),
        _ if question.multi_select => Ok(Answer { question_id: question.id.clone(), labels, other }),
        _ => Err("takes one answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::QuestionOption;
    use serde_json::json;

    fn question(id: &str, text: &str, labels: &[&str], multi_select: bool) -> Question {
        Question {
            id: id.to_owned(),
            header: id.to_owned(),
            question: text.to_owned(),
            options: labels
                .iter()
                .map(|label| QuestionOption { label: (*label).to_owned(), description: None, preview: None })
                .collect(),
            multi_select,
            allow_other: true,
            secret: false,
            multiline: false,
        }
    }

    /// Labels and free text.
    type Parts = (Vec<String>, Option<String>);

    fn normal(questions: &[Question], given: Value) -> Result<Vec<Parts>, FieldErrors> {
        let Value::Object(map) = given else { panic!("give an object") };
        Ok(normalise(questions, &map)?.into_iter().map(|answer| (answer.labels, answer.other)).collect())
    }

    fn labels(labels: &[&str]) -> Parts {
        (labels.iter().map(|label| (*label).to_owned()).collect(), None)
    }

    #[test]
    fn an_answer_is_found_by_id_index_or_text() {
        let questions = [question("store", "Which store?", &["SQLite", "PostgreSQL"], false)];
        for given in [json!({"store": "SQLite"}), json!({"0": "SQLite"}), json!({"Which store?": "SQLite"})] {
            assert_eq!(normal(&questions, given), Ok(vec![labels(&["SQLite"])]));
        }
    }

    #[test]
    fn an_id_that_looks_like_an_index_is_an_id() {
        let questions = [question("1", "First?", &["a"], false), question("0", "Second?", &["b"], false)];
        assert_eq!(normal(&questions, json!({"1": "a", "0": "b"})), Ok(vec![labels(&["a"]), labels(&["b"])]));
    }

    #[test]
    fn a_multi_select_takes_a_list_in_every_spelling() {
        let questions = [question("f", "Features?", &["Lint", "Types", "Docs, guides"], true)];
        for given in [
            json!({"f": ["Lint", "Types"]}),
            json!({"f": "[\"Lint\",\"Types\"]"}),
            json!({"f": "Lint, Types"}),
            json!({"f": ["Lint", "Types", "Lint"]}),
        ] {
            assert_eq!(normal(&questions, given), Ok(vec![labels(&["Lint", "Types"])]));
        }
        // A label with a comma in it is one label, not two.
        assert_eq!(normal(&questions, json!({"f": "Docs, guides"})), Ok(vec![labels(&["Docs, guides"])]));
        // A sentence with a comma is free text.
        assert_eq!(
            normal(&questions, json!({"f": "Lint, but gently"})),
            Ok(vec![(vec![], Some("Lint, but gently".to_owned()))])
        );
    }

    #[test]
    fn a_single_select_never_splits() {
        let questions = [question("f", "One?", &["a", "b"], false)];
        assert_eq!(normal(&questions, json!({"f": "a, b"})), Ok(vec![(vec![], Some("a, b".to_owned()))]));
        assert!(normal(&questions, json!({"f": ["a", "b"]})).is_err());
    }

    #[test]
    fn a_blank_is_refused_whatever_its_shape() {
        let questions = [question("q", "Which?", &["a"], true)];
        for given in [
            json!({}),
            json!({"q": ""}),
            json!({"q": "  \n"}),
            json!({"q": []}),
            json!({"q": null}),
            json!({"q": [""]}),
        ] {
            let errors = normal(&questions, given.clone()).unwrap_err();
            assert!(errors.contains_key("q"), "{given} was taken for an answer");
        }
    }

    #[test]
    fn unknown_questions_and_foreign_options_are_refused() {
        let mut strict = question("q", "Which?", &["a"], false);
        strict.allow_other = false;
        assert!(normal(&[strict.clone()], json!({"q": "z"})).is_err());
        assert!(normal(&[strict.clone()], json!({"q": "a", "r": "a"})).is_err());
        assert!(normal(&[strict], json!({"q": "a", "0": "a"})).is_err());
    }
}
