//! What happened, as a table.

use std::collections::BTreeMap;
use std::time::Duration;

use super::history::{End, Told, ends, in_doubt};
use super::run::Run;
use super::steps::{Hit, Step};
use crate::database::Kind;

const COLUMNS: [(End, &str); 6] = [
    (End::Exactly, "exactly"),
    (End::Acknowledged, "acked"),
    (End::AskedAgain, "unknown, again"),
    (End::Unknown, "unknown"),
    (End::Undeliverable, "undeliverable"),
    (End::Open, "open"),
];

/// How far asks were when the gateway died, and what the agent was told about them in the end.
pub(super) fn print(kind: Kind, run: &Run, hits: &[Hit], took: Duration) {
    let histories = &run.histories;
    let events: usize = histories.iter().map(|history| history.journal.len()).sum();
    let ends: BTreeMap<_, _> = histories.iter().flat_map(ends).collect();
    let sent = || histories.iter().flat_map(|history| &history.sent);
    let lost = sent().filter(|sent| matches!(sent.told, Told::Lost { .. })).count();
    println!(
        "\n{kind}: {} kills in {:.0} s; {} sessions, {events} events, {} asks, {} answers, {lost} of them second",
        run.deaths.len(),
        took.as_secs_f64(),
        histories.len(),
        ends.len(),
        sent().count(),
    );
    print!("{:<20}{:<10}{:>6}", "killed at", "kind", "asks");
    for (_, column) in COLUMNS {
        print!("{column:>16}");
    }
    println!();
    for step in Step::ALL {
        for (approval, name) in [(false, "question"), (true, "approval")] {
            let row: Vec<_> =
                hits.iter().filter(|hit| hit.step == step && hit.approval == approval).collect();
            print!("{step:<20}{name:<10}{:>6}", row.len());
            for (end, _) in COLUMNS {
                let count = row.iter().filter(|hit| ends.get(&hit.ask) == Some(&end)).count();
                print!("{count:>16}");
            }
            println!();
        }
    }
    let (ran, not) = histories.iter().map(in_doubt).fold((0, 0), |(a, b), (ran, not)| (a + ran, b + not));
    println!(
        "An ask may be hit more than once. What the agent was told in the end: exactly the answer; acked: it has"
    );
    println!(
        "the answer, and died before it could repeat it; unknown: it may have the answer, nobody told it again, and"
    );
    println!("where the work was to be done the person was asked again (an approval marked as maybe run).");
    println!("Approvals whose delivery is unknown: {ran} had run, {not} had not.");
}
