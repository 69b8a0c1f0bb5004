//! opencode in its terminal: its turns, and what is said in them.

mod asks;
mod messages;

use std::collections::{BTreeMap, HashMap};

use holdstead_protocol::{KnownBy, MessageId, StopReason, ToolCallId, TurnId};
use serde_json::Value;
use tokio::time::Instant;

use super::shown::{self, Shown};
use super::wire::{
    Around, CallState, Called, Event, Failure, Message, OfCall, Part, Role, Said, What, Words, WordsKind,
};
use crate::private::Private;
use crate::terminal::{Terminal, TerminalEffect, TurnHere, cut, event, not_here};
use crate::{AgentEvent, AgentExit, Introduced, Resolution};
use asks::{Asked, Ended};

const BEFORE: &str = "(written before Holdstead was connected)";

#[derive(Debug)]
pub(super) struct OpencodeTerminal {
    /// The gateway's own files.
    private: Private,
    is_ready: bool,
    turn: TurnHere,
    /// A message from elsewhere, until the program shows it among its own.
    given: Option<String>,
    /// The message that this turn replies to.
    replies_to: Option<String>,
    /// Messages that were typed and not replied to yet, with their words.
    typed: HashMap<String, String>,
    asks: BTreeMap<String, Asked>,
    /// Calls that were shown, and whether they came to something.
    calls: HashMap<String, Progress>,
    /// Whoever waits for a message from elsewhere.
    waiter: Option<u64>,
    /// The model's message whose parts come now.
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Made,
    CameToSomething,
}

impl OpencodeTerminal {
    /// `in_turn`: the journal has a turn that goes on.
    pub(super) fn new(private: Private, in_turn: bool) -> Self {
        Self {
            private,
            is_ready: false,
            turn: if in_turn { TurnHere::Given } else { TurnHere::None },
            given: None,
            replies_to: None,
            typed: HashMap::new(),
            asks: BTreeMap::new(),
            calls: HashMap::new(),
            waiter: None,
            message: None,
        }
    }

