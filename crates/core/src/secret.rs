//! Secret answers: values that the journal never sees.
//!
//! Whoever answers for a person takes the secrets out of the response with [`conceal`], which checks them first, keeps
//! them apart, and puts them back with [`reveal`] for the one who asked. A response with a secret in the clear is
//! refused here, so that a mistake elsewhere cannot write one down.

use std::collections::BTreeMap;

use holdstead_protocol::{AskBody, InteractionRequest, Response, ResponseDraft, SECRET};
use serde_json::Value;

use crate::{Ask, AskSpec, Rejection, answers};

/// Secret values, by the id of their question or field.
pub type Secrets = BTreeMap<String, String>;

/// Takes the secrets out of a response. What was taken out is checked already; what is left can be appended.
pub fn conceal(ask: &Ask, mut draft: ResponseDraft) -> Result<(ResponseDraft, Secrets), Rejection> {
    if !ask.spec.has_secrets() {
        return Ok((draft, Secrets::new()));
    }
    let ResponseDraft::Submit { .. } = draft else { return Ok((draft, Secrets::new())) };
    let response = ask.check(&draft)?;
    let secrets = taken(&ask.spec, &response);
    let ResponseDraft::Submit { answers, input } = &mut draft else { return Ok((draft, secrets)) };
    // What this kind of ask does not use is dropped: a secret could be in it.
    match response {
        Response::Answer { .. } => *input = None,
        Response::Submit { .. } => *answers = None,
        Response::Approve { .. } | Response::Deny { .. } | Response::Cancel { .. } => {}
    }
    let questions = ask.spec.questions();
    for (key, value) in answers.iter_mut().flatten().chain(input.iter_mut().flatten()) {
        // A question may be named in other ways than by its id.
        let id = answers::find(questions, key).map_or(key.as_str(), |question| question.id.as_str());
        if secrets.contains_key(id) {
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
    !taken(&AskSpec::of(body), response).is_empty()
}

/// The response has a secret that should have been taken out.
pub(crate) fn in_the_clear(spec: &AskSpec, response: &Response) -> bool {
    taken(spec, response).values().any(|value| value != SECRET)
}

/// What was typed for a secret is not shown again.
pub(crate) fn not_shown_again(request: &mut InteractionRequest) {
    let spec = AskSpec::of(&request.body);
    let secret = spec.secret_ids();
    request.initial_values.retain(|id, _| !secret.contains(id.as_str()));
}

fn taken(spec: &AskSpec, response: &Response) -> Secrets {
    let secret = spec.secret_ids();
    match response {
        Response::Answer { answers } => {
            let answers = answers.iter().filter(|answer| secret.contains(answer.question_id.as_str()));
            answers.filter_map(|answer| Some((answer.question_id.clone(), answer.other.clone()?))).collect()
        }
        Response::Submit { input } => {
            let values = input.iter().filter(|(id, _)| secret.contains(id.as_str()));
            values.filter_map(|(id, value)| Some((id.clone(), value.as_str()?.to_owned()))).collect()
        }
        Response::Approve { .. } | Response::Deny { .. } | Response::Cancel { .. } => Secrets::new(),
    }
}
