//! Secret answers: values that the journal never sees.
//!
//! Whoever answers for a person takes the secrets out of the response with [`conceal`], which checks them first, keeps
//! them apart, and puts them back with [`reveal`] for the one who asked. A response with a secret in the clear is
//! refused here, so that a mistake elsewhere cannot write one down.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Answer, AskBody, FieldKind, Form, InteractionRequest, Question, Response, ResponseDraft, SECRET,
};
use serde_json::Value;

use crate::command::respond::check;
use crate::{Ask, AskSpec, Rejection, answers};

/// Secret values, by the id of their question or field.
pub type Secrets = BTreeMap<String, String>;

impl AskSpec {
    /// Whether it asks for something secret.
    pub fn has_secrets(&self) -> bool {
        match self {
            Self::Approval { .. } => false,
            Self::Question { questions } => questions.iter().any(|question| question.secret),
            Self::Form { form } => form.fields.iter().any(|field| is_secret(&field.kind)),
        }
    }
}

/// Takes the secrets out of a response. What was taken out is checked already; what is left can be appended.
pub fn conceal(ask: &Ask, mut draft: ResponseDraft) -> Result<(ResponseDraft, Secrets), Rejection> {
    if !ask.spec.has_secrets() {
        return Ok((draft, Secrets::new()));
    }
    let ResponseDraft::Submit { answers, input } = &mut draft else { return Ok((draft, Secrets::new())) };
    // What this kind of ask does not use is dropped: a secret could be in it.
    match &ask.spec {
        AskSpec::Question { .. } => *input = None,
        AskSpec::Form { .. } => *answers = None,
        AskSpec::Approval { .. } => {}
    }
    let secrets = taken(&ask.spec, &check(ask, &draft)?);
    let ResponseDraft::Submit { answers, input } = &mut draft else { return Ok((draft, secrets)) };
    for (key, value) in answers.iter_mut().flatten().chain(input.iter_mut().flatten()) {
        let id = match &ask.spec {
            AskSpec::Question { questions } => {
                answers::find(questions, key).map(|at| questions[at].id.as_str())
            }
            AskSpec::Form { .. } | AskSpec::Approval { .. } => Some(key.as_str()),
        };
        if id.is_some_and(|id| secrets.contains_key(id)) {
            *value = Value::from(SECRET);
        }
    }
    Ok((draft, secrets))
}

/// Puts the secrets back where [`conceal`] took them from.
pub fn reveal(response: &mut Response, secrets: &Secrets) {
    match response {
        Response::Answer { answers } => {
            for answer in answers {
                if let Some(secret) = secrets.get(&answer.question_id) {
                    answer.other = Some(secret.clone());
                }
            }
        }
        Response::Submit { input } => {
            for (id, value) in input {
                if let Some(secret) = secrets.get(id) {
                    *value = Value::from(secret.as_str());
                }
            }
        }
        Response::Approve { .. } | Response::Deny { .. } | Response::Cancel { .. } => {}
    }
}

/// Whether this response to this ask had secrets taken out.
pub fn is_concealed(body: &AskBody, response: &Response) -> bool {
    match (body, response) {
        (AskBody::Question { questions }, Response::Answer { answers }) => {
            secret_answers(questions, answers).next().is_some()
        }
        (AskBody::Form { form }, Response::Submit { input }) => {
            form.fields.iter().any(|field| is_secret(&field.kind) && input.contains_key(&field.id))
        }
        (AskBody::Approval { .. } | AskBody::Question { .. } | AskBody::Form { .. }, _) => false,
    }
}

/// The response has a secret that should have been taken out.
pub(crate) fn in_the_clear(spec: &AskSpec, response: &Response) -> bool {
    taken(spec, response).values().any(|value| value != SECRET)
}

/// What was typed for a secret is not shown again.
pub(crate) fn not_shown_again(request: &mut InteractionRequest) {
    let secret = |id: &str| match &request.body {
        AskBody::Approval { .. } => false,
        AskBody::Question { questions } => questions.iter().any(|one| one.secret && one.id == id),
        AskBody::Form { form } => form.fields.iter().any(|one| is_secret(&one.kind) && one.id == id),
    };
    request.initial_values.retain(|id, _| !secret(id));
}

fn taken(spec: &AskSpec, response: &Response) -> Secrets {
    match (spec, response) {
        (AskSpec::Question { questions }, Response::Answer { answers }) => secret_answers(questions, answers)
            .filter_map(|answer| Some((answer.question_id.clone(), answer.other.clone()?)))
            .collect(),
        (AskSpec::Form { form }, Response::Submit { input }) => secret_values(form, input),
        (AskSpec::Approval { .. } | AskSpec::Question { .. } | AskSpec::Form { .. }, _) => Secrets::new(),
    }
}

fn secret_answers<'a>(questions: &'a [Question], answers: &'a [Answer]) -> impl Iterator<Item = &'a Answer> {
    answers.iter().filter(|answer| questions.iter().any(|one| one.secret && one.id == answer.question_id))
}

fn secret_values(form: &Form, input: &serde_json::Map<String, Value>) -> Secrets {
    let secret = form.fields.iter().filter(|field| is_secret(&field.kind));
    secret.filter_map(|field| Some((field.id.clone(), input.get(&field.id)?.as_str()?.to_owned()))).collect()
}

pub(crate) const fn is_secret(kind: &FieldKind) -> bool {
    match kind {
        FieldKind::Secret {} => true,
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Select { .. }
        | FieldKind::Multiselect { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Radio { .. }
        | FieldKind::Date { .. } => false,
    }
}
