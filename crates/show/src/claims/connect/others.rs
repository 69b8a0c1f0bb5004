//! Codex and opencode between a person at a terminal and a person at a card.

use holdstead_protocol::{AskState, Settlement, TerminalAnswer};

use super::Scene;
use super::desk::{Desk, too_late};
use super::scenes::{
    card_allows, card_denies, edit_by_card, edit_in_terminal, gateway_killed, message, question_by_card,
    question_in_terminal, rule_decides, terminal_allows, terminal_killed, terminal_refuses, two_calls,
};
use crate::responses::DENY;
use crate::{Result, ensure};

pub(super) fn scenes() -> Vec<(&'static str, Scene)> {
    vec![
        ("the card first: allowed", |desk| Box::pin(card_allows(desk))),
        ("the card first: denied", |desk| Box::pin(card_denies(desk))),
        ("the terminal first: yes", |desk| Box::pin(terminal_allows(desk))),
        ("the terminal first: no", |desk| Box::pin(terminal_refuses(desk))),
        ("a deny after a yes in the terminal", |desk| Box::pin(deny_after_yes(desk))),
        ("a question, by the card", |desk| Box::pin(question_by_card(desk))),
        ("a question, in the terminal", |desk| Box::pin(question_in_terminal(desk))),
        ("an edit, by the card, with its diff", |desk| Box::pin(edit_by_card(desk))),
        ("an edit, in the terminal", |desk| Box::pin(edit_in_terminal(desk))),
        ("two calls in one message", |desk| Box::pin(two_calls(desk))),
        ("a rule decides", |desk| Box::pin(rule_decides(desk))),
        ("a message from elsewhere", |desk| Box::pin(message(desk))),
        ("the gateway killed while it is asked", |desk| Box::pin(gateway_killed(desk))),
        ("the terminal killed while it is asked", |desk| Box::pin(terminal_killed(desk))),
    ]
}

/// Both programs tell at once that a question is over, so a card is rarely open when a command runs.
async fn deny_after_yes(desk: &mut Desk) -> Result<String> {
    let ask = desk.runs("echo once >> long.txt; sleep 4").await?;
    desk.says_yes().await?;
    desk.person.respond(&ask, DENY).await?;
    let over = desk.over(&ask).await?;
    if matches!(over.state, AskState::Closed { .. }) {
        desk.closed(&ask, TerminalAnswer::Allowed).await?;
    } else if !too_late(&over, TerminalAnswer::Allowed) {
        desk.counted(&ask, Settlement::Denied).await?;
        ensure!(!desk.has("long.txt"), "it ran though the card was faster");
        return Ok("the card was faster".to_owned());
    }
    desk.idle().await?;
    desk.ran_once("long.txt")?;
    Ok("it was allowed in the terminal and ran, and the receipt says so".to_owned())
}
