//! The tools that every agent has: ask a person, ask for an approval, show a form, and wait again.
//!
//! Their asks are durable: what waits for a person is in the journal, and no process needs to live for it.

mod ask_user;
mod await_answer;
mod request_approval;
mod show_form;

use std::sync::Arc;
use std::time::Duration;

use holdstead_protocol::InteractionId;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{InteractionError, Tool, ToolCall, ToolFailure, ToolOutcome};

/// How long such an ask stays open. Until then, whoever asked may come back for the answer.
const OPEN_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ask_user::AskUser),
        Arc::new(request_approval::RequestApproval),
        Arc::new(show_form::ShowForm),
        Arc::new(await_answer::AwaitAnswer),
    ]
}

/// The ask that this call waits for, if it asks nothing itself.
pub(super) fn awaited(call: &ToolCall) -> Option<InteractionId> {
    let named = |id: &Value| serde_json::from_value(id.clone()).ok();
    call.input.get("interaction_id").filter(|_| call.name == await_answer::NAME).and_then(named)
}

fn read<T: DeserializeOwned>(input: Value) -> Result<T, InteractionError> {
    serde_json::from_value(input).map_err(|error| bad_input(&error.to_string()))
}

fn bad_input(why: &str) -> InteractionError {
    ToolFailure(format!("this input cannot be used: {why}. Nobody was asked; call again with another one"))
        .into()
}

/// A person would not answer. It is no answer, and nothing was decided.
fn declined(reason: Option<String>) -> ToolOutcome {
    let mut result = Map::from_iter([("ok".to_owned(), json!(false)), ("cancelled".to_owned(), json!(true))]);
    result.extend(reason.map(|reason| ("reason".to_owned(), Value::from(reason))));
    ToolOutcome::Complete(Value::Object(result))
}

/// The journal checked the answer against the ask, so this does not happen.
fn unfit() -> ToolFailure {
    ToolFailure("the answer does not fit what was asked".to_owned())
}
