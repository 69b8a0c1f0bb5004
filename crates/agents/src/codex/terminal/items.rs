//! What the program shows of its turns: words, calls and what became of them.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::changes;
use super::super::wire::{self, Item, Status, Turn};
use super::asks::{CameTo, was_answered};
use super::call::{Call, Kind};
use super::{BEFORE, CodexTerminal, call_id, cut, event};
use crate::AgentEvent;
use crate::terminal::TerminalEffect;

/// Of so many calls that were over while nobody listened it is told.
const MOST_MISSED: usize = 50;
const DECLINED: &str = "(declined)";
/// A tool of a server that somebody declined has failed, with these words.
const NOT_CALLED: [&str; 2] = ["user rejected MCP tool call", "user cancelled MCP tool call"];

impl CodexTerminal {
    pub(super) fn started(&mut self, turn: &str, item: Item, now: Instant) -> Vec<TerminalEffect> {
        match item {
            Item::UserMessage { client_id, content } => {
                let is_ours = client_id.is_some_and(|id| id.starts_with(wire::OURS));
                self.user_message(turn, wire::words(&content), is_ours, now)
            }
            Item::AgentMessage { .. } | Item::Reasoning { .. } => {
                let Some(begun) = self.in_turn(turn, now) else { return Vec::new() };
                begun.into_iter().chain(self.goes_on()).collect()
            }
            item @ (Item::CommandExecution { .. } | Item::FileChange { .. } | Item::McpToolCall { .. }) => {
                let Some(begun) = self.in_turn(turn, now) else { return Vec::new() };
                let Some((id, call)) = call_of(&item) else { return begun };
                self.called(&id, call);
                begun.into_iter().chain(self.show_call(&id)).collect()
            }
            Item::Other => Vec::new(),
        }
    }

    pub(super) fn text(
        &mut self,
        turn: &str,
        item: String,
        text: String,
        now: Instant,
    ) -> Vec<TerminalEffect> {
        let Some(mut effects) = self.in_turn(turn, now) else { return Vec::new() };
        effects.extend(self.goes_on());
        self.streamed = Some(item);
        effects.push(event(AgentEvent::Text { text, parents: Vec::new() }));
        effects
    }

    pub(super) fn completed(&mut self, turn: &str, item: Item, now: Instant) -> Vec<TerminalEffect> {
        let begun = match &item {
            // It was there when it began.
            Item::UserMessage { .. } | Item::Other => None,
            Item::AgentMessage { .. }
            | Item::Reasoning { .. }
            | Item::CommandExecution { .. }
            | Item::FileChange { .. }
            | Item::McpToolCall { .. } => self.in_turn(turn, now),
        };
        let Some(mut effects) = begun else { return Vec::new() };
        effects.extend(self.finished(item));
        effects
    }

    /// An item that is over.
    fn finished(&mut self, item: Item) -> Vec<TerminalEffect> {
        let parents = Vec::new();
        match item {
            Item::AgentMessage { id, text, .. } => {
                let streamed = self.streamed.take_if(|streamed| *streamed == id).is_some();
                let whole = (!streamed && !text.is_empty()).then_some(AgentEvent::Text { text, parents });
                whole.into_iter().chain([AgentEvent::MessageEnd]).map(event).collect()
            }
            Item::Reasoning { summary } => {
                let text = summary.join("\n\n");
                let thought = (!text.is_empty()).then_some(AgentEvent::Thinking { text, parents });
                thought.map(event).into_iter().collect()
            }
            item @ (Item::CommandExecution { .. } | Item::FileChange { .. } | Item::McpToolCall { .. }) => {
                let Some((id, call)) = call_of(&item) else { return Vec::new() };
                self.called(&id, call);
                let mut effects = self.show_call(&id);
                let Some((came_to, is_error, output)) = result(item) else { return effects };
                effects.extend(self.came_to(&id, came_to));
                if let Some(tool_call_id) = call_id(&id) {
                    effects.push(event(AgentEvent::ToolResult { tool_call_id, output, is_error }));
                }
                effects
            }
            Item::UserMessage { .. } | Item::Other => Vec::new(),
        }
    }

    fn called(&mut self, id: &str, call: Call) {
        let known = self.calls.entry(id.to_owned());
        // What it would change may be known only now.
        known.and_modify(|known| known.kind = call.kind.clone()).or_insert(call);
    }

