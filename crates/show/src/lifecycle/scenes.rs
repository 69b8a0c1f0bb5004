//! What each of them looks like.

use holdstead_protocol::api::{Interaction, Session};
use holdstead_protocol::{
    Delivery, Event, EventBody, NotRun, ResponseDraft, SessionInitialised, VariableValue, Variables,
};
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};

use super::{CONTEXT, END_RULE};
use crate::claude::{Scene, Stage};
use crate::client::Client;
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};

const APPROVE: ResponseDraft = ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };

fn starts(events: &[Event]) -> Vec<&SessionInitialised> {
    let starts = events.iter().filter_map(|event| {
        let EventBody::SessionInitialised(start) = &event.body else { return None };
        Some(start)
    });
    starts.collect()
}

fn asks(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count()
}

/// A session in a folder of its own, with these variables.
async fn open(stage: &Stage, name: &str, variables: Value, script: Script) -> Result<Scene> {
    let folder = stage.home().join("projects").join(name);
    std::fs::create_dir_all(&folder)?;
    let open = json!({"agent": "claude", "cwd": folder, "title": name, "variables": variables});
    stage.open(name, &open, script).await
}

fn touch() -> Script {
    Script::new().reply([call("Bash", json!({"command": "touch ran.txt", "description": "Leaves a mark"}))])
}

pub(super) async fn starts_once(stage: &mut Stage) -> Result<String> {
    let folder = stage.home().join("projects/starts-once");
    std::fs::create_dir_all(&folder)?;
    let open = json!({"agent": "claude", "cwd": folder, "title": "starts-once"});
    let session: Session = stage.person.post("/v1/sessions", &open).await?;
    let session = session.session_id.to_string();
    ensure!(starts(&stage.person.journal(&session).await?).is_empty(), "it started before its first message");
    stage.gateway.kill_now().await?;
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
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

pub(super) async fn variables(stage: &Stage) -> Result<String> {
    let scene =
        open(stage, "variables", json!({"phase": "build"}), Script::new().reply([say("Done.")])).await?;
    let events = stage.person.done(&scene.session).await?;
    let [start] = starts(&events)[..] else { return Err("it did not start once".into()) };
    let default = Variables::from([("keep_going".to_owned(), VariableValue::Flag(false))]);
    ensure!(start.defaults == default, "its defaults are {:?}", start.defaults);
    let path = format!("/v1/sessions/{}/variables", scene.session);
    let body = json!({"variables": {"phase": "release", "count": 2}});
    let now: Session = stage.person.put(&path, &body).await?;
    ensure!(now.variables.len() == 2, "it has {:?}", now.variables);
    let token = stage.gateway.token("its-agent", TokenFor::Agent(&scene.session)).await?;
    let agent = Client::new(&stage.gateway.url, &token)?;
    let refused: Result<Session> = agent.put(&path, &json!({"variables": {"phase": "build"}})).await;
    ensure!(
        refused.is_err_and(|error| error.to_string().contains("403")),
        "an agent's token was not refused"
    );
    stage.end(&scene).await?;
    Ok("default, opening and PUT count; 403 for the agent's token".to_owned())
}

pub(super) async fn before_a_tool(stage: &Stage) -> Result<String> {
    let scene = open(stage, "before-a-tool", json!({}), touch()).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    stage.person.win(&ask, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    let mark = scene.folder.join("ran.txt");
    ensure!(mark.exists(), "what was approved did not run");
    std::fs::remove_file(&mark)?;
    let path = format!("/v1/sessions/{}/variables", scene.session);
    let _: Session = stage.person.put(&path, &json!({"variables": {"phase": "release"}})).await?;
    stage.send(&scene, "in-a-release", touch()).await?;
    let events = stage.person.turns(&scene.session, 2).await?;
    stage.end(&scene).await?;
    ensure!(!mark.exists() && asks(&events) == 1, "it ran, or somebody was asked: {} asks", asks(&events));
    let told = stage.told("in-a-release");
    let reason = "Nothing is written in a release";
    ensure!(told.iter().any(|told| told.words().contains(reason)), "the model was told {told:?}");
    Ok(format!("without the variable a person was asked; with it the model read `{reason}`"))
}

pub(super) async fn end_and_question(stage: &Stage) -> Result<(String, String)> {
    let question = json!({"questions": [{"question": "Shall I?", "header": "Go", "multiSelect": false,
        "options": [{"label": "Yes", "description": "Go"}, {"label": "No", "description": "Stay"}]}]});
    let script = Script::new().reply([say("I am done.")]).reply([call("AskUserQuestion", question)]);
    let variables = json!({"keep_going": true, "task_claimed": true});
    let scene = open(stage, "kept-going", variables, script).await?;
    let events = stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
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
    Ok((
        "the model read `Run the tests first` and went on in the same turn".to_owned(),
        "the model read `Do not ask: act`, and nobody was asked".to_owned(),
    ))
}

/// The scripted agent: its start and its calls are the same, its wire cannot carry the end of a turn.
pub(super) async fn other_agent(stage: &Stage) -> Result<String> {
    let open = json!({"agent": "scripted", "variables": {"phase": "release"}});
    let session: Session = stage.person.post("/v1/sessions", &open).await?;
    let session = session.session_id.to_string();
    stage.person.say(&session, "approve Bash {\"command\":\"touch ran.txt\"}\nsay Hello").await?;
    let events = stage.person.done(&session).await?;
    let [start] = starts(&events)[..] else { return Err("it did not start once".into()) };
    let not_kept: Vec<_> = start.not_kept.iter().map(|rule| rule.text.as_str()).collect();
    ensure!(not_kept == [END_RULE], "not kept: {not_kept:?}");
    ensure!(asks(&events) == 0, "a person was asked");
    let said = serde_json::to_string(&events)?;
    ensure!(said.contains("Nothing is written in a release"), "it was not told the reason");
    ensure!(said.matches(CONTEXT).count() >= 2, "it was not told the context");
    Ok("told the same, denied the same; the journal says once that it cannot be kept from ending its turn"
        .to_owned())
}

pub(super) async fn own_hook(stage: &Stage) -> Result<String> {
    let folder = stage.home().join("projects/own-hook");
    std::fs::create_dir_all(folder.join(".claude"))?;
    let hook = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "exit 2"}]}]}});
    std::fs::write(folder.join(".claude/settings.json"), hook.to_string())?;
    let files: Value =
        stage.person.get(&format!("/v1/trusts/folder?agent=claude&folder={}", folder.display())).await?;
    let trust = json!({"agent": "claude", "folder": files["folder"], "digest": files["digest"]});
    let _: Value = stage.person.post("/v1/trusts", &trust).await?;
    let scene = stage.play_in("own-hook", "default", touch(), &folder).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    stage.person.win(&ask, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    let after: Interaction =
        stage.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
    stage.end(&scene).await?;
    ensure!(!folder.join("ran.txt").exists(), "it ran");
    let blocked = Some(Delivery::NotRun { because: NotRun::Blocked });
    ensure!(after.delivery == blocked, "the receipt reads {:?}", after.delivery);
    Ok("it did not run, and the receipt says so".to_owned())
}
