//! Known secrets are masked in what an agent or a tool says later, and in the log.
//!
//! They are known to this process only, from the answer until the session ends: nothing that could tell them is kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use holdstead_core::{Command, Output, Request, Secrets, Verdict, digest, offered_scopes};
use holdstead_protocol::{AskBody, InteractionRequest, Scope, SessionId};
use serde_json::Value;

const MASK: &str = "•••";
/// Whatever is shorter is in too many words by chance.
const SHORTEST: usize = 4;

/// What must not be shown, by session. A cheap handle: clone it wherever it is needed.
#[derive(Clone, Default)]
pub struct Masks {
    known: Arc<RwLock<HashMap<SessionId, Needles>>>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Masks")
    }
}

impl Masks {
    /// Whatever any session's secrets are, they are not in this line.
    pub fn line<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().fold(Cow::Borrowed(line), |line, needles| match needles.found_in(&line) {
            true => Cow::Owned(needles.mask(&line)),
            false => line,
        })
    }

    pub(crate) fn add(&self, session: SessionId, secrets: &Secrets) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let needles = known.entry(session).or_default();
        *needles = needles.with(secrets);
    }

    pub(crate) fn forget(&self, session: SessionId) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    pub(crate) fn of(&self, session: SessionId) -> Option<Needles> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
    }

    /// The command without known secrets in what an agent or a tool says. What a person says is left alone: it goes
    /// to the agent as it is.
    pub(crate) fn command(&self, session: SessionId, mut command: Command) -> Command {
        let Some(needles) = self.of(session) else { return command };
        match &mut command {
            Command::Record(outputs) => outputs.iter_mut().for_each(|output| needles.output(output)),
            Command::Request(request) => {
                let Request { request, owner_grants, allowed_by: _, quota: _ } = &mut **request;
                if needles.ask(request) {
                    // A remembered approval must not cover what nobody could see.
                    owner_grants.clear();
                }
            }
            Command::Outcome(outcome) => match &mut outcome.verdict {
                Verdict::Complete { result } => result.iter_mut().for_each(|result| {
                    needles.value(result);
                }),
                Verdict::Reprompt(again) => {
                    needles.ask(again);
                }
                Verdict::Pending { message } => needles.text(message),
            },
            Command::Retell(retell) => retell.result.iter_mut().for_each(|result| {
                needles.value(result);
            }),
            Command::RanOther(other) => {
                // A digest of what has a secret in it would let the secret be guessed.
                if let Some(ran) = &mut other.ran
                    && needles.value(ran)
                {
                    other.ran_digest = digest(ran);
                }
            }
            Command::Exit(exit) => exit.message.iter_mut().for_each(|words| needles.text(words)),
            Command::Finish(finish) => finish.words.iter_mut().for_each(|words| needles.text(words)),
            Command::Open(_)
            | Command::Message(_)
            | Command::Begin { .. }
            | Command::Respond(_)
            | Command::Queue { .. }
            | Command::Expire(_)
            | Command::Cancel(_)
            | Command::Park { .. }
            | Command::Stay { .. }
            | Command::Resume(_)
            | Command::Identify { .. }
            | Command::Delivering { .. }
            | Command::Delivered { .. }
            | Command::Acknowledge { .. }
            | Command::NotRun { .. }
            | Command::Grant(_)
            | Command::Revoke { .. }
            | Command::Trust(_)
            | Command::Distrust { .. }
            | Command::End { .. } => {}
        }
        command
    }
}

/// The secrets of one session, as they may be written; the longest first.
#[derive(Clone, Default)]
pub(crate) struct Needles(Arc<[String]>);

impl std::fmt::Debug for Needles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Needles")
    }
}

impl Needles {
    fn with(&self, secrets: &Secrets) -> Self {
        let mut all = self.0.to_vec();
        for secret in secrets.values().map(|secret| secret.trim()) {
            // As it is, and as it is inside of JSON.
            let quoted = Value::from(secret).to_string();
            let forms = [secret, &quoted[1..quoted.len() - 1]].map(str::to_owned);
            all.extend(forms.into_iter().filter(|form| form.chars().count() >= SHORTEST));
        }
        all.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Self(all.into())
    }

