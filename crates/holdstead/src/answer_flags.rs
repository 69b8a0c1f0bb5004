//! The flags of `holdstead answer`, and what they say.

use std::io::BufRead;

use clap::Args;
use holdstead_protocol::{AskBody, FieldKind, InteractionRequest, Question, ResponseDraft, Rule, Scope};
use serde_json::{Map, Value};

use crate::failure::Failure;

#[derive(Debug, Clone, Args)]
pub(crate) struct AnswerFlags {
    /// The ask: its digits as `holdstead inbox` listed it, or its whole id
    pub(crate) id: String,
    /// Approve it once
    #[arg(long, conflicts_with_all = ["deny", "set", "decline"])]
    pub(crate) approve: bool,
    /// Approve, and remember it for this session
    #[arg(long, conflicts_with_all = ["deny", "set", "decline", "edit"])]
    pub(crate) remember: bool,
    /// Approve this input instead (JSON)
    #[arg(long, value_name = "JSON", conflicts_with_all = ["deny", "set", "decline"])]
    pub(crate) edit: Option<String>,
    /// Deny it; the agent reads the words
    #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) deny: Option<String>,
    /// Answer a question or fill a field; repeat it for more, or for more choices of one. A secret is given as
    /// NAME=- and read from standard input, one line for each: other users see what stands in a command
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Decline to answer
    #[arg(long, conflicts_with = "set")]
    pub(crate) decline: bool,
}

impl AnswerFlags {
    /// The response the flags spell, or nothing if they say nothing.
    pub(crate) fn response(&self, request: &InteractionRequest) -> Result<Option<ResponseDraft>, Failure> {
        if let Some(json) = &self.edit {
            let edited = serde_json::from_str(json).map_err(|error| {
                Failure::NotSent(format!("Not sent: the edited input is not JSON: {error}"))
            })?;
            return Ok(Some(ResponseDraft::Approve {
                scope: None,
                lines: Vec::new(),
                edited_input: Some(edited),
            }));
        }
        if self.approve || self.remember {
            let scope = self.remember.then_some(Scope::Session);
            let lines = if self.remember { narrowest(request) } else { Vec::new() };
            return Ok(Some(ResponseDraft::Approve { scope, lines, edited_input: None }));
        }
        if let Some(reason) = &self.deny {
            let reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
            return Ok(Some(ResponseDraft::Deny { reason }));
        }
        if self.decline {
            return Ok(Some(ResponseDraft::Cancel { reason: None }));
        }
        if self.set.is_empty() {
            return Ok(None);
        }
        submit(request, with_secrets(request, &self.set, &mut std::io::stdin().lock())?).map(Some)
    }
}

/// The first rules that are offered for the session; none, where the very same input is.
fn narrowest(request: &InteractionRequest) -> Vec<String> {
    let AskBody::Approval { offered_scopes, .. } = &request.body else { return Vec::new() };
    let offer = offered_scopes.iter().find(|offer| offer.scope == Scope::Session);
    match offer.map(|offer| &offer.rule) {
        Some(Rule::Lines { lines }) => lines.clone(),
        Some(Rule::ExactInput { .. } | Rule::Key { .. }) | None => Vec::new(),
    }
}

/// The pairs, with what is secret read from `input`.
fn with_secrets(
    request: &InteractionRequest,
    pairs: &[String],
    input: &mut dyn BufRead,
) -> Result<Vec<(String, String)>, Failure> {
    let mut read = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("`{pair}` has no `=`: write --set NAME=VALUE")))?;
        if !is_secret(request, name) {
            read.push((name.to_owned(), value.to_owned()));
            continue;
        }
        if value != "-" {
            return Err(Failure::Usage(format!(
                "{name} is secret, and other users see what stands in a command: write --set {name}=- and give it \
                 on standard input"
            )));
        }
        let mut line = String::new();
        input
            .read_line(&mut line)
            .map_err(|source| Failure::Io { what: "read a secret from standard input".to_owned(), source })?;
        read.push((name.to_owned(), line.trim_end_matches(['\n', '\r']).to_owned()));
    }
    Ok(read)
}

