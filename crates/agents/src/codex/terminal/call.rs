//! A call, and how far its ask has come.

use holdstead_protocol::{Response, Settlement};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::{line, questions};
use crate::Resolution;

#[derive(Debug)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) tool_name: String,
    pub(super) input: Value,
    /// Its own line stands in the transcript.
    pub(super) shown: bool,
    pub(super) state: CallState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    /// With a diff, if it can be shown.
    Change {
        preview: Option<String>,
    },
    Tool {
        server: String,
    },
    Question,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// Nobody was asked about it here.
    Made,
    Waits {
        request: String,
        waits: u64,
    },
    /// This was replied. Since its ask is over, what becomes of it shows whether the reply counted.
    Replied {
        request: String,
        said: Said,
        answer: Value,
        over: Option<Instant>,
    },
    /// Somebody else answered, and what becomes of it shows what.
    Answered {
        since: Instant,
    },
    /// Nothing more follows from it here.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Yes,
    No,
    /// To a question.
    Words,
}

impl Call {
    pub(super) fn command(program: &str, cwd: Option<&str>) -> Self {
        let input = json!({ "command": line::for_shell(program), "cwd": cwd });
        Self::new(Kind::Command, "Bash".to_owned(), input)
    }

    pub(super) fn question(input: Value) -> Self {
        Self::new(Kind::Question, "request_user_input".to_owned(), input)
    }

    pub(super) const fn new(kind: Kind, tool_name: String, input: Value) -> Self {
        Self { kind, tool_name, input, shown: false, state: CallState::Made }
    }

    pub(super) fn preview(&self) -> Option<String> {
        match &self.kind {
            Kind::Change { preview } => preview.clone(),
            Kind::Command | Kind::Tool { .. } | Kind::Question => None,
        }
    }

    /// Since when its ask is over, while it is not known how.
    pub(super) fn over_since(&self) -> Option<Instant> {
        match &self.state {
            CallState::Answered { since } => Some(*since),
            CallState::Replied { over, .. } => *over,
            CallState::Made | CallState::Waits { .. } | CallState::Over => None,
        }
    }

    pub(super) fn is_asked_with(&self, asked: &str) -> bool {
        match &self.state {
            CallState::Waits { request, .. } | CallState::Replied { request, .. } => request == asked,
            CallState::Made | CallState::Answered { .. } | CallState::Over => false,
        }
    }
}

/// What the program is told. Nothing, where nobody decided here: somebody may in the terminal.
pub(super) fn reply(kind: &Kind, resolution: &Resolution) -> Option<(Said, Value)> {
    let (settlement, response) = match resolution {
        Resolution::Settled { settlement, response, .. } => (settlement, response),
        Resolution::Closed { .. } | Resolution::Queued { .. } | Resolution::LeftToAgent { .. } => {
            return None;
        }
    };
    let said = match (settlement, response) {
        (Settlement::Approved, Response::Approve { edited_input: None, .. }) => Said::Yes,
        (Settlement::Answered, Response::Answer { answers }) if !answers.is_empty() => Said::Words,
        // What does not fit is no yes.
        (
            Settlement::Approved
            | Settlement::Answered
            | Settlement::Denied
            | Settlement::Declined
            | Settlement::Failed,
            Response::Approve { .. }
            | Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. },
        ) => Said::No,
    };
    let decision = |word: &str| json!({"decision": word});
    match (kind, said, response) {
        (Kind::Question, Said::Words, Response::Answer { answers }) => {
            Some((said, questions::answered(answers)))
        }
        (Kind::Question, Said::Yes | Said::No | Said::Words, _) => Some((Said::No, questions::answered(&[]))),
        (Kind::Command | Kind::Change { .. }, Said::Yes, _) => Some((said, decision("accept"))),
        (Kind::Command | Kind::Change { .. }, Said::No | Said::Words, _) => {
            Some((Said::No, decision("decline")))
        }
        (Kind::Tool { .. }, Said::Yes, _) => Some((said, json!({"action": "accept", "content": {}}))),
        (Kind::Tool { .. }, Said::No | Said::Words, _) => Some((Said::No, json!({"action": "decline"}))),
    }
}
