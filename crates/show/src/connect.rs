//! People stay in their own terminals: the real programs in tmux, the same ask as a card, and whoever answers first wins.

mod claude;
mod desk;
mod kind;
mod others;
mod races;
mod receipts;
mod scenes;

use std::pin::Pin;
use std::time::Instant;

use crate::{Result, ensure};
use desk::Desk;
use kind::Kind;

/// What a scene saw, in words.
type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;
type Scene = for<'a> fn(&'a mut Desk) -> Played<'a>;

/// How many times both answer at once, unless said otherwise.
const RACES: usize = 100;

#[derive(Default)]
struct Tally {
    played: usize,
    failures: Vec<String>,
}

pub(crate) async fn show() -> Result<String> {
    let mut args = std::env::args().skip(2);
    let mut next =
        || args.next().ok_or("say where Claude Code, Codex and opencode are: `scripts/agents` knows");
    let programs = [(Kind::Claude, next()?), (Kind::Codex, next()?), (Kind::Opencode, next()?)];
    let races = args.next().map_or(Ok(RACES), |count| count.parse())?;
    let begin = Instant::now();
    let mut tally = Tally::default();
    let played_with: Vec<_> =
        programs.iter().filter(|(_, program)| program != "-").map(|(kind, _)| kind.name()).collect();
    for (kind, program) in programs {
        // One that somebody does not want to wait for.
        if program == "-" {
            continue;
        }
        println!("{}", kind.name());
        if let Err(error) = play(kind, program, races, &mut tally).await {
            tally.failures.push(format!("{}: {error}", kind.name()));
        }
    }
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    let Tally { played, failures } = tally;
    ensure!(failures.is_empty(), "{} of {played} scenes failed:\n{}", failures.len(), failures.join("\n"));
    Ok(format!(
        "{played} scenes with the real {} in their terminals: 0 wrong receipts, 0 approvals that ran twice",
        played_with.join(", ")
    ))
}

async fn play(kind: Kind, program: String, races: usize, tally: &mut Tally) -> Result<()> {
    let mut desk = Desk::new(kind, program).await?;
    let scenes = match kind {
        Kind::Claude => claude::scenes(),
        Kind::Codex => others::codex(),
        Kind::Opencode => others::opencode(),
    };
    for (name, scene) in scenes {
        tally.played += 1;
        match scene(&mut desk).await {
            Ok(saw) => println!("✓ {name}: {saw}"),
            Err(error) => {
                println!("✕ {name}: {error}");
                tally.failures.push(format!("{}, {name}: {error}", kind.name()));
                desk.begin_again().await?;
            }
        }
    }
    let raced = races::run(&mut desk, races).await?;
    tally.played += raced.count;
    println!("{raced}");
    if raced.wrong > 0 || raced.twice > 0 {
        tally.failures.push(raced.to_string());
    }
    tally.played += 1;
    println!("✓ disconnected: {}", desk.disconnect()?);
    desk.stop().await
}
