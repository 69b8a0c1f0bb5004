//! What an agent must still be able to do in its box.

use std::time::Duration;

use holdstead_protocol::{AgentBox, EventBody, SessionStatus};
use holdstead_scripted_model::{Script, Told, call};
use serde_json::json;
use tokio::time::sleep;

use super::{doctor, said_box};
use crate::claude::{Stage, mark};
use crate::responses::{APPROVE, submit};
use crate::scenes::Scenes;
use crate::{Result, ensure, processes};

pub(super) async fn all(stage: &mut Stage, on: &str, expected: &AgentBox, scenes: &mut Scenes) {
    let mut add = |name: &str, seen| {
        scenes.add(&format!("{on}: {name}"), seen);
    };
    add("it reads, edits and runs what is approved", edits(stage).await);
    add("the session, its journal and doctor name it", named(stage, expected).await);
    add("our own tool asks over loopback", own_tool(stage).await);
    add("it parks, and resumes at the same call", parks(stage).await);
    add("kill -9 of the gateway leaves no process", killed(stage).await);
}

fn was_told(stage: &Stage, name: &str, words: &str) -> Result<()> {
    let told = stage.told(name);
    let result = |told: &Told| matches!(told, Told::ToolResult { content, is_error: false, .. } if content.contains(words));
    ensure!(told.iter().any(result), "the model was told {told:#?} and not {words}");
    Ok(())
}

async fn edits(stage: &Stage) -> Result<String> {
    let name = "edits";
    let folder = stage.folder(name)?;
    let file = folder.join("a.txt");
    std::fs::write(&file, "one\ntwo\n")?;
    let script = Script::new()
        .reply([call("Read", json!({ "file_path": file }))])
        .reply([call("Edit", json!({"file_path": file, "old_string": "two", "new_string": "2"}))])
        .reply([call("Write", json!({"file_path": folder.join("b.txt"), "content": "new\n"}))])
        .reply([call("Bash", json!({"command": "cat a.txt b.txt && mkdir deep && mv b.txt deep/"}))]);
    let scene = stage.play_in(name, "default", script, &folder).await?;
    for asked in 0..3 {
        let ask = stage.decide(&scene, APPROVE).await?;
        ensure!(asked > 0 || ask.request.tool_name == "Edit", "it asked for {}", ask.request.tool_name);
    }
    stage.finish(&scene).await?;
    was_told(stage, name, "one\n2\nnew")?;
    ensure!(std::fs::read_to_string(folder.join("deep/b.txt"))? == "new\n", "its file is not there");
    Ok("a read, an edit, a new file and a command".to_owned())
}

async fn named(stage: &Stage, expected: &AgentBox) -> Result<String> {
    let scene = stage.play("named", "default", Script::new().reply([call("Bash", mark("named"))])).await?;
    stage.decide(&scene, APPROVE).await?;
    let events = stage.finish(&scene).await?;
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
    stage.person.win(&ask, submit(&json!({"answer": "PostgreSQL"}))).await?;
    stage.finish(&scene).await?;
    was_told(stage, "own-tool", "PostgreSQL")?;
    Ok("the answer reached the model".to_owned())
}

async fn parks(stage: &Stage) -> Result<String> {
    let scene = stage.play("parks", "default", Script::new().reply([call("Bash", mark("parked"))])).await?;
    let ask = stage.until_parked(&scene).await?;
    let left = stage.agents()?;
    ensure!(left == 0, "{left} processes are left");
    ensure!(scene.marks().is_empty(), "it ran before a person allowed it");
    stage.person.win(&ask, APPROVE).await?;
    stage.finish(&scene).await?;
    ensure!(scene.marks() == "parked\n", "it ran: {:?}", scene.marks());
    was_told(stage, "parks", "parked is done")?;
    Ok("no process while it waited; ran once".to_owned())
}

/// An agent that waits with its process, and a command of its that left its group.
async fn killed(stage: &mut Stage) -> Result<String> {
    let script = Script::new().reply([call("Bash", mark("one"))]).reply([call("Bash", mark("two"))]);
    let scene = stage.play("killed", "default", script).await?;
    stage.decide(&scene, APPROVE).await?;
    let before = stage.person.open_ask(&scene.session, "approval").await?;
    let running = stage.agents()?;
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