    fn found_in(&self, text: &str) -> bool {
        self.0.iter().any(|needle| text.contains(needle))
    }

    fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, needle| text.replace(needle, MASK))
    }

    pub(crate) fn text(&self, text: &mut String) {
        if self.found_in(text) {
            *text = self.mask(text);
        }
    }

    /// How many bytes at the end of this text may be the beginning of a secret.
    pub(crate) fn held(&self, text: &str) -> usize {
        let begins = |needle: &String| {
            let ends = needle.char_indices().skip(1).map(|(end, _)| end);
            ends.filter(|end| text.ends_with(&needle[..*end])).max()
        };
        self.0.iter().filter_map(begins).max().unwrap_or(0)
    }

    /// Whether there was something to mask.
    pub(crate) fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => {
                let found = self.found_in(&number.to_string());
                if found {
                    *value = Value::from(MASK);
                }
                found
            }
            Value::String(text) => {
                let found = self.found_in(text);
                self.text(text);
                found
            }
            Value::Array(items) => {
                items.iter_mut().filter_map(|item| self.value(item).then_some(())).count() > 0
            }
            Value::Object(map) => {
                let mut found = false;
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(mut key, mut value)| {
                        found |= self.found_in(&key);
                        self.text(&mut key);
                        found |= self.value(&mut value);
                        (key, value)
                    })
                    .collect();
                found
            }
        }
    }

    fn output(&self, output: &mut Output) {
        match output {
            Output::Text(delta) => self.text(&mut delta.text),
            Output::Thinking(delta) => self.text(&mut delta.text),
            Output::ToolCallDelta(delta) => self.text(&mut delta.text),
            Output::ToolCallStart(_) => {}
            Output::ToolCallEnd(end) => {
                self.value(&mut end.input);
            }
            Output::ToolResult(result) => {
                self.value(&mut result.output);
            }
            Output::Error(error) => self.text(&mut error.message),
        }
    }

    /// Whether its input had something to mask. Then nobody saw all of it: it can be approved as it is and once, or
    /// not at all.
    fn ask(&self, request: &mut InteractionRequest) -> bool {
        let words = [&mut request.agent_says, &mut request.decision_reason, &mut request.error];
        words.into_iter().flatten().for_each(|words| self.text(words));
        for values in [&mut request.field_errors, &mut request.initial_values] {
            for value in values.values_mut() {
                self.value(value);
            }
        }
        let found = self.value(&mut request.input);
        if found {
            request.input_digest = digest(&request.input);
            request.capabilities.edit_input = false;
            request.capabilities.scopes = false;
        }
        request.body.for_each_shown(
            |text| self.text(text),
            |value| {
                self.value(value);
            },
        );
        if let AskBody::Approval { offered_scopes: offered, .. } = &mut request.body
            && found
        {
            *offered = offered_scopes(&request.tool_name, &request.input_digest, &[Scope::Once]);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn needles(secrets: &[&str]) -> Needles {
        let secrets = secrets.iter().enumerate().map(|(at, text)| (at.to_string(), (*text).to_owned()));
        Needles::default().with(&secrets.collect())
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        let needles = needles(&["say \"friend\"\n", "1234"]);
        let mut value =
            json!({"a 1234": ["say \"friend\"", 991_234, 12], "b": "{\"x\":\"say \\\"friend\\\"\"}"});
        assert!(needles.value(&mut value));
        assert_eq!(value, json!({"a •••": ["•••", "•••", 12], "b": "{\"x\":\"•••\"}"}));
        assert!(!needles.value(&mut json!({"a": [null, true, "123"]})));
    }

    #[test]
    fn what_is_too_short_is_left_alone() {
        let mut text = "a cat sat".to_owned();
        needles(&["cat", "at"]).text(&mut text);
        assert_eq!(text, "a cat sat");
    }

    #[test]
    fn the_end_of_a_text_may_begin_a_secret() {
        let needles = needles(&["hunter2", "ünter"]);
        for (text, held) in [("x hun", 3), ("hunter", 6), ("hunter3", 0), ("", 0), ("x ü", 2), ("hh", 1)] {
            assert_eq!(needles.held(text), held, "{text}");
        }
    }
}
