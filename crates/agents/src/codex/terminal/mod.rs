//! One conversation of Codex, seen by a second client of its daemon.
//!
//! The daemon asks every client and takes the first answer. It tells all of them that an ask is over, and not who answered
//! or what: that is seen from what becomes of the call.

mod asks;
mod call;
mod items;
mod record;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use holdstead_protocol::{MessageId, StopReason, ToolCallId, TurnId};
use tokio::time::Instant;

use super::wire::{self, Message, Turn, TurnStatus};
use crate::terminal::{NO_WAITER, Terminal, TerminalEffect, cut, event, not_here};
use crate::{AgentEvent, AgentExit, Resolution};
use asks::Ending;
use call::Call;

/// So many words of people may be on their way.
const MOST_GIVEN: usize = 16;
/// So many turns are remembered.
const MOST_ENDED: usize = 32;
/// So soon everything that it waits for is asked again.
const ASKED_AGAIN: Duration = Duration::from_millis(500);
const BEFORE: &str = "(begun in the terminal)";

#[derive(Debug)]
pub(super) struct CodexTerminal {
    /// It said its name.
    named: bool,
    turn: TurnHere,
    /// By the program's own names.
    calls: BTreeMap<String, Call>,
    /// Whoever waits for words of a person.
    waiter: Option<u64>,
    /// Words on their way to the program.
    given: VecDeque<String>,
    /// The message whose words come one by one.
    streamed: Option<String>,
    /// When a turn was taken up that the journal has. What it waits for is asked again then.
    taken_up: Option<Instant>,
    /// The last turns that are over. What they began may end later.
    ended: VecDeque<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TurnHere {
    None,
    /// It was begun from elsewhere, or in an earlier life; the program's name for it was not heard.
    Given,
    Runs {
        id: String,
    },
}

impl CodexTerminal {
    /// `in_turn`: the journal has a turn that goes on.
    pub(super) fn new(in_turn: bool) -> Self {
        Self {
            named: false,
            turn: if in_turn { TurnHere::Given } else { TurnHere::None },
            calls: BTreeMap::new(),
            waiter: None,
            given: VecDeque::new(),
            streamed: None,
            taken_up: None,
            ended: VecDeque::new(),
        }
    }

    fn take(
        &mut self,
        thread: String,
        message: Message,
        waits: Option<u64>,
        now: Instant,
    ) -> Vec<TerminalEffect> {
        match message {
            Message::Resumed { turn } => {
                let named = !std::mem::replace(&mut self.named, true);
                let ready = named.then(|| event(AgentEvent::Ready { agent_ref: thread }));
                ready.into_iter().chain(self.resumed(turn, now)).collect()
            }
            Message::Waiter => {
                let before = std::mem::replace(&mut self.waiter, waits);
                not_here(before.filter(|before| Some(*before) != waits))
            }
            Message::NotTaken { words, why } => self.not_taken(&words, &why, now),
            Message::Gone => self.closed(),
            Message::Asks { request, asks } => match waits {
                Some(waits) => self.asks(request, asks, waits, now),
                None => Vec::new(),
            },
            Message::AsksElse | Message::Other => not_here(waits),
            Message::Resolved { request } => self.resolved(&request, now),
            Message::ItemStarted { turn, item } => self.started(&turn, item, now),
            Message::ItemCompleted { turn, item } => self.completed(&turn, item, now),
            Message::Text { turn, item, text } => self.text(&turn, item, text, now),
            Message::Output { item } => self.runs(&item),
            Message::TurnCompleted { turn } => self.turn_completed(turn, now),
        }
    }

    /// What was said before anybody here listened.
    fn resumed(&mut self, turn: Option<Turn>, now: Instant) -> Vec<TerminalEffect> {
        let (running, last) = match turn {
            Some(turn) if turn.status == TurnStatus::InProgress => (Some(turn), None),
            Some(turn) => (None, Some(turn)),
            None => (None, None),
        };
        self.ended.extend(last.iter().map(|turn| turn.id.clone()));
        match (&self.turn, running) {
            (TurnHere::None, None) => Vec::new(),
            // Its words may not have arrived.
            (TurnHere::Given, None) if !self.given.is_empty() => Vec::new(),
            // It ended while nobody listened.
            (TurnHere::Given | TurnHere::Runs { .. }, None) => {
                let status = last.map_or(TurnStatus::Interrupted, |turn| turn.status);
                self.end_turn(status, now)
            }
            (TurnHere::Runs { id }, Some(turn)) if *id == turn.id => self.known(turn, now),
            (TurnHere::Given, Some(turn)) => {
                self.turn = TurnHere::Runs { id: turn.id.clone() };
                self.known(turn, now)
            }
            (TurnHere::None | TurnHere::Runs { .. }, Some(turn)) => self.replay(turn, now),
        }
    }

    /// Something of this turn happens, and this comes before it. Nothing, if it is not of the turn that runs: a command may
    /// outlive its own.
    fn in_turn(&mut self, turn: &str, now: Instant) -> Option<Vec<TerminalEffect>> {
        match &self.turn {
            TurnHere::Runs { id } => (id == turn).then(Vec::new),
            TurnHere::None | TurnHere::Given if self.ended.iter().any(|ended| ended == turn) => None,
            TurnHere::Given => {
                self.turn = TurnHere::Runs { id: turn.to_owned() };
                Some(Vec::new())
            }
            TurnHere::None => Some(self.begin(turn, BEFORE.to_owned(), now)),
        }
    }

