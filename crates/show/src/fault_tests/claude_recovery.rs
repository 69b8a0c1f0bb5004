//! `kill -9` of the gateway, of Claude Code, or of both, at every step of an ask: what becomes of it.

mod check;
mod play;

use std::fmt;
use std::time::Instant;

use futures_util::{StreamExt as _, stream};

use crate::{Result, ensure};

/// Each has a gateway, a model and a home of its own.
const AT_ONCE: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Gateway,
    Agent,
    Both,
}

/// How far the ask is when the kill comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The model's call is on its way; no ask was shown.
    Announced,
    /// The ask was shown this very moment; the program may not have written its call down.
    Shown,
    Open,
    /// It was parked; its answer is durable, and the process that will get it is starting.
    Answered,
    /// The answer lies in the pipe, and the program has not read it.
    Delivering,
    /// The program has read it, and the command runs.
    Running,
    /// The model has it, and thinks.
    Acknowledged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Question,
    Approval,
}

/// What is killed, when, and what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    step: Step,
    kind: Kind,
    victim: Victim,
}

impl Cell {
    fn all() -> impl Iterator<Item = Self> {
        use Step::{Acknowledged, Announced, Answered, Delivering, Open, Running, Shown};
        let steps = [Announced, Shown, Open, Answered, Delivering, Running, Acknowledged];
        let victims = [Victim::Gateway, Victim::Agent, Victim::Both];
        let cells = steps.into_iter().flat_map(move |step| {
            [Kind::Question, Kind::Approval]
                .into_iter()
                .flat_map(move |kind| victims.map(|victim| Self { step, kind, victim }))
        });
        // A question has nothing that runs.
        cells.filter(|cell| cell.step != Running || cell.kind == Kind::Approval)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.step, self.kind, self.victim)
    }
}

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    // One cell alone, by a piece of its name.
    let wanted = std::env::args().nth(3).unwrap_or_default();
    let cells: Vec<Cell> = Cell::all().filter(|cell| cell.to_string().contains(&wanted)).collect();
    let mut played = stream::iter(cells.iter().copied())
        .map(async |cell| (cell, play::play(cell).await))
        .buffered(AT_ONCE);
    let mut failures = Vec::new();
    println!("step, ask and victim of each kill: how the answer came to the model, the end of the turn");
    while let Some((cell, outcome)) = played.next().await {
        match outcome {
            Ok(history) => {
                let (way, failed) = check::judge(cell, &history);
                println!("{cell}: {way:?}, {:?}; the command ran {} times", history.end, history.ran);
                failures.extend(failed.iter().map(|failure| format!("{cell}: {failure}")));
            }
            Err(error) => failures.push(format!("{cell}: {error}")),
        }
    }
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    ensure!(failures.is_empty(), "{}", failures.join("\n  "));
    Ok(format!(
        "{0} of {0} kills: no ask lost, no answer lost in silence, nothing run unasked or twice, no refusal invented",
        cells.len()
    ))
}
