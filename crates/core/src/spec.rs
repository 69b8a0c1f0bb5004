//! What a response is checked against. All that this crate has to know about a kind of ask is asked here: the commands
//! work the same for every kind.

use std::collections::BTreeSet;

use holdstead_protocol::{
    AskBody, Capabilities, FieldKind, Form, OfferedScope, Question, Response, ResponseDraft, Rule, Scope,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Rejection, answers, approval, form};

/// A kind of ask, with what is needed to check a response and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AskSpec {
    Approval { offered: Vec<OfferedScope> },
    Question { questions: Vec<Question> },
    Form { form: Form },
}

impl AskSpec {
    pub(crate) fn of(body: &AskBody) -> Self {
        match body {
            AskBody::Approval { offered_scopes, .. } => Self::Approval { offered: offered_scopes.clone() },
            AskBody::Question { questions } => Self::Question { questions: questions.clone() },
            AskBody::Form { form } => Self::Form { form: form.clone() },
        }
    }

    pub(crate) fn is_of_kind(&self, body: &AskBody) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(&Self::of(body))
    }

    /// Why this cannot be shown to a person, if it cannot.
    pub(crate) fn flaw(&self, input: &Value) -> Option<String> {
        match self {
            // What would be done must be there to be read.
            Self::Approval { .. } => input.is_null().then(|| "it does not say what would be done".to_owned()),
            Self::Question { questions } => answers::flaw(questions),
            Self::Form { form } => form::flaw(form),
        }
    }

    /// The draft, checked against what was asked and what the agent's wire can carry.
    pub(crate) fn check(&self, can: Capabilities, draft: &ResponseDraft) -> Result<Response, Rejection> {
        match self {
            Self::Approval { offered } => approval::check(offered, can, draft),
            Self::Question { questions } => submitted(draft, |Submitted { answers, .. }| {
                let answers = answers.ok_or_else(|| Rejection::invalid("answers", "are missing"))?;
                let answers =
                    answers::normalise(questions, answers).map_err(|errors| Rejection::Invalid { errors })?;
                Ok(Response::Answer { answers })
            }),
            Self::Form { form } => submitted(draft, |Submitted { input, .. }| {
                let input = input.ok_or_else(|| Rejection::invalid("input", "is missing"))?;
                let input = form::check(form, input).map_err(|errors| Rejection::Invalid { errors })?;
                Ok(Response::Submit { input })
            }),
        }
    }

    /// What an approval of this scope with these lines saves, if it saves anything: the very rule that was offered.
    pub(crate) fn saved_rule(&self, scope: Scope, lines: &[String]) -> Option<&Rule> {
        if let Self::Approval { offered } = self {
            approval::offered_rule(offered, scope, lines)
        } else {
            None
        }
    }

    pub(crate) const fn is_approval(&self) -> bool {
        match self {
            Self::Approval { .. } => true,
            Self::Question { .. } | Self::Form { .. } => false,
        }
    }

    /// The questions that [`Response::Answer`] answers.
    pub(crate) fn questions(&self) -> &[Question] {
        match self {
            Self::Question { questions } => questions,
            Self::Approval { .. } | Self::Form { .. } => &[],
        }
    }

    /// The ids of what it asks for that is secret.
    pub(crate) fn secret_ids(&self) -> BTreeSet<&str> {
        match self {
            Self::Question { questions } => {
                questions.iter().filter(|question| question.secret).map(|one| one.id.as_str()).collect()
            }
            Self::Form { form } => {
                let secret = form.fields.iter().filter(|field| field.kind == FieldKind::Secret {});
                secret.map(|field| field.id.as_str()).collect()
            }
            Self::Approval { .. } => BTreeSet::new(),
        }
    }

    /// Whether it asks for something secret.
    pub fn has_secrets(&self) -> bool {
        !self.secret_ids().is_empty()
    }
}

/// What was sent: each kind reads its own part.
struct Submitted<'a> {
    answers: Option<&'a Map<String, Value>>,
    input: Option<&'a Map<String, Value>>,
}

/// Whatever is no approval is submitted or declined.
fn submitted(
    draft: &ResponseDraft,
    check: impl FnOnce(Submitted<'_>) -> Result<Response, Rejection>,
) -> Result<Response, Rejection> {
    match draft {
        ResponseDraft::Submit { answers, input } => {
            check(Submitted { answers: answers.as_ref(), input: input.as_ref() })
        }
        ResponseDraft::Cancel { reason } => Ok(Response::Cancel { reason: words(reason.as_deref()) }),
        ResponseDraft::Approve { .. } | ResponseDraft::Deny { .. } => Err(Rejection::WrongAction {
            why: "this is a question, not an approval: submit an answer or decline it",
        }),
    }
}

/// Blank words are no words.
pub(crate) fn words(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
