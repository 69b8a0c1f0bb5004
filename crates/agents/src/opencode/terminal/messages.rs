//! Messages from elsewhere, for the program in the terminal.

use holdstead_protocol::StopReason;

use super::super::wire::Around;
use super::{OpencodeTerminal, TurnHere, event, not_here};
use crate::AgentEvent;
use crate::terminal::TerminalEffect;

const BUSY: &str =
    "This message was not delivered: somebody was writing in the terminal at the same time. Send it again.";
const NO_WAITER: &str = "This message was not delivered: the program in the terminal does not listen now. Write it there, or \
                         send it again when its turn is over.";
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
        let failed = |message: &str| event(AgentEvent::Error { message: message.to_owned() });
        if self.turn != TurnHere::None {
            return vec![failed(BUSY)];
        }
        let Some(waits) = self.waiter.take() else {
            let over = AgentEvent::TurnDone { reason: StopReason::Failed, usage: None };
            return vec![failed(NO_WAITER), event(over)];
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