    fn begin(&mut self, text: String) -> Vec<TerminalEffect> {
        let text = cut(text);
        let over = self.end_turn(StopReason::Completed);
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

    fn end_turn(&mut self, reason: StopReason) -> Vec<TerminalEffect> {
        self.message = None;
        self.given = None;
        if self.turn == TurnHere::None {
            return Vec::new();
        }
        let mut effects = self.give_up_all(KnownBy::Program);
        self.turn = TurnHere::None;
        self.calls.clear();
        effects.push(event(AgentEvent::TurnDone { reason, usage: None }));
        effects
    }

    fn event(&mut self, happened: Event, around: &Around, waits: Option<u64>) -> Vec<TerminalEffect> {
        match happened {
            Event::Message(message) => self.message(message, around),
            Event::Part(Part::Text { message, text }) => self.typed(message, text, around),
            Event::Part(Part::Tool { message, call, tool, state }) => {
                self.call(&message, &call, &tool, state, around)
            }
            Event::PermissionAsked(asked) => {
                let call = asked.tool.as_ref();
                let shown = shown::permission(&asked, around.call.as_ref(), &around.directory, &self.private);
                self.ask(&asked.id, call, shown, around, waits)
            }
            Event::QuestionAsked(asked) => {
                let shown = shown::questions(&asked, &around.directory);
                self.ask(&asked.id, asked.tool.as_ref(), shown, around, waits)
            }
            Event::PermissionReplied { id, reply } => self.ended(&id, Ended::Permission(reply), around),
            Event::QuestionReplied { id, answers } => self.ended(&id, Ended::Answered(answers), around),
            Event::QuestionRejected { id } => self.ended(&id, Ended::Dismissed, around),
            Event::Idle => self.rests(around, None),
            Event::Error(failure) => self.rests(around, Some(&failure)),
            Event::Part(Part::Other) | Event::Other => not_here(waits),
        }
    }

    /// A message is there. Its words follow, if it has any.
    fn message(&mut self, message: Message, around: &Around) -> Vec<TerminalEffect> {
        if around.is_subagent() {
            return Vec::new();
        }
        let id = match message.role {
            Role::User => {
                self.typed.entry(message.id).or_default();
                return Vec::new();
            }
            Role::Assistant => message.parent.unwrap_or_default(),
        };
        if self.replies_to.as_ref() == Some(&id) {
            return Vec::new();
        }
        let words = self.typed.remove(&id);
        // The program writes messages of its own in the middle of a turn. They have no words of a person's.
        let begins = self.turn == TurnHere::None || words.as_ref().is_some_and(|words| !words.is_empty());
        if !begins {
            return Vec::new();
        }
        let begun = self.begin(words.unwrap_or_else(|| BEFORE.to_owned()));
        self.replies_to = Some(id);
        begun
    }

    /// A person's words. While a turn goes on, the program takes them up when it comes to them.
    fn typed(&mut self, message: String, text: String, around: &Around) -> Vec<TerminalEffect> {
        if around.is_subagent() || self.replies_to.as_ref() == Some(&message) {
            return Vec::new();
        }
        if self.given.take_if(|given| *given == text).is_some() {
            self.typed.remove(&message);
            self.replies_to = Some(message);
            return Vec::new();
        }
        match self.turn {
            TurnHere::None => {
                self.typed.remove(&message);
                let begun = self.begin(text);
                self.replies_to = Some(message);
                begun
            }
            TurnHere::Own | TurnHere::Given => {
                let words = self.typed.entry(message).or_default();
                if words.is_empty() {
                    *words = text;
                }
                Vec::new()
            }
        }
    }

    fn words(&mut self, words: Words, around: &Around) -> Vec<TerminalEffect> {
        let mut effects = self.in_turn();
        effects.extend(self.next_message(&words.message, around));
        let (text, parents) = (words.text, around.parents());
        effects.push(event(match words.kind {
            WordsKind::Text => AgentEvent::Text { text, parents },
            WordsKind::Reasoning => AgentEvent::Thinking { text, parents },
        }));
        effects
    }

    /// Ends the message before this one.
    fn next_message(&mut self, id: &str, around: &Around) -> Option<TerminalEffect> {
        if around.is_subagent() || self.message.as_deref() == Some(id) {
            return None;
        }
        self.message.replace(id.to_owned()).map(|_| event(AgentEvent::MessageEnd))
    }

    fn call(
        &mut self,
        message: &str,
        id: &str,
        tool: &str,
        state: CallState,
        around: &Around,
    ) -> Vec<TerminalEffect> {
        let (input, result) = match state {
            CallState::Pending => return Vec::new(),
            CallState::Running { input } => (input, None),
            CallState::Completed { input, output } => (input, Some((output, false))),
            CallState::Error { input, error } => (input, Some((Value::from(error), true))),
        };
        // What a turn left behind may come to its end after it.
        if self.turn == TurnHere::None && result.is_some() {
            return Vec::new();
        }
        let mut effects = self.in_turn();
        effects.extend(self.next_message(message, around));
        effects.extend(self.show_call(id, &Called { tool: tool.to_owned(), input }, around));
        let (Some((output, is_error)), Ok(tool_call_id)) = (result, ToolCallId::new(id)) else {
            return effects;
        };
        let before = self.calls.insert(id.to_owned(), Progress::CameToSomething);
        if before == Some(Progress::Made) {
            effects.push(event(AgentEvent::ToolResult { tool_call_id, output, is_error }));
        }
        effects
    }

    fn show_call(&mut self, id: &str, called: &Called, around: &Around) -> Vec<TerminalEffect> {
        let Ok(tool_call_id) = ToolCallId::new(id) else { return Vec::new() };
        if self.calls.contains_key(id) {
            return Vec::new();
        }
        self.calls.insert(id.to_owned(), Progress::Made);
        let (tool_name, input) = shown::tool(&called.tool, &called.input);
        let parents = around.parents();
        vec![
            event(AgentEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_name, parents }),
            event(AgentEvent::ToolCallEnd { tool_call_id, input }),
        ]
    }