fn is_secret(request: &InteractionRequest, name: &str) -> bool {
    match &request.body {
        AskBody::Approval { .. } => false,
        AskBody::Question { questions } => questions.iter().any(|one| one.secret && is_named(one, name)),
        AskBody::Form { form } => form.fields.iter().any(|field| {
            matches!(field.kind, FieldKind::Secret {})
                && (field.id == name || field.label.eq_ignore_ascii_case(name))
        }),
    }
}

fn is_named(question: &Question, name: &str) -> bool {
    question.id == name || question.header.eq_ignore_ascii_case(name) || question.question == name
}

/// The option that is meant, however it is written; otherwise a person's own words.
fn label(question: &Question, value: String) -> String {
    let mut alike = question.options.iter().filter(|option| option.label.eq_ignore_ascii_case(&value));
    match (alike.next(), alike.next()) {
        (Some(option), None) => option.label.clone(),
        (Some(_), Some(_)) | (None, _) => value,
    }
}

/// Names with values as the answers or fields of this ask; a name may come more than once.
pub(crate) fn submit(
    request: &InteractionRequest,
    pairs: Vec<(String, String)>,
) -> Result<ResponseDraft, Failure> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in pairs {
        match values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, more)) => more.push(value),
            None => values.push((name, vec![value])),
        }
    }
    match &request.body {
        AskBody::Question { questions } => {
            let mut answers = Map::new();
            for (name, given) in values {
                let question = questions.iter().find(|question| is_named(question, &name));
                let given: Vec<String> = match question {
                    Some(question) => given.into_iter().map(|value| label(question, value)).collect(),
                    None => given,
                };
                let key = question.map_or(name, |question| question.id.clone());
                let value = match given.as_slice() {
                    [one] => Value::from(one.as_str()),
                    many => Value::from(many.to_vec()),
                };
                answers.insert(key, value);
            }
            let missing = questions.iter().find(|question| !answers.contains_key(&question.id));
            if let Some(question) = missing {
                let name = &question.header;
                return Err(Failure::NotSent(format!("Not sent: {name} has no answer. Add --set {name}=…")));
            }
            Ok(ResponseDraft::Submit { answers: Some(answers), input: None })
        }
        AskBody::Form { form } => {
            let mut input = Map::new();
            for (name, given) in values {
                let field = form
                    .fields
                    .iter()
                    .find(|field| field.id == name || field.label.eq_ignore_ascii_case(&name));
                let key = field.map_or_else(|| name.clone(), |field| field.id.clone());
                let value = match field.map(|field| &field.kind) {
                    Some(kind) => field_value(kind, given).ok_or_else(|| {
                        Failure::NotSent(format!("Not sent: {name} is not of the field's kind."))
                    })?,
                    None => Value::from(given.join(" ")),
                };
                input.insert(key, value);
            }
            Ok(ResponseDraft::Submit { answers: None, input: Some(input) })
        }
        AskBody::Approval { .. } => {
            Err(Failure::Usage("This ask needs an approval: --approve or --deny".to_owned()))
        }
    }
}

/// What was given as the value of a field. `None` where it is not of the field's kind.
pub(crate) fn field_value(kind: &FieldKind, given: Vec<String>) -> Option<Value> {
    match kind {
        FieldKind::Number { .. } => serde_json::from_str(given.first()?).ok().filter(Value::is_number),
        FieldKind::Checkbox {} => match given.first()?.as_str() {
            "true" | "yes" | "on" => Some(Value::Bool(true)),
            "false" | "no" | "off" => Some(Value::Bool(false)),
            _ => None,
        },
        FieldKind::Multiselect { .. } => Some(Value::from(given)),
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Select { .. }
        | FieldKind::Radio { .. }
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => given.into_iter().next().map(Value::from),
    }
}
