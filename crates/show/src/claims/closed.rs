//! A hostile repository and the real Claude Code: nothing of it runs or allows anything until a person trusts it, and
//! then what runs is still what was approved.

mod control;
mod parts;
mod private;
mod repository;
mod trusted;

use std::pin::Pin;

use futures_util::stream::{self, StreamExt as _};

use crate::Result;
use crate::claude::Stage;
use crate::scenes::Scenes;

/// What a scene came to, in words.
type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

async fn named<'a>((name, scene): (&'a str, Played<'a>)) -> (&'a str, Result<String>) {
    (name, scene.await)
}

pub(crate) async fn show() -> Result<String> {
    let stage = Stage::new("10m").await?;
    let mut scenes = Scenes::new();
    let mut parts: Vec<(&str, Played<'_>)> = Vec::new();
    for part in parts::all() {
        parts.push((part.name, Box::pin(parts::closed(&stage, part))));
    }
    let mut others: Vec<(&str, Played<'_>)> = vec![
        ("the gateway's token is read", Box::pin(private::token_is_read(&stage))),
        ("the command line is read", Box::pin(private::command_line(&stage))),
    ];
    others.extend(trusted::all(&stage));
    // The hostile parts two at a time: each has its own folder and session.
    let parts = stream::iter(parts.into_iter().map(named)).buffered(2);
    let mut played = Box::pin(parts.chain(stream::iter(others.into_iter().map(named)).buffered(1)));
    while let Some((name, seen)) = played.next().await {
        scenes.add(name, seen);
    }
    drop(played);
    stage.stop().await?;
    let count = scenes.end()?;
    Ok(format!(
        "{count} of {count} scenes: nothing of the repository ran or allowed anything unasked; once trusted, every call \
         ran as approved, was asked again, or is marked"
    ))
}
