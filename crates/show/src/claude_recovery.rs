//! `kill -9` of the gateway, of Claude Code, or of both, at every step of an ask: what becomes of it.

mod cell;
mod check;
mod play;
mod table;

use std::time::Instant;

use futures_util::{StreamExt as _, stream};

use crate::Result;
use cell::Cell;

/// Each has a gateway, a model and a home of its own.
const AT_ONCE: usize = 2;

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    // One cell alone, by a piece of its name.
    let wanted = std::env::args().nth(3).unwrap_or_default();
    let cells: Vec<Cell> = Cell::all().filter(|cell| cell.to_string().contains(&wanted)).collect();
    let mut played: Vec<_> = stream::iter(cells.iter().copied().enumerate())
        .map(|(number, cell)| async move { (number, cell, play::play(cell).await) })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    played.sort_by_key(|(number, ..)| *number);
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for (_, cell, outcome) in played {
        match outcome {
            Ok(history) => {
                let judged = check::judge(cell, &history);
                failures.extend(judged.failures.iter().map(|failure| format!("{cell}: {failure}")));
                rows.push((cell, history, judged));
            }
            Err(error) => failures.push(format!("{cell}: {error}")),
        }
    }
    table::print(&rows);
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    if !failures.is_empty() {
        return Err(failures.join("\n  ").into());
    }
    Ok(format!(
        "{0} of {0} kills: no ask lost, no answer lost in silence, nothing run unasked or twice, no refusal invented",
        cells.len()
    ))
}