    /// A turn that began before anybody here listened.
    pub(super) fn replay(&mut self, turn: Turn, now: Instant) -> Vec<TerminalEffect> {
        let Turn { id, items, .. } = turn;
        if items.is_empty() {
            // Its first words are on their way.
            return Vec::new();
        }
        let words = items.iter().find_map(|item| match item {
            Item::UserMessage { content, .. } => Some(wire::words(content)),
            Item::AgentMessage { .. }
            | Item::Reasoning { .. }
            | Item::CommandExecution { .. }
            | Item::FileChange { .. }
            | Item::McpToolCall { .. }
            | Item::Other => None,
        });
        let mut effects = self.begin(&id, words.unwrap_or_else(|| BEFORE.to_owned()), now);
        for item in items {
            effects.extend(match item {
                Item::AgentMessage { id, text, completed_at_ms: None } => {
                    self.streamed = Some(id);
                    vec![event(AgentEvent::Text { text, parents: Vec::new() })]
                }
                item @ (Item::UserMessage { .. }
                | Item::AgentMessage { .. }
                | Item::Reasoning { .. }
                | Item::CommandExecution { .. }
                | Item::FileChange { .. }
                | Item::McpToolCall { .. }
                | Item::Other) => self.finished(item),
            });
        }
        effects
    }

    /// A turn that the journal has: nothing of it is told again.
    pub(super) fn known(&mut self, turn: Turn, now: Instant) -> Vec<TerminalEffect> {
        self.taken_up = Some(now);
        let mut over = Vec::new();
        for item in turn.items {
            let Some((id, call)) = call_of(&item) else { continue };
            let is_known = self.calls.contains_key(&id);
            if let Some((came_to, ..)) = result(item) {
                // Whether it was asked about in an earlier life the journal knows.
                over.extend(if is_known { self.came_to(&id, came_to) } else { was_answered(&id, came_to) });
            }
            self.calls.entry(id).or_insert(Call { shown: true, ..call });
        }
        over.drain(..over.len().saturating_sub(MOST_MISSED));
        over
    }
}

fn call_of(item: &Item) -> Option<(String, Call)> {
    match item {
        Item::CommandExecution { id, command, cwd, .. } => {
            Some((id.clone(), Call::command(command, cwd.as_deref())))
        }
        Item::FileChange { id, changes, .. } => {
            let kind = Kind::Change { preview: changes::preview(changes) };
            Some((id.clone(), Call::new(kind, "Edit".to_owned(), json!({"changes": changes}))))
        }
        Item::McpToolCall { id, server, tool, arguments, .. } => {
            let kind = Kind::Tool { server: server.clone() };
            let input = if arguments.is_null() { json!({}) } else { arguments.clone() };
            Some((id.clone(), Call::new(kind, format!("mcp__{server}__{tool}"), input)))
        }
        Item::UserMessage { .. } | Item::AgentMessage { .. } | Item::Reasoning { .. } | Item::Other => None,
    }
}

/// What a call came to. Nothing, while it runs.
fn result(item: Item) -> Option<(CameTo, bool, Value)> {
    let (status, output) = match item {
        Item::CommandExecution { status, aggregated_output, exit_code, .. } => {
            let said = cut(aggregated_output.unwrap_or_default());
            let code = exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
            let lines = [Some(said).filter(|said| !said.is_empty()), code];
            (status, Value::from(lines.into_iter().flatten().collect::<Vec<_>>().join("\n")))
        }
        Item::FileChange { status, changes, .. } => (status, Value::from(changes::done(&changes))),
        Item::McpToolCall { status, result, error, .. } => {
            let content = result.map(|mut result| result.get_mut("content").map_or(Value::Null, Value::take));
            let words = error.map(|error| error.message);
            let declined = words.as_deref().is_some_and(|words| NOT_CALLED.contains(&words));
            let status = if declined { Status::Declined } else { status };
            (status, words.map(Value::from).or(content).unwrap_or_default())
        }
        Item::UserMessage { .. } | Item::AgentMessage { .. } | Item::Reasoning { .. } | Item::Other => {
            return None;
        }
    };
    match status {
        Status::InProgress => None,
        Status::Completed => Some((CameTo::Ran, false, output)),
        Status::Failed | Status::Other => Some((CameTo::Ran, true, output)),
        Status::Declined => Some((CameTo::Declined, true, Value::from(DECLINED))),
    }
}
