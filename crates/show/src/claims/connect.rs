//! People stay in their own terminals: the real programs in tmux, the same ask as a card, and the first answer wins.

mod claude;
mod desk;
mod kind;
mod others;
mod print;
mod races;
mod scenes;

use std::pin::Pin;

use crate::Result;
use crate::scenes::Scenes;
use desk::Desk;
use kind::Kind;

/// What a scene saw, in words.
type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;
type Scene = for<'a> fn(&'a mut Desk) -> Played<'a>;

/// How many times both answer at once, unless said otherwise.
const RACES: usize = 100;

pub(crate) async fn show() -> Result<String> {
    let mut args = std::env::args().skip(2);
    let mut next =
        || args.next().ok_or("say where Claude Code, Codex and opencode are: `scripts/agents` knows");
    let programs = [(Kind::Claude, next()?), (Kind::Codex, next()?), (Kind::Opencode, next()?)];
    let races = args.next().map_or(Ok(RACES), |count| count.parse())?;
    let (mut tally, mut names) = (Scenes::new(), Vec::new());
    // A dash leaves a program out.
    for (kind, program) in programs.into_iter().filter(|(_, program)| program != "-") {
        names.push(kind.name());
        play(kind, program, races, &mut tally).await?;
    }
    Ok(format!(
        "{} scenes with the real {} in their terminals: 0 wrong receipts, 0 approvals that ran twice",
        tally.end()?,
        names.join(", ")
    ))
}

async fn play(kind: Kind, program: String, races: usize, tally: &mut Scenes) -> Result<()> {
    let mut desk = Desk::new(kind, program).await?;
    let scenes = match kind {
        Kind::Claude => claude::scenes(),
        Kind::Codex | Kind::Opencode => others::scenes(),
    };
    for (name, scene) in scenes {
        if !tally.add(&format!("{}, {name}", kind.name()), scene(&mut desk).await) {
            desk.begin_again().await?;
        }
    }
    let raced = races::run(&mut desk, races).await;
    tally.add(&format!("{}, both at once", kind.name()), raced);
    tally.add(&format!("{}, disconnected", kind.name()), desk.disconnect());
    desk.stop().await
}