    /// Somebody said this to the program.
    fn user_message(
        &mut self,
        turn: &str,
        words: String,
        is_ours: bool,
        now: Instant,
    ) -> Vec<TerminalEffect> {
        let same = self.given.iter().position(|given| given.trim() == words.trim());
        let ours = same.or(is_ours.then_some(0)).and_then(|at| self.given.remove(at));
        match &self.turn {
            // More words for a turn that runs.
            TurnHere::Runs { id } if id == turn => Vec::new(),
            TurnHere::Given if ours.is_some() => {
                self.turn = TurnHere::Runs { id: turn.to_owned() };
                Vec::new()
            }
            TurnHere::None | TurnHere::Given | TurnHere::Runs { .. } => self.begin(turn, words, now),
        }
    }

    fn begin(&mut self, turn: &str, text: String, now: Instant) -> Vec<TerminalEffect> {
        let over = self.end_turn(TurnStatus::Interrupted, now);
        self.turn = TurnHere::Runs { id: turn.to_owned() };
        let (turn_id, message_id, text) = (TurnId::generate(), MessageId::generate(), cut(text));
        over.into_iter().chain([event(AgentEvent::TurnBegun { turn_id, message_id, text })]).collect()
    }

    fn turn_completed(&mut self, turn: Turn, now: Instant) -> Vec<TerminalEffect> {
        let is_this = match &self.turn {
            TurnHere::None => false,
            TurnHere::Given => self.given.is_empty(),
            TurnHere::Runs { id } => *id == turn.id,
        };
        if !is_this {
            return Vec::new();
        }
        let failed = turn.error.filter(|_| turn.status == TurnStatus::Failed);
        let words = failed.map(|error| event(AgentEvent::Error { message: cut(error.message) }));
        words.into_iter().chain(self.end_turn(turn.status, now)).collect()
    }

    fn end_turn(&mut self, status: TurnStatus, now: Instant) -> Vec<TerminalEffect> {
        self.streamed = None;
        if self.turn == TurnHere::None {
            return Vec::new();
        }
        let reason = match status {
            TurnStatus::Completed => StopReason::Completed,
            TurnStatus::Interrupted | TurnStatus::InProgress => StopReason::Interrupted,
            TurnStatus::Failed | TurnStatus::Other => StopReason::Failed,
        };
        let mut effects = self.end_asks(Ending::Turn { reason, at: now });
        effects.extend(self.turn_done(reason));
        effects
    }

    fn turn_done(&mut self, reason: StopReason) -> Option<TerminalEffect> {
        self.calls.clear();
        self.given.clear();
        let turn = std::mem::replace(&mut self.turn, TurnHere::None);
        if let TurnHere::Runs { id } = &turn {
            self.ended.push_back(id.clone());
            self.ended.drain(..self.ended.len().saturating_sub(MOST_ENDED));
        }
        (turn != TurnHere::None).then(|| event(AgentEvent::TurnDone { reason, usage: None }))
    }

    /// The program would not take these words.
    fn not_taken(&mut self, words: &str, why: &str, now: Instant) -> Vec<TerminalEffect> {
        self.given.retain(|given| given != words);
        let message = format!("This message was not delivered. Codex said: {}", cut(why.to_owned()));
        let failed = event(AgentEvent::Error { message });
        let is_over = self.turn == TurnHere::Given && self.given.is_empty();
        let over = if is_over { self.end_turn(TurnStatus::Failed, now) } else { Vec::new() };
        [failed].into_iter().chain(over).collect()
    }
}

impl Terminal for CodexTerminal {
    fn heard(&mut self, said: &str, waits: Option<u64>, now: Instant) -> Vec<TerminalEffect> {
        match wire::read(said) {
            Some((thread, message)) => self.take(thread, message, waits, now),
            None => not_here(waits),
        }
    }

    fn recorded(&mut self, line: &str) -> Vec<TerminalEffect> {
        self.line(line)
    }

    fn missed(&mut self, _line: &str) -> Vec<TerminalEffect> {
        Vec::new()
    }

    fn say(&mut self, words: String) -> Vec<TerminalEffect> {
        let Some(waits) = self.waiter.take() else {
            let failed = event(AgentEvent::Error { message: NO_WAITER.to_owned() });
            let over = AgentEvent::TurnDone { reason: StopReason::Failed, usage: None };
            let over = (self.turn == TurnHere::None).then(|| event(over));
            return [failed].into_iter().chain(over).collect();
        };
        if self.turn == TurnHere::None {
            self.turn = TurnHere::Given;
        }
        self.given.push_back(words.clone());
        while self.given.len() > MOST_GIVEN {
            self.given.pop_front();
        }
        vec![TerminalEffect::Say { waits, words }]
    }

    fn resolve(&mut self, call: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        self.decided(call, resolution)
    }

    fn left(&mut self, waits: u64) -> Vec<TerminalEffect> {
        self.waiter.take_if(|waiter| *waiter == waits);
        Vec::new()
    }

    fn passed(&mut self, now: Instant) -> Vec<TerminalEffect> {
        self.overdue(now)
    }

    fn closed(&mut self) -> Vec<TerminalEffect> {
        let mut effects = self.end_asks(Ending::Closed);
        effects.extend(self.turn_done(StopReason::Interrupted));
        effects.extend(not_here(self.waiter.take()));
        let exit =
            AgentExit { parked: false, code: Some(0), stderr: "Codex is not there any more".to_owned() };
        effects.push(event(AgentEvent::Exited(exit)));
        effects
    }
}

fn call_id(id: &str) -> Option<ToolCallId> {
    ToolCallId::new(id).ok()
}

#[cfg(test)]
mod tests;
