//! Agents that run in a person's own terminal. Nobody here starts them: they show themselves, and what they ask is asked
//! there, too.

use std::path::PathBuf;
use std::time::Duration;

use holdstead_protocol::{StopReason, ToolCallId};
use serde_json::Value;
use tokio::time::Instant;

use crate::{AgentEvent, Outgoing, Resolution};

/// One program in its terminal: what it says of itself, and how it is told something. Pure, but for the files that its asks
/// name.
pub trait Terminal: Send + std::fmt::Debug {
    /// What its hook or plugin said. With the number of whoever waits for what is answered.
    fn heard(&mut self, said: &str, waits: Option<u64>, now: Instant) -> Vec<TerminalEffect>;

    /// A line of the program's own record.
    fn recorded(&mut self, line: &str) -> Vec<TerminalEffect>;

    /// The same, of a line that was written while nobody listened.
    fn missed(&mut self, line: &str) -> Vec<TerminalEffect>;

    /// The file in which the program with this process says how it stands, while that matters here.
    fn status_file(&self, _pid: u32) -> Option<PathBuf> {
        None
    }

    /// What that file has now.
    fn status(&mut self, _said: &str, _now: Instant) -> Vec<TerminalEffect> {
        Vec::new()
    }

    /// Somebody says something to it from elsewhere.
    fn say(&mut self, text: String) -> Vec<TerminalEffect>;

    /// A call was decided here.
    fn resolve(&mut self, call: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect>;

    /// What was decided, or said to it.
    fn told(&mut self, outgoing: Outgoing) -> Vec<TerminalEffect> {
        match outgoing {
            Outgoing::Message { text } => self.say(text),
            Outgoing::MessageWithContext { context, text } => self.say(format!("{context}\n\n{text}")),
            Outgoing::Resolve { tool_call_id, resolution } => self.resolve(&tool_call_id, &resolution),
            // Nothing of this is asked of an agent in a terminal.
            Outgoing::TurnEnd(_) | Outgoing::Park { .. } | Outgoing::Interrupt => Vec::new(),
        }
    }

    /// The hook with this number went away just now: nothing reaches it any more.
    fn gone(&mut self, _waits: u64) {}

    /// It went away a moment ago, and its program is still there.
    fn left(&mut self, waits: u64) -> Vec<TerminalEffect>;

    /// Time has passed.
    fn passed(&mut self, now: Instant) -> Vec<TerminalEffect>;

    /// The terminal is closed.
    fn closed(&mut self) -> Vec<TerminalEffect>;
}

/// What follows from something that a program in a terminal said.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEffect {
    Event(AgentEvent),
    /// Whoever waits with this number gets this. Nothing: the program goes on as if nobody had been asked here.
    Answer {
        waits: u64,
        answer: Option<Value>,
    },
    /// A part of the conversation has a record of its own.
    AlsoRecorded(PathBuf),
    /// Words of a person for the program, by way of whoever waits for them.
    Say {
        waits: u64,
        words: String,
    },
}

/// Whole files may be pasted there, or printed.
const MOST_WORDS: usize = 100_000;

/// What is too long is cut, and says so.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > MOST_WORDS {
        text.truncate(text.floor_char_boundary(MOST_WORDS));
        text.push_str(" … (the rest is in the terminal)");
    }
    text
}

/// Whoever waits goes on as if nobody had been asked here.
pub(crate) fn not_here(waits: Option<u64>) -> Vec<TerminalEffect> {
    waits.map(|waits| TerminalEffect::Answer { waits, answer: None }).into_iter().collect()
}

/// Who began the turn that goes on, where a program does not say more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnHere {
    None,
    /// A person began it in the terminal.
    Own,
    /// It began with a message from elsewhere, or goes on from an earlier life.
    Given,
}

const BUSY: &str =
    "This message was not delivered: a person was writing in the terminal at the same time. Send it again.";
const TYPED_THERE: &str =
    "This message was not delivered: this program takes messages in its terminal alone. Type it there.";
pub(crate) const NO_WAITER: &str = "This message was not delivered: the program in the terminal does not listen now. Write it there, or \
                                    send it again when its turn is over.";

/// The waiter that takes a message which begins a turn; otherwise what the sender is told.
pub(crate) fn who_takes(turn: TurnHere, waiter: &mut Option<u64>) -> Result<u64, Vec<TerminalEffect>> {
    match turn {
        TurnHere::None => waiter.take().ok_or_else(|| not_delivered(turn, NO_WAITER)),
        TurnHere::Own | TurnHere::Given => Err(not_delivered(turn, BUSY)),
    }
}

/// A message for a program that takes none from elsewhere.
pub(crate) fn not_taken(turn: TurnHere) -> Vec<TerminalEffect> {
    not_delivered(turn, TYPED_THERE)
}

/// A turn of the terminal's own goes on; the one that the message would have begun fails.
fn not_delivered(turn: TurnHere, message: &str) -> Vec<TerminalEffect> {
    let failed = event(AgentEvent::Error { message: message.to_owned() });
    let over = event(AgentEvent::TurnDone { reason: StopReason::Failed, usage: None });
    [failed].into_iter().chain((turn == TurnHere::None).then_some(over)).collect()
}

pub(crate) const fn event(event: AgentEvent) -> TerminalEffect {
    TerminalEffect::Event(event)
}

/// So long a program is kept waiting that shows nobody its question meanwhile.
pub(crate) const UNSEEN: Duration = Duration::from_secs(20);

/// What the first words of a program in a terminal say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduced {
    pub agent_ref: String,
    pub cwd: String,
    /// Where it keeps its own record of the conversation.
    pub record: Option<PathBuf>,
}

/// A terminal that showed itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Appeared {
    /// Whose program it is, as sessions name it.
    pub agent: String,
    /// The program's own name for the conversation.
    pub agent_ref: String,
    pub cwd: String,
}
