//! Known secrets are masked in what an agent or a tool says later, and in the log.
//!
//! They are known to this process only, from the answer until the session ends: nothing that could tell them is kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use holdstead_core::{Command, Output, Rejection, Said, Secrets, digest, offered_scopes};
use holdstead_protocol::{AskBody, InteractionRequest, Origin, Scope, SessionError, SessionId};
use serde_json::{Map, Value};

use crate::needles::{Needles, Unmaskable};

/// What an agent's words are replaced by if they cannot be masked. It does not happen to what can be read again.
const NOT_KEPT: &str =
    "The agent said something with a secret in it that could not be masked. It is not kept.";

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

    /// These were given in answer to this ask.
    pub(crate) fn add(&self, session: SessionId, secrets: &Secrets, asked: &AskBody) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let needles = known.entry(session).or_default();
        *needles = needles.with(secrets, ids(asked));
    }

    pub(crate) fn forget(&self, session: SessionId) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    pub(crate) fn of(&self, session: SessionId) -> Option<Needles> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
    }

    /// Takes known secrets out of what an agent said.
    pub(crate) fn outputs(&self, session: SessionId, outputs: &mut [Output]) {
        if let Some(needles) = self.of(session) {
            outputs.iter_mut().for_each(|output| needles.output(output));
        }
    }

    /// Takes known secrets out of what an agent or a tool says with this command. What a person says is left alone: it
    /// goes to the agent as it is.
    pub(crate) fn command(&self, session: SessionId, command: &mut Command) -> Result<(), Rejection> {
        let Some(needles) = self.of(session) else { return Ok(()) };
        match command.said() {
            Said::Nothing => {}
            Said::Ask(request) => {
                if needles.ask(request)?
                    && let Command::Request(request) = command.inner_mut()
                {
                    // A remembered approval must not cover what nobody could see.
                    request.owner_grants.clear();
                }
            }
            Said::Outputs(outputs) => outputs.iter_mut().for_each(|output| needles.output(output)),
            Said::Result(result) => {
                needles.value(result);
            }
            Said::Words(words) => words.into_iter().for_each(|words| needles.text(words)),
            Said::Ran(other) => {
                // A digest of what has a secret in it would let the secret be guessed.
                if let Some(ran) = &mut other.ran
                    && needles.value(ran)
                {
                    other.ran_digest = digest(ran);
                }
            }
            Said::LeftOut(left_out) => {
                let names = left_out.files.iter_mut().chain(&mut left_out.instructions);
                names.chain([&mut left_out.message]).for_each(|name| needles.text(name));
            }
        }
        Ok(())
    }
}

fn ids(asked: &AskBody) -> Vec<String> {
    asked.clone().ids_mut().into_iter().map(std::mem::take).collect()
}

impl Needles {
    fn output(&self, output: &mut Output) {
        let masked = match output {
            Output::Text(delta) => self.written(delta),
            Output::Thinking(delta) => self.written(delta),
            Output::ToolCallStart(start) => self.written(start),
            Output::ToolCallDelta(delta) => self.written(delta),
            Output::ToolCallEnd(end) => self.written(end),
            Output::ToolResult(result) => self.written(result),
            Output::Error(error) => self.written(error),
        };
        if let Err(Unmaskable) = masked {
            *output = Output::Error(SessionError { turn_id: None, message: NOT_KEPT.to_owned() });
        }
    }

    /// Whether what would be done had something to mask. Then nobody saw all of it: it can be approved as it is and once,
    /// or not at all.
    ///
    /// An id is never changed: whoever asked knows the answer's parts by it. One that was there before the secret tells
    /// nothing about it and stays; any other with a secret in it is refused.
    fn ask(&self, request: &mut InteractionRequest) -> Result<bool, Rejection> {
        let ids = ids(&request.body);
        if ids.iter().any(|id| self.is_told_by(id)) {
            return Err(Rejection::SecretInName { what: "id of a question or field" });
        }
        // The key of a call over MCP is a model's choice. A hosted agent's calls are numbered by its program.
        let named = request.tool_call_id.as_ref().filter(|_| !request.origin.is_agent());
        if named.is_some_and(|call| self.found_in(call.as_str())) {
            return Err(Rejection::SecretInName { what: "key of this call" });
        }
        let asked = request.clone();
        self.written(request).map_err(|Unmaskable| Rejection::BadAsk {
            why: "it has a secret in it that cannot be masked".to_owned(),
        })?;
        for (id, asked) in request.body.ids_mut().into_iter().zip(&ids) {
            id.clone_from(asked);
        }
        request.field_errors = self.by_id(&asked.field_errors, &ids);
        request.initial_values = self.by_id(&asked.initial_values, &ids);
        if request.origin == Origin::Tool {
            // Its handler is found by the name it is registered under.
            request.tool_name.clone_from(&asked.tool_name);
        }
        let found = request.input != asked.input || request.tool_name != asked.tool_name;
        if found {
            request.input_digest = digest(&request.input);
            request.capabilities.edit_input = false;
            request.capabilities.scopes = false;
        }
        if let AskBody::Approval { offered_scopes: offered, .. } = &mut request.body
            && found
        {
            *offered = offered_scopes(&request.tool_name, &request.input_digest, &[Scope::Once]);
        }
        Ok(found)
    }

    fn by_id(&self, values: &Map<String, Value>, ids: &[String]) -> Map<String, Value> {
        let masked = values.iter().map(|(key, value)| {
            let (mut key, mut value) = (key.clone(), value.clone());
            if !ids.contains(&key) {
                self.text(&mut key);
            }
            self.value(&mut value);
            (key, value)
        });
        masked.collect()
    }
}
