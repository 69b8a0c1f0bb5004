//! Sessions of Claude Code that wait for a person without a process. The gateway is killed while they wait; then each gets
//! its own answer at the very call that asked.

mod memory;
mod stopped;
mod transcripts;

use std::time::Instant;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_protocol::api::Interaction;
use holdstead_scripted_model::{Script, Told, call, say};
use serde_json::json;

use crate::claude::{Scene, Stage, mark, question};
use crate::processes::{memory, with_home};
use crate::responses::{APPROVE, submit};
use crate::{Result, ensure};

const SESSIONS: usize = 50;
/// Starting them is work: a few at a time.
const AT_ONCE: usize = 3;

pub(crate) async fn show() -> Result<String> {
    let next_version = std::env::args().nth(3);
    println!("{}", stopped::parks().await?);
    if next_version.as_deref() == Some("memory") {
        return memory::remembers(None).await;
    }
    println!("{}", many().await?);
    memory::remembers(next_version.map(Into::into)).await
}

/// Each of many sessions gets its own answer after the gateway was killed.
async fn many() -> Result<String> {
    let begin = Instant::now();
    let with_process = waiting_with_its_process().await?;
    let mut stage = Stage::new("0s").await?;
    let parked: Vec<_> = stream::iter(0..SESSIONS)
        .map(async |number| {
            let scene = open(&stage, number).await?;
            let ask = stage.until_parked(&scene).await?;
            Result::Ok((number, scene, ask))
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    ensure!(stage.agents()? == 0, "{} processes are there though all are parked", stage.agents()?);
    let bytes = megabytes(&stage)?;
    println!("{SESSIONS} sessions parked after {:.0} s", begin.elapsed().as_secs_f64());
    stage.gateway.kill_now().await?;
    ensure!(with_home(stage.home())?.is_empty(), "a process outlived the gateway");
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    ensure!(stage.agents()? == 0, "the new gateway started an agent though no answer came");
    stream::iter(&parked)
        .map(|(number, scene, ask)| answer(&stage, *number, scene, ask))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    stage.stop().await?;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    Ok(format!(
        "{SESSIONS} of {SESSIONS} parked sessions got their own answer after kill -9 of the gateway; while they wait: 0 agent \
         processes, {bytes:.0} MB in all; one session that waits with its process: {with_process:.0} MB"
    ))
}

/// What one session that is not parked needs, in megabytes, without its gateway. Its processes end with the gateway.
async fn waiting_with_its_process() -> Result<f64> {
    let stage = Stage::new("1h").await?;
    let before = megabytes(&stage)?;
    let scene = open(&stage, 0).await?;
    stage.person.open_ask(&scene.session, "question").await?;
    ensure!(stage.agents()? > 0, "no process waits");
    let needs = megabytes(&stage)? - before;
    let home = stage.home().to_owned();
    stage.gateway.stop().await?;
    ensure!(with_home(&home)?.is_empty(), "a process outlived the gateway");
    Ok(needs)
}

/// Even numbers ask a question, odd ones want to run a command.
async fn open(stage: &Stage, number: usize) -> Result<Scene> {
    let call = if number.is_multiple_of(2) {
        question(&format!("What is the word of {number}?"), ["one", "two"])
    } else {
        call("Bash", mark(&number.to_string()))
    };
    let script = Script::new().reply([say("I need a person."), call]);
    stage.play(&format!("session-{number}"), "default", script).await
}

/// Answers with words of its own; the model must have been told them, at the call that was parked.
async fn answer(stage: &Stage, number: usize, scene: &Scene, ask: &Interaction) -> Result<()> {
    ensure!(scene.marks().is_empty(), "{} ran before a person allowed it", scene.name);
    let (draft, words, ran) = if number.is_multiple_of(2) {
        let word = format!("word-{number}");
        let told = format!("\"What is the word of {number}?\"=\"{word}\"");
        (submit(&json!({ "q1": word })), told, String::new())
    } else {
        (APPROVE, format!("{number} is done"), format!("{number}\n"))
    };
    stage.person.win(ask, draft).await?;
    stage.finish(scene).await?;
    ensure!(scene.marks() == ran, "{} ran: {:?}", scene.name, scene.marks());
    let call = ask.request.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let told = stage.told(&scene.name);
    let is_answer = |told: &Told| {
        matches!(told, Told::ToolResult { tool_use_id, content, is_error: false }
            if *tool_use_id == call && content.contains(&words))
    };
    ensure!(told.iter().any(is_answer), "the model was told {told:?} and not {words}");
    Ok(())
}

/// What the gateway and all that it started have in memory.
fn megabytes(stage: &Stage) -> Result<f64> {
    let bytes: u64 =
        with_home(stage.home())?.iter().map(|process| memory(process.pid)).sum::<Result<u64>>()?;
    Ok(bytes as f64 / (1024.0 * 1024.0))
}
