//! The real Claude Code, hosted: our tools are there by themselves.

use holdstead_protocol::{AskState, EventBody, ResponseDraft};
use holdstead_scripted_model::{Script, Told, call};
use serde_json::{Map, Value, json};

use super::{Seen, asked_once};
use crate::claude::{Scene, Stage};
use crate::{Result, ensure, processes};

pub(super) const ASK_USER: &str = "mcp__holdstead__ask_user";

pub(super) fn answer(answer: &str) -> ResponseDraft {
    let answers = Map::from_iter([("answer".to_owned(), json!(answer))]);
    ResponseDraft::Submit { answers: Some(answers), input: None }
}

pub(super) async fn question(stage: &Stage) -> Result<Seen> {
    let input = json!({"question": "Which store?", "options": ["SQLite", "PostgreSQL"]});
    let scene = stage.play("mcp-question", "default", Script::new().reply([call(ASK_USER, input)])).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    let hidden = token_is_hidden(stage, &scene).await?;
    stage.person.win(&ask, answer("PostgreSQL")).await?;
    let told = told_in_the_end(stage, &scene, json!({"ok": true, "answer": "PostgreSQL"})).await?;
    Ok(vec![told, hidden])
}

pub(super) async fn approval(stage: &Stage) -> Result<Seen> {
    let input = json!({"action": "Deploy", "input": {"to": "production"}});
    let script = Script::new().reply([call("mcp__holdstead__request_approval", input)]);
    let scene = stage.play("mcp-approval", "default", script).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    let edited = json!({"action": "Deploy", "input": {"to": "staging"}});
    stage
        .person
        .win(&ask, ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(edited) })
        .await?;
    let expected = json!({"ok": true, "approved": true, "input": {"to": "staging"}});
    Ok(vec![told_in_the_end(stage, &scene, expected).await?])
}

/// The gateway and the agent die while the person thinks. The answer still reaches the model, once.
pub(super) async fn killed(stage: &mut Stage) -> Result<Seen> {
    let script = Script::new().reply([call(ASK_USER, json!({"question": "Which colour?"}))]);
    let scene = stage.play("mcp-killed", "default", script).await?;
    let before = stage.person.open_ask(&scene.session, "question").await?;
    // Claude Code writes its conversation down with a delay; killed before that, it would begin a new one.
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    stage.gateway.kill_now().await?;
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    let after = stage.person.open_ask(&scene.session, "question").await?;
    ensure!(after.request.interaction_id == before.request.interaction_id, "it is another ask");
    // It is queued as soon as the agent is known to be gone; until then an answer would wait for it all the same.
    let mut now = after;
    for _ in 0..400 {
        if now.state == AskState::Queued {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        now = stage.person.open_ask(&scene.session, "question").await?;
    }
    ensure!(now.state == AskState::Queued, "nobody said that the agent does not wait: {:?}", now.state);
    stage.person.win(&now, answer("blue")).await?;
    let words = "Late answer to your question:\n> Which colour?\nblue";
    let events = stage.person.turns(&scene.session, 2).await?;
    asked_once(&events)?;
    let given = |told: &&Told| matches!(told, Told::Text { text } if text == words);
    let told = stage.told("mcp-killed");
    ensure!(told.iter().filter(given).count() == 1, "the model was told {told:#?}");
    stage.end(&scene).await?;
    Ok(vec![format!("the ask stayed; the model was told once: {}", words.replace('\n', " "))])
}

/// Ends the scene, and fails unless it asked once and the model was told this as the result of that very call.
pub(super) async fn told_in_the_end(stage: &Stage, scene: &Scene, expected: Value) -> Result<String> {
    let events = stage.person.done(&scene.session).await?;
    let ask = asked_once(&events)?;
    let told = stage.told(&scene.name);
    let [Told::ToolResult { tool_use_id, content, is_error: false }] = told.as_slice() else {
        return Err(format!("the model was told {told:#?}").into());
    };
    ensure!(
        serde_json::from_str::<Value>(content)? == expected,
        "the model was told {content}, not {expected}"
    );
    let call = ask.tool_call_id.as_ref().map(|id| id.as_str());
    ensure!(call == Some(tool_use_id), "the ask belongs to {call:?}, not to {tool_use_id}");
    ensure!(ask.turn_id.is_some(), "the ask belongs to no turn");
    let results = events.iter().filter(|event| matches!(event.body, EventBody::ToolResult(_))).count();
    ensure!(results == 1, "{results} results are in the journal");
    stage.end(scene).await?;
    Ok(format!("asked once, under {tool_use_id}; told: {content}"))
}

/// Nobody finds the agent's token on a command line or in the journal.
async fn token_is_hidden(stage: &Stage, scene: &Scene) -> Result<String> {
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
    Ok("its token is on no command line and not in the journal".to_owned())
}
