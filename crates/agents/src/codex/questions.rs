//! Codex's questions and their answers.

use holdstead_protocol::{Answer, Question, QuestionOption};
use serde_json::{Map, Value, json};

use super::wire::AskedQuestion;

/// The longest chip.
const HEADER: usize = 12;
/// How the program marks a person's own words.
const OWN_WORDS: &str = "user_note: ";

/// What a person is asked; nothing, if its answers could not be told apart.
pub(super) fn questions(asked: &[AskedQuestion]) -> Option<Vec<Question>> {
    let told_apart = asked.iter().enumerate().all(|(at, question)| {
        !question.id.is_empty() && asked[..at].iter().all(|before| before.id != question.id)
    });
    (told_apart && !asked.is_empty()).then(|| asked.iter().map(question).collect())
}

fn question(asked: &AskedQuestion) -> Question {
    let options: Vec<_> = asked.options.iter().flatten().collect();
    let header = if asked.header.is_empty() { "Question" } else { asked.header.as_str() };
    Question {
        id: asked.id.clone(),
        header: header.chars().take(HEADER).collect(),
        question: asked.question.clone(),
        // Without anything to choose from, only words are left.
        allow_other: asked.is_other || options.is_empty(),
        options: options
            .into_iter()
            .map(|option| QuestionOption {
                label: option.label.clone(),
                description: option.description.clone(),
                preview: None,
            })
            .collect(),
        multi_select: false,
        secret: asked.is_secret,
        multiline: false,
    }
}

/// What the program is told. Without answers it lets its model go on as it thinks best.
pub(super) fn answered(answers: &[Answer]) -> Value {
    let by_id: Map<_, _> = answers
        .iter()
        .map(|answer| {
            let own = answer.other.iter().map(|words| format!("{OWN_WORDS}{words}"));
            let given: Vec<_> = answer.labels.iter().cloned().chain(own).collect();
            (answer.question_id.clone(), json!({"answers": given}))
        })
        .collect();
    json!({"answers": by_id})
}
