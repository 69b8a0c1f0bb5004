//! A hostile repository and the real Claude Code: nothing of it runs or allows anything until a person trusts it, and
//! then what runs is still what was approved.

mod control;
mod parts;
mod private;
mod repository;
mod trusted;

use std::pin::Pin;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};

use crate::claude::Stage;
use crate::{Result, ensure};

/// What a scene came to, in words.
pub(crate) type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

/// How many scenes there are at least.
const SCENES: usize = 20;

async fn named<'a>((name, scene): (&'a str, Played<'a>)) -> (&'a str, Result<String>) {
    (name, scene.await)
}

pub(crate) use private::{command_line, token_is_read};

/// The hostile parts of a repository by themselves.
pub(crate) fn some(stage: &Stage) -> Vec<(&'static str, Played<'_>)> {
    parts::all()
        .into_iter()
        .map(|part| (part.name, Box::pin(parts::closed(stage, part)) as Played<'_>))
        .collect()
}

pub(crate) async fn show() -> Result<String> {
    let stage = Stage::new("10m").await?;
    let begin = Instant::now();
    let mut parts: Vec<(&str, Played<'_>)> = Vec::new();
    for part in parts::all() {
        parts.push((part.name, Box::pin(parts::closed(&stage, part))));
    }
    let mut others: Vec<(&str, Played<'_>)> = vec![
        ("the gateway's token is read", Box::pin(private::token_is_read(&stage))),
        ("the command line is read", Box::pin(private::command_line(&stage))),
    ];
    others.extend(trusted::all(&stage));
    let count = parts.len() + others.len();
    ensure!(count >= SCENES, "{count} scenes are too few");
    let mut failures = Vec::new();
    println!("{:<58} came to", "what the repository tries");
    // The hostile parts two at a time: each has its own folder and session.
    let parts = stream::iter(parts.into_iter().map(named)).buffered(2);
    let mut played = Box::pin(parts.chain(stream::iter(others.into_iter().map(named)).buffered(1)));
    while let Some((name, seen)) = played.next().await {
        match seen {
            Ok(seen) => println!("{name:<58} {seen}"),
            Err(error) => {
                println!("{name:<58} FAILED: {error}");
                failures.push(format!("{name}: {error}"));
            }
        }
    }
    drop(played);
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    stage.stop().await?;
    ensure!(failures.is_empty(), "{} of {count} scenes failed:\n{}", failures.len(), failures.join("\n"));
    Ok(format!(
        "{count} of {count} scenes: nothing of the repository ran or allowed anything unasked; once trusted, every call \
         ran as approved, was asked again, or is marked"
    ))
}
