//! The program's own record of the conversation, line by line.

use holdstead_protocol::{InTerminal, KnownBy, StopReason, TerminalAnswer, json};
use serde::Deserialize;
use tokio::time::Instant;

use super::super::wire::{Block, Message};
use super::asks::{DecidedBy, Replied};
use super::{ClaudeTerminal, Ending, call_id, event};
use crate::AgentEvent;
use crate::terminal::{TerminalEffect, TurnHere};

/// What the program writes down when a person stops it.
const INTERRUPTED: &str = "[Request interrupted by user";

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Assistant(Said),
    User(Said),
    Attachment {
        attachment: Attachment,
    },
    System {
        subtype: Option<String>,
    },
    #[serde(other)]
    Other,
}

/// The program wrote this when the hooks had run that it runs at the end of a turn.
const TURN_ENDED: &str = "stop_hook_summary";

/// Something about the conversation that is not said in it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Attachment {
    HookPermissionDecision {
        decision: String,
        #[serde(rename = "toolUseID")]
        tool_use_id: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    message: Message,
    #[serde(default)]
    is_sidechain: bool,
    agent_id: Option<String>,
    permission_decision: Option<PermissionDecision>,
    #[serde(default)]
    is_meta: bool,
    /// The model could not be reached, which ends the turn, and no hook is told.
    #[serde(default)]
    is_api_error_message: bool,
}

#[derive(Debug, Deserialize)]
struct PermissionDecision {
    #[serde(default)]
    decision: String,
    #[serde(default)]
    source: String,
}

impl PermissionDecision {
    fn by(&self) -> DecidedBy {
        match self.source.as_str() {
            "hook" => DecidedBy::Hook,
            source if source.starts_with("user") => DecidedBy::Person,
            _ => DecidedBy::Settings,
        }
    }
}

impl ClaudeTerminal {
    /// A line that was written while nobody listened: which calls there are, and what somebody decided about them.
    pub(super) fn missed_line(&mut self, line: &str) -> Vec<TerminalEffect> {
        let Ok((line, _)) = json::read_flawed(line.as_bytes()) else { return Vec::new() };
        match Line::deserialize(line) {
            Ok(Line::Assistant(said)) => {
                self.ending = None;
                for block in said.message.blocks() {
                    if let Block::ToolUse { id, name, input } = block {
                        self.called(id.clone(), name, input, None);
                        // People saw it, or can see it in the terminal.
                        self.is_shown(&id);
                    }
                }
                Vec::new()
            }
            Ok(Line::User(said)) => {
                self.ending = None;
                self.missed_results(said)
            }
            Ok(Line::System { subtype: Some(kind) }) if kind == TURN_ENDED => {
                self.has_ended();
                Vec::new()
            }
            Ok(Line::Attachment { .. } | Line::System { .. } | Line::Other) | Err(_) => Vec::new(),
        }
    }

    /// The turn ended while nothing listened, unless a later line goes on with another one.
    fn has_ended(&mut self) {
        if self.turn != TurnHere::None {
            self.ending = Some(Ending { last_words: None, since: Instant::now() });
        }
    }

    fn missed_results(&mut self, said: Said) -> Vec<TerminalEffect> {
        let how = said.permission_decision.and_then(|decided| {
            let answer = match (decided.by(), decided.decision == "reject") {
                (DecidedBy::Person, true) => TerminalAnswer::Refused,
                (DecidedBy::Person, false) => TerminalAnswer::Allowed,
                (DecidedBy::Hook, _) => TerminalAnswer::NotByAPerson,
                (DecidedBy::Settings | DecidedBy::NotSaid, _) => return None,
            };
            Some(InTerminal { answer, known_by: KnownBy::Record })
        });
        let mut effects = Vec::new();
        for block in said.message.blocks() {
            let Block::ToolResult { tool_use_id, .. } = block else { continue };
            self.calls.remove(&tool_use_id);
            let told = call_id(&tool_use_id).zip(how);
            effects.extend(
                told.map(|(tool_call_id, how)| event(AgentEvent::AnsweredInTerminal { tool_call_id, how })),
            );
        }
        effects
    }

