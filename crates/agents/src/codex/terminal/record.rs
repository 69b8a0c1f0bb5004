//! The program's own record of the conversation, line by line: what its model was told of a call.
//!
//! It says what was answered where nothing else does: which answer a question got, and that a command was declined that was
//! asked about before we came.

use holdstead_protocol::{KnownBy, TerminalAnswer, json};
use serde::Deserialize;
use serde_json::Value;

use super::CodexTerminal;
use super::asks::{CameTo, acknowledged, overtaken};
use super::call::{CallState, Kind};
use crate::terminal::TerminalEffect;

/// How its model reads that a command was declined.
const REJECTED: &str = "exec_command failed: CreateProcess { message: \"Rejected(";
/// And of a turn that was stopped: with a "no" to the call, or while it ran.
const ABORTED: &str = "aborted by user";
/// Of other lines nothing is needed.
const OUTPUT: &str = "function_call_output";

#[derive(Debug, Deserialize)]
struct Line {
    payload: Payload,
}

#[derive(Debug, Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    call_id: String,
    output: Value,
}

impl CodexTerminal {
    pub(super) fn line(&mut self, line: &str) -> Vec<TerminalEffect> {
        if !line.contains(OUTPUT) {
            return Vec::new();
        }
        let Ok((line, _)) = json::read_flawed(line.as_bytes()) else { return Vec::new() };
        match Line::deserialize(line) {
            Ok(Line { payload }) if payload.kind == OUTPUT => self.told_model(&payload),
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    fn told_model(&mut self, told: &Payload) -> Vec<TerminalEffect> {
        let id = told.call_id.as_str();
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        match (&call.kind, &call.state) {
            (Kind::Command, CallState::Answered { .. } | CallState::Replied { over: Some(_), .. }) => {
                let output = told.output.as_str().unwrap_or_default();
                if output.ends_with(ABORTED) {
                    return Vec::new();
                }
                let rejected = output.starts_with(REJECTED);
                self.came_to(id, if rejected { CameTo::Declined } else { CameTo::Ran })
            }
            (Kind::Question, CallState::Replied { answer, over: Some(_), .. }) => {
                let read = told.output.as_str().and_then(|output| json::read(output.as_bytes()).ok());
                let told = match read {
                    Some(read) if read == *answer => acknowledged(id),
                    Some(_) => overtaken(id, TerminalAnswer::Answered, KnownBy::Record),
                    // It was given up.
                    None => overtaken(id, TerminalAnswer::NotSaid, KnownBy::Record),
                };
                call.state = CallState::Over;
                told
            }
            (
                Kind::Command | Kind::Question | Kind::Change { .. } | Kind::Tool { .. },
                CallState::Made
                | CallState::Waits { .. }
                | CallState::Replied { .. }
                | CallState::Answered { .. }
                | CallState::Over,
            ) => Vec::new(),
        }
    }
}
