//! Codex and opencode between a person at a terminal and a person at a card.

use std::time::Duration;

use holdstead_protocol::{Settlement, TerminalAnswer};
use tokio::time::sleep;

use super::Scene;
use super::desk::Desk;
use super::kind::Kind;
use super::receipts::{APPROVE, DENY, closed_by, counted, ran_once, too_late};
use super::scenes::{
    card_allows, edit_by_card, edit_in_terminal, gateway_killed, message, question_by_card,
    question_in_terminal, rule_decides, terminal_allows, terminal_refuses, two_calls,
};
use crate::{Result, ensure};

/// How often opencode is stopped with an ask open, which is then answered.
const ABORTS: usize = 20;

pub(super) fn codex() -> Vec<(&'static str, Scene)> {
    both()
}

pub(super) fn opencode() -> Vec<(&'static str, Scene)> {
    let mut scenes = both();
    scenes
        .push(("stopped with an ask open, and then answered", |desk| Box::pin(stopped_then_answered(desk))));
    scenes
}

fn both() -> Vec<(&'static str, Scene)> {
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

async fn card_denies(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.touches("denied.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.person.win(&ask, DENY).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Denied)?;
    desk.idle().await?;
    ensure!(!desk.has("denied.txt"), "it ran");
    Ok("it did not run".to_owned())
}

/// Both programs tell at once that a question is over, so a card is rarely open when a command runs.
async fn deny_after_yes(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.runs("echo once >> long.txt; sleep 4");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.says_yes().await?;
    let answered = desk.person.respond(&ask, DENY).await?;
    let over = desk.over(ask.request.interaction_id).await?;
    desk.idle().await?;
    if desk.has("long.txt") {
        ran_once(desk, "long.txt")?;
        if too_late(&over, TerminalAnswer::Allowed).is_err() {
            closed_by(&over, TerminalAnswer::Allowed)?;
        }
        return Ok("it was allowed in the terminal and ran, and the receipt says so".to_owned());
    }
    counted(&over, Settlement::Denied)?;
    Ok(format!("the card was faster: {answered:?}").chars().take(60).collect())
}

async fn terminal_killed(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.touches("killed.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.tmux.close(&desk.terminal())?;
    sleep(Duration::from_secs(2)).await;
    let words = match desk.kind {
        // Its daemon goes on without a terminal, and so does the ask.
        Kind::Codex => {
            desk.person.win(&ask, DENY).await?;
            counted(&desk.over(ask.request.interaction_id).await?, Settlement::Denied)?;
            "its daemon still asks, and takes the card's answer"
        }
        Kind::Claude | Kind::Opencode => {
            desk.over(ask.request.interaction_id).await?;
            "the card is withdrawn"
        }
    };
    ensure!(!desk.has("killed.txt"), "it ran");
    desk.begin_again().await?;
    Ok(words.to_owned())
}

async fn stopped_then_answered(desk: &mut Desk) -> Result<String> {
    for round in 0..ABORTS {
        let file = format!("aborted{round}.txt");
        let script = desk.kind.touches(&file);
        desk.plays(script).await?;
        desk.asks().await?;
        let ask = desk.card("approval").await?;
        desk.rests().await;
        desk.key("Escape")?;
        // As somebody does who has not seen it.
        let _refused_or_too_late = desk.person.respond(&ask, APPROVE).await?;
        desk.over(ask.request.interaction_id).await?;
        desk.idle().await?;
        let over: holdstead_protocol::api::Interaction =
            desk.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
        let said = counted(&over, Settlement::Approved).is_ok();
        ensure!(
            desk.has(&file) == said,
            "it ran: {}; the receipt says that it counted: {said}",
            desk.has(&file)
        );
    }
    Ok(format!("{ABORTS} times: nothing ran that a receipt does not name"))
}
