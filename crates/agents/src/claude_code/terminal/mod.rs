//! Claude Code in a person's own terminal, seen through its hooks and its transcript.
//!
//! Its dialog stands in the terminal while our hook is held. A reply is no delivery: whoever was faster wins, and only the
//! transcript says who that was.

mod asks;
mod checks;
mod hooks;
mod plugin;
mod transcript;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use holdstead_protocol::{
    InTerminal, KnownBy, MessageId, StopReason, TerminalAnswer, ToolCallId, TurnId, json,
};
use serde_json::Value;
use tokio::time::Instant;

use super::terms::Terms;
use crate::terminal::{Terminal, TerminalEffect, TurnHere, cut, event, not_here, not_taken};
use crate::{AgentEvent, AgentExit, Introduced, Resolution};
use asks::Call;
use checks::Check;
use hooks::{Hook, HookEvent};
pub use plugin::{MARKET, PLUGIN, plugin_files};

/// The last words of a turn may be written after the program said that it is over.
const LAST_WORDS: Duration = Duration::from_millis(700);
/// The program's word for itself while a dialog stands in its terminal.
const DIALOG_STANDS: &str = "waiting";
/// How the program tells its model what nobody typed.
const NOTIFICATION: &str = "<task-notification>";
const REPORTED: &str = "(a task in the background reported back)";
const BEFORE: &str = "(written before Holdstead was connected)";

#[derive(Debug)]
pub(super) struct ClaudeTerminal {
    terms: Terms,
    turn: TurnHere,
    /// What was said in the turn stands in the transcript a moment later.
    ending: Option<Ending>,
    calls: HashMap<String, Call>,
    /// How many calls there were.
    called: u64,
    /// Calls that the program makes when the gateway has said that no rule denies them.
    checks: HashMap<String, Check>,
    /// Requests that no call was found for yet.
    unmatched: Vec<asks::Unmatched>,
    /// Subagents, and what each is called.
    subagents: HashMap<String, String>,
    /// Those that are at work.
    at_work: HashSet<String>,
    /// The hook that stays, so that a gateway that was restarted hears of the program at once.
    waiter: Option<u64>,
    /// The message whose blocks come now.
    message: Option<String>,
    /// The program's own folder.
    folder: Option<PathBuf>,
}

#[derive(Debug)]
struct Ending {
    last_words: Option<String>,
    since: Instant,
}

impl ClaudeTerminal {
    /// `in_turn`: the journal has a turn that goes on.
    pub(super) fn new(terms: Terms, in_turn: bool) -> Self {
        Self {
            terms,
            turn: if in_turn { TurnHere::Given } else { TurnHere::None },
            ending: None,
            calls: HashMap::new(),
            called: 0,
            checks: HashMap::new(),
            unmatched: Vec::new(),
            subagents: HashMap::new(),
            at_work: HashSet::new(),
            waiter: None,
            message: None,
            folder: None,
        }
    }

    fn begin(&mut self, text: String) -> Vec<TerminalEffect> {
        let text = cut(text);
        let said_so = self.ending.is_some();
        let over = self.end_turn(if said_so { StopReason::Completed } else { StopReason::Interrupted });
        self.turn = TurnHere::Own;
        let begun =
            AgentEvent::TurnBegun { turn_id: TurnId::generate(), message_id: MessageId::generate(), text };
        over.into_iter().chain([event(begun)]).collect()
    }

    /// Something of a turn whose beginning nobody here saw.
    fn in_turn(&mut self) -> Vec<TerminalEffect> {
        match self.turn {
            TurnHere::None => self.begin(BEFORE.to_owned()),
            TurnHere::Own | TurnHere::Given => Vec::new(),
        }
    }

    /// Who called a call, for people.
    fn parents(&self, agent: Option<&str>) -> Vec<String> {
        let name = |id: &str| self.subagents.get(id).cloned().unwrap_or_else(|| id.to_owned());
        agent.map(name).into_iter().collect()
    }

