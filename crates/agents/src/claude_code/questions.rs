//! Claude Code's questions and their answers. The model writes them, so odd shapes come: they are put right here.

use holdstead_protocol::json;
use holdstead_protocol::{Answer, Question, QuestionOption};
use serde_json::{Map, Value, json};

/// The longest chip.
const HEADER: usize = 12;

/// The questions of a call, in order; none, if there is nothing to ask.
pub(super) fn questions(input: &Value) -> Vec<Question> {
    raw_questions(input).iter().filter_map(question).enumerate().map(numbered).collect()
}

fn numbered((index, question): (usize, Question)) -> Question {
    Question { id: format!("q{}", index + 1), ..question }
}

/// A list, a list written as a string, or one question without a list.
fn raw_questions(input: &Value) -> Vec<Value> {
    match unwrapped(input.get("questions").unwrap_or(input)) {
        Value::Array(questions) => questions,
        question @ Value::Object(_) => vec![question],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// A JSON text inside a string is what it says.
fn unwrapped(value: &Value) -> Value {
    match value {
        Value::String(text) => json::read(text.as_bytes()).unwrap_or_else(|_| value.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.clone(),
    }
}

fn question(raw: &Value) -> Option<Question> {
    let raw = unwrapped(raw);
    let words = match &raw {
        Value::String(words) => words.as_str(),
        Value::Object(_) => first_text(&raw, &["question", "text", "prompt"])?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    if words.trim().is_empty() {
        return None;
    }
    let options = ["options", "follow_up", "suggestions"].iter().find_map(|key| raw.get(*key));
    let options = match options.map(unwrapped) {
        Some(Value::Array(options)) => options.iter().filter_map(option).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_))
        | None => Vec::new(),
    };
    let header = raw.get("header").and_then(Value::as_str).unwrap_or("Question");
    let multi = raw.get("multiSelect").or_else(|| raw.get("multi_select"));
    Some(Question {
        id: String::new(),
        header: header.chars().take(HEADER).collect(),
        question: words.to_owned(),
        options,
        multi_select: matches!(multi.map(unwrapped), Some(Value::Bool(true))),
        allow_other: true,
        secret: false,
        multiline: false,
    })
}

fn option(raw: &Value) -> Option<QuestionOption> {
    let label = match raw {
        Value::String(label) => label.as_str(),
        Value::Object(_) => first_text(raw, &["label", "text", "answer", "value"])?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    if label.trim().is_empty() {
        return None;
    }
    let text = |key: &str| raw.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(QuestionOption {
        label: label.to_owned(),
        description: text("description"),
        preview: text("preview"),
    })
}

fn first_text<'a>(raw: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| raw.get(*key).and_then(Value::as_str))
}

/// The call's input with its answers, keyed by the question's own text: the program reads no other key.
pub(super) fn answered(input: &Value, answers: &[Answer]) -> Value {
    let asked = questions(input);
    let mut by_text = Map::new();
    for answer in answers {
        let Some(question) = asked.iter().find(|question| question.id == answer.question_id) else {
            continue;
        };
        // As the program joins them itself: a list it would join without the space.
        let values: Vec<&str> = answer.values().collect();
        by_text.insert(question.question.clone(), Value::from(values.join(", ")));
    }
    let mut input = match input {
        Value::Object(fields) if matches!(fields.get("questions"), Some(Value::Array(_))) => fields.clone(),
        Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => Map::from_iter([("questions".to_owned(), plain(&asked))]),
    };
    input.insert("answers".to_owned(), Value::Object(by_text));
    Value::Object(input)
}

/// The questions as the program would have them.
fn plain(asked: &[Question]) -> Value {
    let option = |option: &QuestionOption| json!({"label": option.label, "description": option.description.as_deref().unwrap_or_default()});
    let question = |question: &Question| {
        json!({"question": question.question, "header": question.header, "multiSelect": question.multi_select,
            "options": question.options.iter().map(option).collect::<Vec<_>>()})
    };
    asked.iter().map(question).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(label: &str, description: Option<&str>) -> QuestionOption {
        QuestionOption { label: label.into(), description: description.map(str::to_owned), preview: None }
    }

    fn expected(question: &str, header: &str, options: Vec<QuestionOption>, multi_select: bool) -> Question {
        Question {
            id: "q1".into(),
            header: header.into(),
            question: question.into(),
            options,
            multi_select,
            allow_other: true,
            secret: false,
            multiline: false,
        }
    }

    #[test]
    fn odd_shapes_are_put_right() {
        let usual = json!({"questions": [{"question": "Which?", "header": "Auth", "multiSelect": true,
            "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
        let both = vec![option("A", Some("a")), option("B", Some("b"))];
        let cases = [
            (usual.clone(), expected("Which?", "Auth", both.clone(), true)),
            (
                json!({"questions": usual["questions"].to_string()}),
                expected("Which?", "Auth", both.clone(), true),
            ),
            (usual["questions"][0].clone(), expected("Which?", "Auth", both.clone(), true)),
            (json!({"questions": usual["questions"][0]}), expected("Which?", "Auth", both, true)),
            (
                json!({"question": "Which?", "options": "[\"A\",\"B\"]", "multiSelect": "true"}),
                expected("Which?", "Question", vec![option("A", None), option("B", None)], true),
            ),
            (
                json!({"question": "Which?", "follow_up": [{"text": "A", "mode": "x"}, 3, "", null]}),
                expected("Which?", "Question", vec![option("A", None)], false),
            ),
            (json!({"questions": ["Which?"]}), expected("Which?", "Question", vec![], false)),
            (
                json!({"questions": [{"question": "Which?", "header": "A very long header"}, {"question": "  "}, 7]}),
                expected("Which?", "A very long ", vec![], false),
            ),
        ];
        for (input, question) in cases {
            assert_eq!(questions(&input), [question], "{input}");
        }
        for nothing in [json!(null), json!("hm"), json!({}), json!({"questions": []}), json!([[1]])] {
            assert_eq!(questions(&nothing), [], "{nothing}");
        }
    }

    #[test]
    fn answers_are_keyed_by_the_questions_text() {
        let input = json!({"questions": [
            {"question": "One?", "header": "1", "options": [{"label": "A"}], "multiSelect": false},
            {"question": "Many?", "header": "2", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": true},
        ], "unknown": 1});
        let answers = [
            Answer { question_id: "q1".into(), labels: vec![], other: Some("neither".into()) },
            Answer {
                question_id: "q2".into(),
                labels: vec!["A".into(), "B".into()],
                other: Some("C".into()),
            },
            Answer { question_id: "q9".into(), labels: vec!["A".into()], other: None },
        ];
        let answered_input = answered(&input, &answers);
        assert_eq!(answered_input["answers"], json!({"One?": "neither", "Many?": "A, B, C"}));
        assert_eq!(answered_input["questions"], input["questions"]);
        assert_eq!(answered_input["unknown"], 1);
    }

    #[test]
    fn an_odd_question_is_answered_in_the_usual_shape() {
        let answers = [Answer { question_id: "q1".into(), labels: vec!["A".into()], other: None }];
        assert_eq!(
            answered(&json!({"question": "Which?", "options": ["A"]}), &answers),
            json!({"questions": [{"question": "Which?", "header": "Question", "multiSelect": false,
                "options": [{"label": "A", "description": ""}]}], "answers": {"Which?": "A"}})
        );
    }
}
