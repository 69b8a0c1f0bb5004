//! What an agent must still be able to do in its box.

use std::time::Duration;

use holdstead_protocol::{AgentBox, EventBody, ResponseDraft, SessionStatus};
use holdstead_scripted_model::{Part, Script, Told, call};
use serde_json::{Map, json};
use tokio::time::sleep;

use super::attempts::APPROVE;
use super::{Played, doctor, said_box};
use crate::claude::{Scene, Stage};
use crate::{Result, ensure, processes};

/// Each run leaves a line.
const MARKS: &str = "marks.txt";

pub(super) async fn all(stage: &mut Stage, on: &str, expected: &AgentBox, played: &mut Played) {
    played.add(on, "it reads, edits and runs what is approved", edits(stage).await);
    played.add(on, "the session, its journal and doctor name it", named(stage, expected).await);
    played.add(on, "our own tool asks over loopback", own_tool(stage).await);
    played.add(on, "it parks, and resumes at the same call", parks(stage).await);
    played.add(on, "kill -9 of the gateway leaves no process", killed(stage).await);
}

fn mark(name: &str) -> Part {
    call("Bash", json!({ "command": format!("echo {name} >> {MARKS} && echo {name} is done") }))
}

fn marks(scene: &Scene) -> String {
    std::fs::read_to_string(scene.folder.join(MARKS)).unwrap_or_default()
}

async fn approve_next(stage: &Stage, scene: &Scene) -> Result<()> {
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    stage.person.win(&ask, APPROVE).await?;
    Ok(())
}

fn was_told(stage: &Stage, name: &str, words: &str) -> Result<()> {
    let told = stage.told(name);
    let result = |told: &Told| matches!(told, Told::ToolResult { content, is_error: false, .. } if content.contains(words));
    ensure!(told.iter().any(result), "the model was told {told:#?} and not {words}");
    Ok(())
}

async fn edits(stage: &Stage) -> Result<String> {
    let name = "edits";
    let folder = stage.home().join("projects").join(name);
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("a.txt");
    std::fs::write(&file, "one\ntwo\n")?;
    let script = Script::new()
        .reply([call("Read", json!({ "file_path": file }))])
        .reply([call("Edit", json!({"file_path": file, "old_string": "two", "new_string": "2"}))])
        .reply([call("Write", json!({"file_path": folder.join("b.txt"), "content": "new\n"}))])
        .reply([call("Bash", json!({"command": "cat a.txt b.txt && mkdir deep && mv b.txt deep/"}))]);
    let scene = stage.play_in(name, "default", script, &folder).await?;
    for asked in 0..3 {
        let ask = stage.person.open_ask(&scene.session, "approval").await?;
        ensure!(asked > 0 || ask.request.tool_name == "Edit", "it asked for {}", ask.request.tool_name);
        stage.person.win(&ask, APPROVE).await?;
    }
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    was_told(stage, name, "one\n2\nnew")?;
    ensure!(std::fs::read_to_string(folder.join("deep/b.txt"))? == "new\n", "its file is not there");
    Ok("a read, an edit, a new file and a command".to_owned())
}

async fn named(stage: &Stage, expected: &AgentBox) -> Result<String> {
    let scene = stage.play("named", "default", Script::new().reply([mark("named")])).await?;
    approve_next(stage, &scene).await?;
    let events = stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    let started = events.iter().find_map(|event| {
        let EventBody::SessionStatus(SessionStatus { pid: Some(_), boxed, .. }) = &event.body else {
            return None;
        };
        boxed.as_ref()
    });
    ensure!(started == Some(expected), "the journal says {started:?}");
    let said = said_box(stage, &scene).await?;
    ensure!(said.as_ref() == Some(expected), "the session says {said:?}");
    let (health, words) = doctor(stage).await?;
    ensure!(health == "good" && words.starts_with(&expected.to_string()), "doctor says {health}: {words}");
    ensure!(words.contains("network"), "doctor does not say what is not covered: {words}");
    Ok(words)
}

async fn own_tool(stage: &Stage) -> Result<String> {
    let question = json!({"question": "Which store?", "options": ["SQLite", "PostgreSQL"]});
    let script = Script::new().reply([call("mcp__holdstead__ask_user", question)]);
    let scene = stage.play("own-tool", "default", script).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    let answers = Map::from_iter([("answer".to_owned(), json!("PostgreSQL"))]);
    stage.person.win(&ask, ResponseDraft::Submit { answers: Some(answers), input: None }).await?;
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    was_told(stage, "own-tool", "PostgreSQL")?;
    Ok("the answer reached the model".to_owned())
}

async fn parks(stage: &Stage) -> Result<String> {
    let scene = stage.play("parks", "default", Script::new().reply([mark("parked")])).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    for _ in 0..1_200 {
        if stage.is_parked(&scene).await? {
            break;
        }
        sleep(Duration::from_millis(25)).await;
    }
    ensure!(stage.is_parked(&scene).await?, "it was not parked");
    let left = agents(stage)?;
    ensure!(left == 0, "{left} processes are left");
    ensure!(marks(&scene).is_empty(), "it ran before anybody allowed it");
    stage.person.win(&ask, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    ensure!(marks(&scene) == "parked\n", "it ran: {:?}", marks(&scene));
    was_told(stage, "parks", "parked is done")?;
    Ok("no process while it waited; ran once".to_owned())
}

/// An agent that waits with its process, and a command of its that left its group.
async fn killed(stage: &mut Stage) -> Result<String> {
    let script = Script::new().reply([mark("one")]).reply([mark("two")]);
    let scene = stage.play("killed", "default", script).await?;
    approve_next(stage, &scene).await?;
    let before = stage.person.open_ask(&scene.session, "approval").await?;
    let running = agents(stage)?;
    ensure!(running > 0, "its process was not found");
    stage.gateway.kill_now().await?;
    for _ in 0..200 {
        if processes::with_home(stage.home())?.is_empty() {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    let left = processes::with_home(stage.home())?.len();
    ensure!(left == 0, "{left} processes outlived the gateway");
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    let after = stage.person.open_ask(&scene.session, "approval").await?;
    ensure!(after.request.interaction_id == before.request.interaction_id, "it is another ask");
    stage.end(&scene).await?;
    Ok(format!("{running} processes went with it; the ask stayed open"))
}

/// How many processes the gateway has started.
fn agents(stage: &Stage) -> Result<usize> {
    let all = processes::with_home(stage.home())?;
    Ok(all.iter().filter(|process| Some(process.pid) != stage.gateway.pid()).count())
}
