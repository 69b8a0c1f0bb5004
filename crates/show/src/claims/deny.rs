//! The real Claude Code with hooks of its user's that allow everything, and a gateway that an agent's token keeps busy: what a
//! person or a rule denied does not run. In a copy whose refusal comes later, some of it does.

mod load;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use holdstead_protocol::EventBody;
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::claude::Stage;
use crate::client::Answered;
use crate::responses::deny;
use crate::{Result, ensure};

/// So many calls a session makes, one after the other, and so many sessions go on at once.
const CALLS: usize = 25;
const AT_ONCE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(100);

/// Who denies, and the program that the denied calls run.
const PERSON: (&str, &str) = ("person", "mkdir");
const RULE: (&str, &str) = ("rule", "touch");

/// How many calls were denied, and how many of those ran.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    denied: usize,
    ran: usize,
}

pub(crate) async fn show() -> Result<String> {
    let denies = std::env::args().nth(3).map_or(Ok(200), |count| count.parse())?;
    let fixed = play(denies, None).await?;
    ensure!(fixed.ran == 0, "{} of {} denied calls ran", fixed.ran, 2 * denies);
    ensure!(fixed.denied == 2 * denies, "only {} of {} calls were denied", fixed.denied, 2 * denies);
    let figure = format!("{} denied calls, half by people and half by a rule: 0 ran", fixed.denied);
    let Some(copy) = std::env::args().nth(4) else { return Ok(figure) };
    let late = play(denies, Some(copy.into())).await?;
    ensure!(late.ran > 0, "the same load overruled nothing in the copy, so this show could not fail");
    Ok(format!(
        "{figure}; in a copy that refuses where the program asks by itself, {} of {} ran",
        late.ran,
        2 * denies
    ))
}

async fn play(denies: usize, copy: Option<PathBuf>) -> Result<Tally> {
    let mut stage = Stage::new("10m").await?;
    if let Some(copy) = copy {
        stage.gateway.replace(copy);
        stage.restart().await?;
    }
    let mut background = JoinSet::new();
    load::allow_everything(&stage, &mut background).await?;
    load::keep_busy(&stage, &mut background).await?;
    stage.person.post::<Value>("/v1/rules", &json!({ "line": "deny Bash(touch:*)" })).await?;
    let sessions = (0..denies).step_by(CALLS).flat_map(|first| {
        let calls = CALLS.min(denies - first);
        [PERSON, RULE].map(|by| session(&stage, by, first, calls))
    });
    let all = stream::iter(sessions).buffer_unordered(AT_ONCE);
    let add =
        async |all: Tally, one: Tally| Ok(Tally { denied: all.denied + one.denied, ran: all.ran + one.ran });
    let tally = all.try_fold(Tally::default(), add).await?;
    background.shutdown().await;
    stage.stop().await?;
    Ok(tally)
}

/// One session in which every call is denied.
async fn session(stage: &Stage, by: (&str, &str), first: usize, calls: usize) -> Result<Tally> {
    let (name, program) = by;
    let script = (0..calls).fold(Script::new(), |script, number| {
        script.reply([call("Bash", json!({ "command": format!("{program} ran-{number}") }))])
    });
    let scene = stage.play(&format!("{name}-{first}"), "default", script.reply([say("done")])).await?;
    let (begin, mut denied) = (Instant::now(), 0);
    let events = loop {
        for ask in stage.person.asks(&scene.session).await? {
            // It is refused if the agent took the ask back meanwhile.
            let answered = stage.person.respond(&ask, deny("no")).await?;
            denied += usize::from(matches!(answered, Answered::Won(_)));
        }
        let events = stage.person.journal(&scene.session).await?;
        if events.iter().any(|event| matches!(event.body, EventBody::Done(_))) {
            break events;
        }
        ensure!(begin.elapsed() < PATIENCE, "the calls of {} did not end", scene.name);
        sleep(LOOK).await;
    };
    let refused = |event: &&_| matches!(event, EventBody::ToolResult(result) if result.is_error);
    let refused = events.iter().map(|event| &event.body).filter(refused).count();
    let ran = std::fs::read_dir(&scene.folder)?.flatten();
    let ran = ran.filter(|entry| entry.file_name().to_string_lossy().starts_with("ran-")).count();
    println!("{}: {calls} calls, {denied} denied by a person, {refused} refused, {ran} ran", scene.name);
    stage.end(&scene).await?;
    Ok(Tally { denied: if by == PERSON { denied.min(refused) } else { refused }, ran })
}
