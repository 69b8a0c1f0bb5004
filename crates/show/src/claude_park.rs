//! Sessions of Claude Code that wait for a person without a process, beside sessions that wait with one.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_protocol::ResponseDraft;
use holdstead_protocol::api::Interaction;
use holdstead_scripted_model::{Script, Told, call, say};
use serde_json::json;
use tokio::time::sleep;

use crate::claude::{Scene, Stage};
use crate::processes::{self, available_memory, memory};
use crate::{Result, ensure};

const SESSIONS: usize = 50;
/// Starting them is work: a few at a time.
const AT_ONCE: usize = 3;
/// What one that waits with a process may need, with room for those who share the machine.
const ROOM: u64 = 250 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(60);
const MARKS: &str = "marks.txt";

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    restart().await?;
    let parked = parked().await?;
    let live = live().await?;
    let per_parked = parked.bytes / SESSIONS as u64;
    let per_live = live.bytes / live.sessions as u64;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    Ok(format!(
        "{SESSIONS} of {SESSIONS} parked sessions got their own answer; while they wait: {} agent processes, {} in \
         all ({} each); {} sessions that wait with their process: {} processes, {} in all ({} each)",
        parked.agents,
        megabytes(parked.bytes),
        megabytes(per_parked),
        live.sessions,
        live.agents,
        megabytes(live.bytes),
        megabytes(per_live),
    ))
}

/// What a gateway and all that it started need.
#[derive(Debug)]
struct Waiting {
    sessions: usize,
    agents: usize,
    bytes: u64,
}

/// A question and an approval are parked; the gateway is killed; their answers go to the very same calls.
async fn restart() -> Result<()> {
    let mut stage = Stage::new("0s").await?;
    let mut scenes = Vec::new();
    for number in 0..2 {
        let scene = open(&stage, number).await?;
        let ask = until_parked(&stage, &scene).await?;
        scenes.push((number, scene, ask));
    }
    ensure!(agents(&stage)? == 0, "there are processes though both are parked");
    println!("a question and an approval are parked: 0 agent processes");
    stage.gateway.kill_now().await?;
    ensure!(processes::with_home(stage.home())?.is_empty(), "something outlived the gateway");
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    ensure!(agents(&stage)? == 0, "the new gateway started an agent for nothing");
    println!("kill -9 of the gateway and a new one: still 0 agent processes");
    for (number, scene, ask) in &scenes {
        let told = answer(&stage, *number, scene, ask).await?;
        println!("answered: the same call {} was told: {}", call_of(ask), told.words());
    }
    stage.stop().await
}

