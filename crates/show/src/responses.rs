//! The answers that people give in the shows.

use holdstead_protocol::ResponseDraft;
use serde_json::Value;

pub(crate) const APPROVE: ResponseDraft =
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };
pub(crate) const DENY: ResponseDraft = ResponseDraft::Deny { reason: None };

pub(crate) fn deny(reason: &str) -> ResponseDraft {
    ResponseDraft::Deny { reason: Some(reason.to_owned()) }
}

/// Approves this input in place of the one that the agent asked about.
pub(crate) const fn approve_edited(input: Value) -> ResponseDraft {
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(input) }
}

/// Answers questions by their id, index or text.
pub(crate) fn submit(answers: &Value) -> ResponseDraft {
    ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None }
}
