//! Somebody answers in the terminal and somebody else on the card at once: one of them counts, and the other is told the truth.

use std::time::Duration;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskState, Delivery, Settlement, TerminalAnswer};
use tokio::time::sleep;

use super::desk::Desk;
use super::receipts::{APPROVE, DENY};
use crate::Result;
use crate::client::Answered;
use crate::dice::Dice;

/// How far apart the two are at most.
const APART: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Raced {
    pub(super) count: usize,
    terminal: usize,
    card: usize,
    unknown: usize,
    pub(super) wrong: usize,
    pub(super) twice: usize,
}

impl std::fmt::Display for Raced {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, terminal, card, unknown, wrong, twice } = self;
        write!(
            formatter,
            "{count} races within {APART} ms: {terminal} for the terminal, {card} for the card, {unknown} that nobody can know; wrong receipts {wrong}, ran twice {twice}"
        )
    }
}

pub(super) async fn run(desk: &mut Desk, count: usize) -> Result<Raced> {
    let mut raced = Raced::default();
    let mut dice = Dice::new("18", "races");
    for race in 0..count {
        let file = format!("race{race}.txt");
        let script = desk.kind.touches(&file);
        desk.plays(script).await?;
        desk.asks().await?;
        let ask = desk.card("approval").await?;
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
        let over = desk.over(ask.request.interaction_id).await?;
        desk.idle().await?;
        let ran = std::fs::read_to_string(desk.project().join(&file)).map_or(0, |text| text.lines().count());
        raced.count += 1;
        raced.twice += usize::from(ran > 1);
        let there = if yes_there { TerminalAnswer::Allowed } else { TerminalAnswer::Refused };
        let by_terminal = answered_there(&over) == Some(there);
        let settlement = if yes_there { Settlement::Denied } else { Settlement::Approved };
        let by_card =
            over.state == AskState::Settled { settlement } && over.delivery == Some(Delivery::Acknowledged);
        // What nobody can know is told as unknown.
        let unknown = matches!(over.delivery, Some(Delivery::Unknown { .. }));
        raced.unknown += usize::from(unknown);
        let is_true = unknown
            || if (ran > 0) == yes_there {
                by_terminal
            } else {
                by_card && matches!(answered, Answered::Won(_))
            };
        raced.terminal += usize::from(by_terminal);
        raced.card += usize::from(by_card);
        if !is_true {
            raced.wrong += 1;
            println!(
                "race {race}: it ran {ran} times; the receipt says {:?}, {:?}, {:?}; {}",
                over.state,
                over.delivery,
                over.in_terminal,
                desk.record()?
            );
        }
    }
    Ok(raced)
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
