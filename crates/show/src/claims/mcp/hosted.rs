//! The real Claude Code, hosted: our tools are there by themselves.

use holdstead_protocol::{AskState, EventBody};
use holdstead_scripted_model::{Script, Told, call};
use serde_json::{Value, json};

use super::asked_once;
use crate::claude::{Scene, Stage};
use crate::responses::submit;
use crate::{Result, ensure, processes};

const ASK_USER: &str = "mcp__holdstead__ask_user";

/// It asks once, and its model is told the answer as the result of that very call.
pub(super) async fn question(stage: &Stage) -> Result<String> {
    let input = json!({"question": "Which store?", "options": ["SQLite", "PostgreSQL"]});
    let scene = stage.play("mcp-question", "default", Script::new().reply([call(ASK_USER, input)])).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    token_is_hidden(stage, &scene).await?;
    stage.person.win(&ask, submit(&json!({"answer": "PostgreSQL"}))).await?;
    let events = stage.finish(&scene).await?;
    let ask = asked_once(&events)?;
    let told = stage.told(&scene.name);
    let [Told::ToolResult { tool_use_id, content, is_error: false }] = told.as_slice() else {
        return Err(format!("the model was told {told:#?}").into());
    };
    let expected = json!({"ok": true, "answer": "PostgreSQL"});
    ensure!(serde_json::from_str::<Value>(content)? == expected, "the model was told {content}");
    let call = ask.tool_call_id.as_ref().map(|id| id.as_str());
    ensure!(call == Some(tool_use_id), "the ask belongs to {call:?}, not to {tool_use_id}");
    ensure!(ask.turn_id.is_some(), "the ask belongs to no turn");
    let results = events.iter().filter(|event| matches!(event.body, EventBody::ToolResult(_))).count();
    ensure!(results == 1, "{results} results are in the journal");
    Ok(format!("told: {content}; its token is on no command line and not in the journal"))
}

/// The gateway and the agent die while the person thinks. The answer still reaches the model, once.
pub(super) async fn killed(stage: &mut Stage) -> Result<String> {
    let script = Script::new().reply([call(ASK_USER, json!({"question": "Which colour?"}))]);
    let scene = stage.play("mcp-killed", "default", script).await?;
    let before = stage.person.open_ask(&scene.session, "question").await?;
    // Claude Code writes its conversation down with a delay; killed before that, it would begin a new one.
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    stage.restart().await?;
    let mut now = stage.person.open_ask(&scene.session, "question").await?;
    ensure!(now.request.interaction_id == before.request.interaction_id, "it is another ask");
    // It is queued as soon as the agent is known to be gone; until then an answer would wait for it all the same.
    for _ in 0..400 {
        if now.state == AskState::Queued {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        now = stage.person.open_ask(&scene.session, "question").await?;
    }
    ensure!(now.state == AskState::Queued, "the ask does not say that the agent is gone: {:?}", now.state);
    stage.person.win(&now, submit(&json!({"answer": "blue"}))).await?;
    let words = "Late answer to your question:\n> Which colour?\nblue";
    let events = stage.person.turns(&scene.session, 2).await?;
    asked_once(&events)?;
    let given = |told: &&Told| matches!(told, Told::Text { text } if text == words);
    let told = stage.told("mcp-killed");
    ensure!(told.iter().filter(given).count() == 1, "the model was told {told:#?}");
    stage.end(&scene).await?;
    Ok(format!("the ask stayed; the model was told once: {}", words.replace('\n', " ")))
}

/// Fails if the agent's token is on a command line or in the journal.
async fn token_is_hidden(stage: &Stage, scene: &Scene) -> Result<()> {
    let mut found = 0;
    for process in processes::with_home(stage.home())? {
        let environment = std::fs::read(format!("/proc/{}/environ", process.pid))?;
        let mut variables = environment.split(|byte| *byte == 0);
        let token = variables.find_map(|variable| variable.strip_prefix(b"HOLDSTEAD_AGENT_TOKEN="));
        let Some(token) = token.map(|token| String::from_utf8_lossy(token).into_owned()) else { continue };
        found += 1;
        let line =
            String::from_utf8_lossy(&std::fs::read(format!("/proc/{}/cmdline", process.pid))?).into_owned();
        ensure!(!line.contains(&token), "the token is on the command line of process {}", process.pid);
        let events = serde_json::to_string(&stage.person.journal(&scene.session).await?)?;
        ensure!(!events.contains(&token), "the token is in the journal");
    }
    ensure!(found > 0, "no process has the token");
    Ok(())
}
