//! What a card's receipt says, beside what the program did.

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{
    AskState, Delivery, InTerminal, KnownBy, ResponseDraft, Settlement, TerminalAnswer,
};

use super::desk::Desk;
use crate::{Result, ensure};

pub(super) const APPROVE: ResponseDraft =
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };

/// Not every program takes words with it.
pub(super) const DENY: ResponseDraft = ResponseDraft::Deny { reason: None };

pub(super) fn deny(words: &str) -> ResponseDraft {
    ResponseDraft::Deny { reason: Some(words.to_owned()) }
}

/// It was decided here, and the program's own record says that this counted.
pub(super) fn counted(ask: &Interaction, settlement: Settlement) -> Result<()> {
    ensure!(
        ask.state == AskState::Settled { settlement } && ask.delivery == Some(Delivery::Acknowledged),
        "the receipt is {:?}, {:?}",
        ask.state,
        ask.delivery
    );
    Ok(())
}

pub(super) fn closed_by(ask: &Interaction, answer: TerminalAnswer) -> Result<KnownBy> {
    match (&ask.state, ask.in_terminal) {
        (AskState::Closed { .. }, Some(InTerminal { answer: said, known_by })) if said == answer => {
            Ok(known_by)
        }
        (state, how) => Err(format!("the card says {state:?}, {how:?}").into()),
    }
}

pub(super) fn too_late(ask: &Interaction, answer: TerminalAnswer) -> Result<()> {
    match &ask.delivery {
        Some(Delivery::Undeliverable { in_terminal: Some(how), .. }) if how.answer == answer => Ok(()),
        delivery => Err(format!("the receipt says {delivery:?}").into()),
    }
}

pub(super) fn lines_in(desk: &Desk, file: &str) -> usize {
    std::fs::read_to_string(desk.project().join(file)).map_or(0, |text| text.lines().count())
}

pub(super) fn ran_once(desk: &Desk, file: &str) -> Result<()> {
    let ran = lines_in(desk, file);
    ensure!(ran == 1, "it ran {ran} times");
    Ok(())
}