    pub(super) fn line(&mut self, line: &str) -> Vec<TerminalEffect> {
        let Ok((line, _)) = json::read_flawed(line.as_bytes()) else { return Vec::new() };
        match Line::deserialize(line) {
            Ok(Line::Assistant(said)) => self.assistant(said),
            Ok(Line::User(said)) if !said.is_meta => self.results(said),
            Ok(Line::Attachment {
                attachment: Attachment::HookPermissionDecision { decision, tool_use_id },
            }) => {
                let hook = if decision == "allow" { Replied::Allow } else { Replied::Deny };
                self.hook_decided(&tool_use_id, hook)
            }
            Ok(Line::User(_) | Line::Attachment { .. } | Line::System { .. } | Line::Other) | Err(_) => {
                Vec::new()
            }
        }
    }

    fn assistant(&mut self, said: Said) -> Vec<TerminalEffect> {
        let agent = said.agent_id.filter(|_| said.is_sidechain);
        let failed = said.is_api_error_message && agent.is_none();
        let mut effects = self.in_turn();
        let id = Some(said.message.id.clone()).filter(|id| !id.is_empty());
        if agent.is_none() && self.message.is_some() && self.message != id {
            effects.push(event(AgentEvent::MessageEnd));
        }
        if agent.is_none() {
            self.message = id;
        }
        let parents = self.parents(agent.as_deref());
        for block in said.message.blocks() {
            match block {
                Block::Text { text } => {
                    let last = agent.is_none() && self.is_last_words(&text);
                    effects.push(event(AgentEvent::Text { text, parents: parents.clone() }));
                    if last {
                        effects.extend(self.end_turn(StopReason::Completed));
                    }
                }
                Block::Thinking { thinking } if !thinking.is_empty() => {
                    effects.push(event(AgentEvent::Thinking { text: thinking, parents: parents.clone() }));
                }
                Block::ToolUse { id, name, input } => {
                    self.called(id.clone(), name, input, agent.clone());
                    effects.extend(self.show_call(&id));
                    effects.extend(self.match_requests());
                }
                Block::Thinking { .. } | Block::ToolResult { .. } | Block::Other => {}
            }
        }
        if failed {
            effects.extend(self.end_turn(StopReason::Failed));
        }
        effects
    }

    fn is_last_words(&self, text: &str) -> bool {
        let expected = self.ending.as_ref().and_then(|ending| ending.last_words.as_deref());
        expected.is_some_and(|words| words.trim() == text.trim())
    }

    /// What the model was told that calls came to.
    fn results(&mut self, said: Said) -> Vec<TerminalEffect> {
        let by = said.permission_decision.as_ref().map_or(DecidedBy::NotSaid, PermissionDecision::by);
        let rejected = said.permission_decision.is_some_and(|decided| decided.decision == "reject");
        let mut effects = Vec::new();
        let sidechain = said.is_sidechain;
        for block in said.message.blocks() {
            if let Block::Text { text } = &block
                && !sidechain
                && text.starts_with(INTERRUPTED)
            {
                // Nothing else says that a turn was stopped with Esc.
                effects.extend(self.end_turn(StopReason::Interrupted));
            }
            let Block::ToolResult { tool_use_id, content, is_error } = block else { continue };
            let is_error = is_error.unwrap_or(false);
            let refused = rejected || (is_error && by == DecidedBy::NotSaid);
            effects.extend(self.came_to(&tool_use_id, by, refused));
            if let Some(tool_call_id) =
                call_id(&tool_use_id).filter(|_| self.calls.contains_key(&tool_use_id))
            {
                effects.push(event(AgentEvent::ToolResult { tool_call_id, output: content, is_error }));
            }
        }
        effects
    }
}