    fn end_turn(&mut self, reason: StopReason) -> Vec<TerminalEffect> {
        self.ending = None;
        self.message = None;
        if self.turn == TurnHere::None {
            return Vec::new();
        }
        let not_said = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Program };
        let mut effects = self.give_up_all(not_said);
        self.turn = TurnHere::None;
        effects.extend(self.checks.drain().flat_map(|(_, check)| check.passes()));
        self.calls.clear();
        self.at_work.clear();
        effects.push(event(AgentEvent::TurnDone { reason, usage: None }));
        effects
    }

    fn hook(&mut self, hook: Hook, waits: Option<u64>, now: Instant) -> Vec<TerminalEffect> {
        let record =
            hook.transcript_path.as_ref().and_then(|path| own_record(path.clone(), &hook.session_id));
        self.folder =
            record.and_then(|record| Some(record.ancestors().nth(3)?.to_owned())).or(self.folder.take());
        match hook.event {
            HookEvent::SessionStart => vec![event(AgentEvent::Ready { agent_ref: hook.session_id })],
            HookEvent::UserPromptSubmit { prompt } if prompt.trim_start().starts_with(NOTIFICATION) => {
                match self.turn {
                    TurnHere::None => self.begin(REPORTED.to_owned()),
                    TurnHere::Own | TurnHere::Given => Vec::new(),
                }
            }
            HookEvent::UserPromptSubmit { prompt } => self.begin(prompt),
            HookEvent::PreToolUse { tool_use_id, tool_name, tool_input } => {
                let begun = self.in_turn();
                self.called(tool_use_id.clone(), tool_name, tool_input, hook.agent_id);
                let checked = match waits {
                    Some(waits) => self.check(tool_use_id, waits, hook.cwd),
                    None => Vec::new(),
                };
                begun.into_iter().chain(self.match_requests()).chain(checked).collect()
            }
            HookEvent::PostToolUse { tool_use_id, tool_input } => {
                waits.map(|waits| self.ran(&tool_use_id, &tool_input, waits)).unwrap_or_default()
            }
            HookEvent::PermissionRequest { tool_name, tool_input } => {
                let Some(waits) = waits else { return Vec::new() };
                let begun = self.in_turn();
                self.unmatched.push(asks::Unmatched {
                    waits,
                    tool_name,
                    tool_input,
                    agent_id: hook.agent_id,
                    cwd: hook.cwd,
                    since: now,
                });
                begun.into_iter().chain(self.match_requests()).collect()
            }
            HookEvent::Stop { last_assistant_message } => {
                if self.turn != TurnHere::None && self.at_work.is_empty() {
                    self.ending = Some(Ending { last_words: last_assistant_message, since: now });
                }
                Vec::new()
            }
            HookEvent::SubagentStart => {
                let Some(id) = hook.agent_id else { return Vec::new() };
                let record = hook.transcript_path.and_then(|path| record_of(path, &hook.session_id, &id));
                self.at_work.insert(id.clone());
                self.subagents.insert(id, hook.agent_type.unwrap_or_else(|| "subagent".to_owned()));
                record.map(TerminalEffect::AlsoRecorded).into_iter().collect()
            }
            HookEvent::SubagentStop => {
                self.at_work.retain(|id| Some(id) != hook.agent_id.as_ref());
                Vec::new()
            }
            HookEvent::Waiter => {
                let before = self.waiter.take();
                self.waiter = waits;
                let gone = before.filter(|before| Some(*before) != waits);
                not_here(gone)
            }
            HookEvent::SessionEnd => self.closed(),
            HookEvent::Other => not_here(waits),
        }
    }
}

