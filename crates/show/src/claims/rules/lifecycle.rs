//! Rules over the start of a session, its variables and the end of its turns.

use holdstead_protocol::api::Session;
use holdstead_protocol::{Event, EventBody, SessionInitialised};
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};

use crate::claude::{Scene, Stage, asks, question};
use crate::responses::APPROVE;
use crate::{Result, ensure};

const CONTEXT: &str = "Commits here need the number of a ticket";
const END_RULE: &str = "deny Stop when $keep_going true and $stop_attempts <= 0 # Run the tests first";
/// The organisation's own.
pub(super) const RULES: &str = "default $keep_going false
context # Commits here need the number of a ticket
deny Stop when $keep_going true and $stop_attempts <= 0 # Run the tests first
deny AskUserQuestion when $stop_attempts >= 1 and $task_claimed true # Do not ask: act
deny Bash(touch:*) when $phase release # Nothing is written in a release
";

fn starts(events: &[Event]) -> Vec<&SessionInitialised> {
    let starts = events.iter().filter_map(|event| {
        let EventBody::SessionInitialised(start) = &event.body else { return None };
        Some(start)
    });
    starts.collect()
}

/// A session in a folder of its own, with these variables.
async fn open(stage: &Stage, name: &str, variables: Value, script: Script) -> Result<Scene> {
    let open = json!({"agent": "claude", "cwd": stage.folder(name)?, "title": name, "variables": variables});
    stage.open(name, &open, script).await
}

fn touch() -> Script {
    Script::new().reply([call("Bash", json!({"command": "touch ran.txt", "description": "Leaves a mark"}))])
}

pub(super) async fn starts_once(stage: &mut Stage) -> Result<String> {
    let folder = stage.folder("starts-once")?;
    let open = json!({"agent": "claude", "cwd": folder, "title": "starts-once"});
    let session: Session = stage.person.post("/v1/sessions", &open).await?;
    let session = session.session_id.to_string();
    ensure!(starts(&stage.person.journal(&session).await?).is_empty(), "it started before its first message");
    stage.restart().await?;
    let scene = Scene { name: "starts-once".to_owned(), session, folder };
    for (turn, script) in [(1, "starts-first"), (2, "starts-second")] {
        stage.send(&scene, script, Script::new().reply([say("Done.")])).await?;
        stage.person.turns(&scene.session, turn).await?;
    }
    let events = stage.person.journal(&scene.session).await?;
    stage.end(&scene).await?;
    let count = starts(&events).len();
    ensure!(count == 1, "it started {count} times");
    Ok("one session_initialised in two turns".to_owned())
}

pub(super) async fn context(stage: &Stage) -> Result<String> {
    let before = stage.model.bodies().len();
    let scene = open(stage, "context", json!({}), Script::new().reply([say("Done.")])).await?;
    stage.person.done(&scene.session).await?;
    stage.send(&scene, "context-again", Script::new().reply([say("Done again.")])).await?;
    let events = stage.person.turns(&scene.session, 2).await?;
    stage.end(&scene).await?;
    let bodies = stage.model.bodies();
    let own = bodies[before..].iter().rev().map(|body| body["messages"].to_string());
    let last = own
        .into_iter()
        .find(|said| said.contains("script: context-again"))
        .ok_or("the model was not asked")?;
    let told = last.matches(CONTEXT).count();
    ensure!(told == 1, "the model was told {told} times in two turns");
    let (context, words) = (last.find(CONTEXT), last.find("Please go on."));
    ensure!(context < words, "the context comes after the person's words");
    ensure!(last.contains("not from the person"), "it is not marked as Holdstead's");
    let journal: Vec<_> = starts(&events).into_iter().flat_map(|start| &start.context).collect();
    ensure!(journal.len() == 1 && journal[0].words == CONTEXT, "the journal has {journal:?}");
    Ok(format!("the model read `{CONTEXT}` once, before the person's words and marked"))
}

pub(super) async fn before_a_tool(stage: &Stage) -> Result<String> {
    let scene = open(stage, "before-a-tool", json!({}), touch()).await?;
    stage.decide(&scene, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    let mark = scene.folder.join("ran.txt");
    ensure!(mark.exists(), "what was approved did not run");
    std::fs::remove_file(&mark)?;
    let path = format!("/v1/sessions/{}/variables", scene.session);
    let _: Session = stage.person.put(&path, &json!({"variables": {"phase": "release"}})).await?;
    stage.send(&scene, "in-a-release", touch()).await?;
    let events = stage.person.turns(&scene.session, 2).await?;
    stage.end(&scene).await?;
    ensure!(!mark.exists() && asks(&events) == 1, "it ran, or a person was asked: {} asks", asks(&events));
    let told = stage.told("in-a-release");
    let reason = "Nothing is written in a release";
    ensure!(told.iter().any(|told| told.words().contains(reason)), "the model was told {told:?}");
    Ok(format!("without the variable a person was asked; with it the model read `{reason}`"))
}

pub(super) async fn end(stage: &Stage) -> Result<String> {
    let script = Script::new().reply([say("I am done.")]).reply([question("Shall I?", ["Yes", "No"])]);
    let variables = json!({"keep_going": true, "task_claimed": true});
    let scene = open(stage, "kept-going", variables, script).await?;
    let events = stage.finish(&scene).await?;
    let blocked: Vec<_> = events
        .iter()
        .filter_map(|event| {
            let EventBody::TurnEndBlocked(blocked) = &event.body else { return None };
            Some((blocked.attempt, blocked.rule.text.as_str()))
        })
        .collect();
    ensure!(blocked == [(1, END_RULE)], "the journal has {blocked:?}");
    let told = stage.model.told("kept-going");
    for words in ["Run the tests first", "Do not ask: act"] {
        ensure!(told.iter().any(|told| told.words().contains(words)), "the model was told {told:?}");
    }
    ensure!(asks(&events) == 0, "a person was asked");
    Ok("the model read `Run the tests first`, went on in the same turn, and read `Do not ask: act`"
        .to_owned())
}
