//! Messages from elsewhere, for the program in the terminal.

use holdstead_protocol::StopReason;

use super::super::wire::Around;
use super::{OpencodeTerminal, TurnHere, event, not_here};
use crate::AgentEvent;
use crate::terminal::{TerminalEffect, who_takes};

const NOT_TAKEN: &str = "This message was not delivered: opencode did not take it. Write it in the terminal.";

impl OpencodeTerminal {
    pub(super) fn waits_for_words(
        &mut self,
        idle: bool,
        around: &Around,
        waits: Option<u64>,
    ) -> Vec<TerminalEffect> {
        let before = std::mem::replace(&mut self.waiter, waits);
        let mut effects = not_here(before.filter(|before| Some(*before) != waits));
        match (idle, self.given.clone(), waits) {
            // Whoever was told it lost its way before it could pass it on.
            (true, Some(words), Some(waits)) => {
                self.waiter = None;
                effects.push(TerminalEffect::Say { waits, words });
            }
            // The end of its turn may have been said while nobody listened.
            (true, None, _) => effects.extend(self.rests(around, None)),
            (true, Some(_), None) | (false, _, _) => {}
        }
        effects
    }

    pub(super) fn send(&mut self, words: String) -> Vec<TerminalEffect> {
        let waits = match who_takes(self.turn, &mut self.waiter) {
            Ok(waits) => waits,
            Err(told) => return told,
        };
        self.turn = TurnHere::Given;
        self.given = Some(words.clone());
        vec![TerminalEffect::Say { waits, words }]
    }

    pub(super) fn posted(&mut self, status: u16) -> Vec<TerminalEffect> {
        if (200..300).contains(&status) || self.given.is_none() {
            return Vec::new();
        }
        let failed = event(AgentEvent::Error { message: NOT_TAKEN.to_owned() });
        [failed].into_iter().chain(self.end_turn(StopReason::Failed)).collect()
    }
}