    fn ask(
        &mut self,
        id: &str,
        of: Option<&OfCall>,
        shown: Option<Shown>,
        around: &Around,
        waits: Option<u64>,
    ) -> Vec<TerminalEffect> {
        let (Some(waits), Some(shown)) = (waits, shown) else { return not_here(waits) };
        let mut effects = self.in_turn();
        let call = of.map(|of| of.call.as_str());
        if let (Some(call), Some(called)) = (call, &around.call) {
            effects.extend(self.show_call(call, called, around));
        }
        effects.extend(self.asked(id, call, shown, around, waits));
        effects
    }

    /// A session does nothing any more: it ended its turn, or failed.
    fn rests(&mut self, around: &Around, failure: Option<&Failure>) -> Vec<TerminalEffect> {
        let mut effects = self.ended_earlier(around);
        effects.extend(self.dead(&around.session));
        if around.is_subagent() {
            return effects;
        }
        self.typed.clear();
        let reason = match failure {
            None => StopReason::Completed,
            Some(failure) if failure.is_abort() => StopReason::Interrupted,
            Some(failure) => {
                if self.turn != TurnHere::None {
                    let message = format!("opencode could not go on: {}", failure.words());
                    effects.push(event(AgentEvent::Error { message }));
                }
                StopReason::Failed
            }
        };
        effects.extend(self.end_turn(reason));
        effects
    }

    fn said(&mut self, said: Said, waits: Option<u64>) -> Vec<TerminalEffect> {
        let Said { around, what, .. } = said;
        let mut effects = Vec::new();
        if !std::mem::replace(&mut self.is_ready, true) {
            effects.push(event(AgentEvent::Ready { agent_ref: around.conversation.clone() }));
        }
        effects.extend(match what {
            What::Event(happened) => self.event(happened, &around, waits),
            What::Words(words) => self.words(words, &around),
            What::Waiter(waiter) => self.waits_for_words(waiter.idle, &around, waits),
            What::Answered(answered) => self.answered(&answered.id, answered.status),
            What::Posted(posted) => self.posted(posted.status),
        });
        effects
    }
}

impl Terminal for OpencodeTerminal {
    fn heard(&mut self, said: &str, waits: Option<u64>, _now: Instant) -> Vec<TerminalEffect> {
        match Said::read(said) {
            // What cannot be shown as it is is not decided here.
            Some(said) if said.flaw.is_none() || waits.is_none() => self.said(said, waits),
            Some(_) | None => not_here(waits),
        }
    }

    /// The program's record is a database. What it says comes by way of the plugin.
    fn recorded(&mut self, _line: &str) -> Vec<TerminalEffect> {
        Vec::new()
    }

    fn missed(&mut self, _line: &str) -> Vec<TerminalEffect> {
        Vec::new()
    }

    fn say(&mut self, words: String) -> Vec<TerminalEffect> {
        self.send(words)
    }

    fn resolve(&mut self, call: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        self.decided(call, resolution)
    }

    fn left(&mut self, waits: u64) -> Vec<TerminalEffect> {
        self.waiter.take_if(|waiter| *waiter == waits);
        self.lost(waits);
        Vec::new()
    }

    fn passed(&mut self, _now: Instant) -> Vec<TerminalEffect> {
        Vec::new()
    }

    fn closed(&mut self) -> Vec<TerminalEffect> {
        let mut effects = self.give_up_all(KnownBy::Closed);
        effects.extend(self.end_turn(StopReason::Interrupted));
        effects.extend(not_here(self.waiter.take()));
        let exit = AgentExit { parked: false, code: Some(0), stderr: "its terminal is closed".to_owned() };
        effects.push(event(AgentEvent::Exited(exit)));
        effects
    }
}

pub(super) fn introduced(said: &str) -> Option<Introduced> {
    let around = Said::read(said)?.around;
    Some(Introduced { agent_ref: around.conversation, cwd: around.directory, record: None })
}

#[cfg(test)]
mod tests;