async fn parked() -> Result<Waiting> {
    let stage = Stage::new("0s").await?;
    let begin = Instant::now();
    let scenes: Vec<_> = stream::iter(0..SESSIONS)
        .map(|number| {
            let stage = &stage;
            async move {
                let scene = open(stage, number).await?;
                let ask = until_parked(stage, &scene).await?;
                Result::Ok((number, scene, ask))
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let waiting = Waiting { sessions: SESSIONS, agents: agents(&stage)?, bytes: bytes(&stage)? };
    ensure!(waiting.agents == 0, "{} processes are there though all are parked", waiting.agents);
    println!(
        "{SESSIONS} sessions parked after {:.0} s: 0 agent processes, {} in all",
        begin.elapsed().as_secs_f64(),
        megabytes(waiting.bytes)
    );
    let begin = Instant::now();
    let told: Vec<_> = stream::iter(&scenes)
        .map(|(number, scene, ask)| answer(&stage, *number, scene, ask))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    println!("{} of them answered and done after {:.0} s", told.len(), begin.elapsed().as_secs_f64());
    stage.stop().await?;
    Ok(waiting)
}

async fn live() -> Result<Waiting> {
    let fit = usize::try_from(available_memory()? / 2 / ROOM)?;
    let sessions = SESSIONS.min(fit);
    ensure!(sessions > 0, "there is no memory for a process that waits");
    if sessions < SESSIONS {
        println!("only {sessions} sessions with a process fit into half of what is free here");
    }
    let stage = Stage::new("1h").await?;
    let begin = Instant::now();
    let opened: Vec<_> = stream::iter(0..sessions)
        .map(|number| {
            let stage = &stage;
            async move {
                let scene = open(stage, number).await?;
                stage.person.open_asks(&scene.session, 1).await
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let waiting = Waiting { sessions: opened.len(), agents: agents(&stage)?, bytes: bytes(&stage)? };
    ensure!(waiting.agents >= sessions, "only {} processes wait", waiting.agents);
    println!(
        "{sessions} sessions waiting with their process after {:.0} s: {} processes, {} in all",
        begin.elapsed().as_secs_f64(),
        waiting.agents,
        megabytes(waiting.bytes)
    );
    let home = stage.home().to_owned();
    let pids = processes::with_home(&home)?;
    stage.stop().await?;
    let left = processes::with_home(&home)?;
    ensure!(left.is_empty(), "{} of {} processes outlived their gateway", left.len(), pids.len());
    Ok(waiting)
}

/// Even numbers ask a question, odd ones want to run a command.
async fn open(stage: &Stage, number: usize) -> Result<Scene> {
    let call = if number.is_multiple_of(2) {
        let question = json!({"question": format!("What is the word of {number}?"), "header": "Word",
            "multiSelect": false, "options": [{"label": "one", "description": ""}, {"label": "two", "description": ""}]});
        call("AskUserQuestion", json!({ "questions": [question] }))
    } else {
        let command = format!("echo {number} >> {MARKS} && echo {number} is done");
        call("Bash", json!({"command": command, "description": "Leaves a mark"}))
    };
    let script = Script::new().reply([say("I need a person."), call]);
    stage.play(&format!("session-{number}"), "default", script).await
}

async fn until_parked(stage: &Stage, scene: &Scene) -> Result<Interaction> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if stage.is_parked(scene).await? {
            return stage
                .person
                .open_asks(&scene.session, 1)
                .await?
                .pop()
                .ok_or_else(|| "no ask is open".into());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(format!("{} was not parked", scene.name).into())
}

/// Answers with words of its own; the model must have been told them, at the call that was parked.
async fn answer(stage: &Stage, number: usize, scene: &Scene, ask: &Interaction) -> Result<Told> {
    let question = number.is_multiple_of(2);
    let marks = scene.folder.join(MARKS);
    ensure!(!marks.exists(), "{} ran before anybody allowed it", scene.name);
    let (draft, words) = if question {
        let answers = json!({"q1": format!("word-{number}")});
        let draft = ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None };
        (draft, format!("\"What is the word of {number}?\"=\"word-{number}\""))
    } else {
        (
            ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None },
            format!("{number} is done"),
        )
    };
    stage.person.win(ask, draft).await?;
    stage.person.done(&scene.session).await?;
    stage.end(scene).await?;
    if !question {
        let ran = std::fs::read_to_string(&marks)?;
        ensure!(ran == format!("{number}\n"), "{} ran: {ran:?}", scene.name);
    }
    let told = stage.told(&scene.name).into_iter().find(|told| match told {
        Told::ToolResult { tool_use_id, content, is_error } => {
            *tool_use_id == call_of(ask) && content.contains(&words) && !is_error
        }
        Told::Text { .. } | Told::Reminder { .. } => false,
    });
    told.ok_or_else(|| format!("the model was told {:?} and not {words}", stage.told(&scene.name)).into())
}

fn call_of(ask: &Interaction) -> String {
    ask.request.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Everything that the gateway started.
fn agents(stage: &Stage) -> Result<usize> {
    let all = processes::with_home(stage.home())?;
    Ok(all.iter().filter(|process| Some(process.pid) != stage.gateway.pid()).count())
}

fn bytes(stage: &Stage) -> Result<u64> {
    processes::with_home(stage.home())?.iter().map(|process| memory(process.pid)).sum()
}

fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / (1024.0 * 1024.0);
    if megabytes < 10.0 { format!("{megabytes:.1} MB") } else { format!("{megabytes:.0} MB") }
}
