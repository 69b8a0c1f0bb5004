//! What happens in the same way between a person at a card and a person at any of the terminals.

use std::time::Duration;

use holdstead_protocol::{AskState, Settlement, TerminalAnswer};
use holdstead_scripted_model::{Script, say};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::desk::{Desk, has_counted};
use super::kind::Kind;
use crate::responses::{APPROVE, DENY, deny, submit};
use crate::{Result, ensure};

pub(super) async fn card_allows(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("allowed.txt").await?;
    desk.person.win(&ask, APPROVE).await?;
    desk.counted(&ask, Settlement::Approved).await?;
    desk.ran_once("allowed.txt")?;
    Ok("it ran once, and its record shows that this counted".to_owned())
}

pub(super) async fn card_denies(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("denied.txt").await?;
    // Only Claude Code takes words with it.
    let words = "not in this folder";
    let draft = if desk.kind == Kind::Claude { deny(words) } else { DENY };
    desk.person.win(&ask, draft).await?;
    desk.counted(&ask, Settlement::Denied).await?;
    ensure!(!desk.has("denied.txt"), "it ran");
    let told = desk.model.bodies().iter().any(|body| body.to_string().contains(words));
    ensure!(told || desk.kind != Kind::Claude, "the model was not told why");
    Ok("it did not run".to_owned())
}

pub(super) async fn terminal_killed(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("killed.txt").await?;
    desk.tmux.close(&desk.terminal())?;
    sleep(Duration::from_secs(2)).await;
    let words = match desk.kind {
        // Its daemon goes on without a terminal, and so does the ask.
        Kind::Codex => {
            desk.person.win(&ask, DENY).await?;
            desk.counted(&ask, Settlement::Denied).await?;
            "its daemon still asks, and takes the card's answer"
        }
        Kind::Claude | Kind::Opencode => {
            let over = desk.over(&ask).await?;
            ensure!(matches!(over.state, AskState::Closed { .. }), "the card says {:?}", over.state);
            "the card is withdrawn"
        }
    };
    ensure!(!desk.has("killed.txt"), "it ran");
    if desk.kind != Kind::Codex {
        let view = desk.view().await?;
        ensure!(view["messages"] == "terminal_away", "its terminal is closed, and it is shown as {view}");
    }
    desk.begin_again().await?;
    Ok(words.to_owned())
}

pub(super) async fn terminal_allows(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("typed.txt").await?;
    desk.says_yes().await?;
    let known_by = desk.closed(&ask, TerminalAnswer::Allowed).await?;
    desk.ran_once("typed.txt")?;
    let late = desk.person.respond(&ask, deny("no")).await?;
    ensure!(format!("{late:?}").contains("Refused"), "a late answer was taken: {late:?}");
    Ok(format!("known by its {known_by:?}; a late answer is refused"))
}

pub(super) async fn terminal_refuses(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("refused.txt").await?;
    desk.rests().await;
    desk.key("Escape")?;
    let known_by = desk.closed(&ask, TerminalAnswer::Refused).await?;
    ensure!(!desk.has("refused.txt"), "it ran");
    Ok(format!("known by {known_by:?}"))
}

pub(super) async fn question_by_card(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.question();
    let name = desk.plays(script).await?;
    desk.shows("Where do the orders go?").await?;
    let ask = desk.card("question").await?;
    desk.person.win(&ask, submit(&json!({ "Where do the orders go?": "PostgreSQL" }))).await?;
    desk.counted(&ask, Settlement::Answered).await?;
    let told = desk.model.told(&name);
    ensure!(told.iter().any(|told| told.words().contains("PostgreSQL")), "the model was told {told:?}");
    Ok("the model has the answer".to_owned())
}

