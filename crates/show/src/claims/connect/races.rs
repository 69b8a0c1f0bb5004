//! Somebody answers in the terminal and somebody else on the card at once: one of them counts, and the other is told the truth.

use std::time::Duration;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskState, Delivery, Settlement, TerminalAnswer};
use tokio::time::sleep;

use super::desk::{Desk, has_counted};
use crate::client::Answered;
use crate::dice::Dice;
use crate::responses::{APPROVE, DENY};
use crate::{Result, ensure};

/// How far apart the two are at most.
const APART: usize = 50;

pub(super) async fn run(desk: &mut Desk, count: usize) -> Result<String> {
    let (mut for_terminal, mut for_card, mut not_known, mut wrong) = (0, 0, 0, Vec::new());
    let mut dice = Dice::new("18", "races");
    for race in 0..count {
        let file = format!("race{race}.txt");
        let ask = desk.touches(&file).await?;
        desk.rests().await;
        // Whoever is first by how much: what each takes on its way is not known.
        let (terminal, card) = (dice.below(APART), dice.below(APART));
        // In turns: a yes there and a deny here, a no there and an approval here.
        let yes_there = race % 2 == 0;
        let (key, draft) = if yes_there { (desk.kind.yes(), DENY) } else { ("Escape", APPROVE) };
        let typed = async {
            sleep(Duration::from_millis(terminal as u64)).await;
            desk.key(key)
        };
        let answered = async {
            sleep(Duration::from_millis(card as u64)).await;
            desk.person.respond(&ask, draft).await
        };
        let (typed, answered) = tokio::join!(typed, answered);
        typed?;
        let answered = answered?;
        let over = desk.over(&ask).await?;
        desk.idle().await?;
        let ran = desk.lines_in(&file);
        let by_terminal = answered_there(&over).is_some_and(|answer| match yes_there {
            true => answer == TerminalAnswer::Allowed,
            // Of a hook that went away it is not known whether a person said no.
            false => matches!(answer, TerminalAnswer::Refused | TerminalAnswer::NotSaid),
        });
        let settlement = if yes_there { Settlement::Denied } else { Settlement::Approved };
        let by_card = has_counted(&over, settlement);
        // What nobody can know is told as unknown.
        let unknown = matches!(over.delivery, Some(Delivery::Unknown { .. }));
        not_known += usize::from(unknown);
        let is_true = unknown
            || if (ran > 0) == yes_there {
                by_terminal
            } else {
                by_card && matches!(answered, Answered::Won(_))
            };
        for_terminal += usize::from(by_terminal);
        for_card += usize::from(by_card);
        if !is_true || ran > 1 {
            wrong.push(format!(
                "race {race}: it ran {ran} times; the receipt says {:?}, {:?}, {:?}",
                over.state, over.delivery, over.in_terminal
            ));
        }
    }
    ensure!(wrong.is_empty(), "{} of {count} races:\n{}", wrong.len(), wrong.join("\n"));
    Ok(format!(
        "{count} races within {APART} ms: {for_terminal} for the terminal, {for_card} for the card, {not_known} shown as unknown"
    ))
}

/// What was answered in the terminal, as the card or the receipt says.
fn answered_there(over: &Interaction) -> Option<TerminalAnswer> {
    let how = match (&over.state, &over.delivery) {
        (AskState::Closed { .. }, _) => over.in_terminal,
        (_, Some(Delivery::Undeliverable { in_terminal, .. })) => *in_terminal,
        _ => None,
    };
    how.map(|how| how.answer)
}