impl Terminal for ClaudeTerminal {
    fn heard(&mut self, said: &str, waits: Option<u64>, now: Instant) -> Vec<TerminalEffect> {
        match json::read_flawed(said.as_bytes()) {
            Ok((said, flaw)) => match Hook::read(said) {
                // What cannot be shown as it is is not allowed here. A rule may deny what could be read of it.
                Some(hook) if flaw.is_none() || waits.is_none() || hook.is_before_a_call() => {
                    self.hook(hook, waits, now)
                }
                Some(_) | None => not_here(waits),
            },
            Err(_) => not_here(waits),
        }
    }

    fn recorded(&mut self, line: &str) -> Vec<TerminalEffect> {
        self.line(line)
    }

    fn missed(&mut self, line: &str) -> Vec<TerminalEffect> {
        self.missed_line(line)
    }

    fn status_file(&self, pid: u32) -> Option<PathBuf> {
        let folder = self.folder.as_ref().filter(|_| self.may_show_dialog())?;
        Some(folder.join("sessions").join(format!("{pid}.json")))
    }

    fn status(&mut self, said: &str, now: Instant) -> Vec<TerminalEffect> {
        let Ok((said, _)) = json::read_flawed(said.as_bytes()) else { return Vec::new() };
        match said["status"].as_str() {
            Some(status) => self.dialog_stands(status == DIALOG_STANDS, now),
            None => Vec::new(),
        }
    }

    fn say(&mut self, _words: String) -> Vec<TerminalEffect> {
        // The gateway takes no message for it: the program has no way in that its model would read as a person's.
        not_taken(self.turn)
    }

    fn resolve(&mut self, call: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        match self.checks.remove(call.as_str()) {
            Some(check) => self.checked(call, check, resolution),
            None => self.decided(call, resolution),
        }
    }

    fn gone(&mut self, waits: u64) {
        self.check_left(waits);
    }

    fn left(&mut self, waits: u64) -> Vec<TerminalEffect> {
        self.waiter.take_if(|waiter| *waiter == waits);
        self.withdrawn(waits)
    }

    fn passed(&mut self, now: Instant) -> Vec<TerminalEffect> {
        let mut effects = self.overdue(now);
        if self.ending.as_ref().is_some_and(|ending| now.duration_since(ending.since) >= LAST_WORDS) {
            effects.extend(self.end_turn(StopReason::Completed));
        }
        effects
    }

    fn closed(&mut self) -> Vec<TerminalEffect> {
        let mut effects =
            self.give_up_all(InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Closed });
        effects.extend(self.end_turn(StopReason::Interrupted));
        effects.extend(self.waiter.take().map(|waits| TerminalEffect::Answer { waits, answer: None }));
        let exit = AgentExit { parked: false, code: Some(0), stderr: "its terminal is closed".to_owned() };
        effects.push(event(AgentEvent::Exited(exit)));
        effects
    }
}

pub(super) fn introduced(said: &str) -> Option<Introduced> {
    let (said, _) = json::read_flawed(said.as_bytes()).ok()?;
    let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    let agent_ref = text("session_id").filter(|id| !id.is_empty() && id.len() <= 100)?;
    let record = text("transcript_path").and_then(|path| own_record(path, &agent_ref));
    Some(Introduced { agent_ref, cwd: text("cwd")?, record })
}

/// Of this conversation, and not any file that somebody names.
fn own_record(path: String, conversation: &str) -> Option<PathBuf> {
    let named_so = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name == format!("{conversation}.jsonl").as_str())
    };
    Some(PathBuf::from(path)).filter(|path| path.is_absolute() && named_so(path))
}

/// Where the program keeps what a subagent of this conversation says.
fn record_of(transcript: String, conversation: &str, agent: &str) -> Option<PathBuf> {
    // A name of its own, and no way to another folder.
    let is_name = !agent.is_empty() && agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let folder = own_record(transcript, conversation).filter(|_| is_name)?.with_extension("");
    Some(folder.join("subagents").join(format!("agent-{agent}.jsonl")))
}

fn call_id(id: &str) -> Option<ToolCallId> {
    ToolCallId::new(id).ok()
}

#[cfg(test)]
mod tests;