pub(super) async fn question_in_terminal(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.question();
    let name = desk.plays(script).await?;
    desk.shows("Where do the orders go?").await?;
    let ask = desk.card("question").await?;
    desk.rests().await;
    desk.key("Enter")?;
    desk.closed(&ask, TerminalAnswer::Answered).await?;
    let told = desk.model.told(&name);
    ensure!(told.iter().any(|told| told.words().contains("SQLite")), "the model was told {told:?}");
    Ok("the card is withdrawn".to_owned())
}

pub(super) async fn message(desk: &mut Desk) -> Result<String> {
    let session = desk.session().await?;
    desk.begins_turn();
    let words = "Look at the other folder, too.";
    desk.person.say(&session, words).await?;
    desk.idle().await?;
    desk.shows(words).await?;
    desk.model_reads(words).await?;
    Ok("its model has read it, and its turn is in the session".to_owned())
}

pub(super) async fn gateway_killed(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("survived.txt").await?;
    desk.gateway.kill_now().await?;
    sleep(Duration::from_secs(1)).await;
    desk.asks().await?;
    desk.gateway.serve_again().await?;
    desk.person = desk.gateway.person()?;
    // Who waits for it comes back by itself.
    sleep(Duration::from_secs(4)).await;
    desk.person.win(&ask, APPROVE).await?;
    desk.counted(&ask, Settlement::Approved).await?;
    desk.ran_once("survived.txt")?;
    Ok("the same card, answered after the restart, counted".to_owned())
}

pub(super) async fn edit_by_card(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.writes(&desk.project().join("card-wrote.txt"));
    desk.plays(script).await?;
    desk.shows(desk.kind.edit_dialog()).await?;
    let ask = desk.card("approval").await?;
    let shown = serde_json::to_value(&ask.request)?;
    ensure!(shown["preview"].as_str().is_some_and(|diff| diff.contains("+hello")), "the card shows {shown}");
    desk.person.win(&ask, APPROVE).await?;
    desk.counted(&ask, Settlement::Approved).await?;
    ensure!(desk.has("card-wrote.txt"), "it was not written");
    Ok("written".to_owned())
}

pub(super) async fn edit_in_terminal(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.writes(&desk.project().join("typed-wrote.txt"));
    desk.plays(script).await?;
    desk.shows(desk.kind.edit_dialog()).await?;
    let ask = desk.card("approval").await?;
    desk.says_yes().await?;
    desk.closed(&ask, TerminalAnswer::Allowed).await?;
    ensure!(desk.has("typed-wrote.txt"), "it was not written");
    Ok("the card is withdrawn".to_owned())
}

pub(super) async fn two_calls(desk: &mut Desk) -> Result<String> {
    let of = |file: &str| desk.kind.command(&format!("echo once >> {file}"));
    let script = Script::new().reply([of("first.txt"), of("second.txt")]).reply([say("Both.")]);
    desk.plays(script).await?;
    desk.asks().await?;
    let session = desk.session().await?;
    let ask = desk.person.open_asks(&session, desk.kind.asks_at_once()).await?.swap_remove(0);
    desk.person.win(&ask, APPROVE).await?;
    let first = desk.over(&ask).await?;
    ensure!(has_counted(&first, Settlement::Approved), "the receipt is {:?}", first.delivery);
    let ask = desk.person.open_asks(&session, 1).await?.swap_remove(0);
    desk.asks().await?;
    desk.says_yes().await?;
    desk.closed(&ask, TerminalAnswer::Allowed).await?;
    desk.ran_once("first.txt")?;
    desk.ran_once("second.txt")?;
    Ok("one by the card, one in the terminal".to_owned())
}

pub(super) async fn rule_decides(desk: &mut Desk) -> Result<String> {
    let _saved: Value =
        desk.person.post("/v1/rules", &json!({ "line": "allow Bash(touch ruled.txt)" })).await?;
    let script = desk.kind.runs("touch ruled.txt");
    desk.plays(script).await?;
    desk.appears("ruled.txt").await?;
    desk.idle().await?;
    Ok("nobody was asked".to_owned())
}
