//! The matrix, as it was played.

use holdstead_protocol::{Delivery, StopReason};

use super::cell::Cell;
use super::check::{Judged, Way};
use super::play::History;

/// How much of what the model was told is printed.
const SHOWN: usize = 150;

pub(super) fn print(rows: &[(Cell, History, Judged)]) {
    println!(
        "{:<13}{:<10}{:<9}{:<16}{:<28}{:<12}{:>4}  what the model was told",
        "killed when", "ask", "killed", "delivery then", "how the answer came", "turn", "ran"
    );
    for (Cell { step, kind, victim }, history, judged) in rows {
        let end = match judged.end {
            Some(StopReason::Completed) => "completed",
            Some(StopReason::Failed) => "failed",
            Some(StopReason::Interrupted) => "stopped",
            None => "none",
        };
        let at_death = match history.at_death.as_ref().map(|ask| &ask.delivery) {
            None => "no ask",
            Some(None) => "none",
            Some(Some(delivery)) => name(delivery),
        };
        let way = way(judged.way);
        let told: Vec<_> = history.told.iter().map(|told| short(told.words())).collect();
        println!(
            "{step:<13}{kind:<10}{victim:<9}{at_death:<16}{way:<28}{end:<12}{:>4}  {}",
            history.ran,
            told.join(" | ")
        );
        if let Some(words) = judged.words.as_ref().filter(|_| judged.end == Some(StopReason::Failed)) {
            println!("{:<32}the person reads: {words}", "");
        }
    }
}

const fn name(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Accepted => "accepted",
        Delivery::Delivering { .. } => "delivering",
        Delivery::Delivered { .. } => "delivered",
        Delivery::Acknowledged => "acknowledged",
        Delivery::Unknown { .. } => "unknown",
        Delivery::Undeliverable { .. } => "undeliverable",
        Delivery::NotRun { .. } => "not run",
    }
}

const fn way(way: Way) -> &'static str {
    match way {
        Way::NoAsk => "nobody was asked",
        Way::SameCall => "at the same call",
        Way::Words => "in words",
        Way::Repeat => "by one identical repeat",
        Way::AskedAgain => "the person was asked again",
        Way::ShownAsUnknown => "shown as unknown",
        Way::Lost => "LOST",
    }
}

fn short(words: &str) -> String {
    let words = words.replace('\n', " ");
    if words.chars().count() <= SHOWN {
        return format!("\"{words}\"");
    }
    let cut: String = words.chars().take(SHOWN).collect();
    format!("\"{cut}…\"")
}
