//! Once a person trusts the folder: its files work, and what runs is still what was approved.

use std::path::PathBuf;

use holdstead_protocol::api::{FolderFiles, TrustPage};
use holdstead_protocol::{AskChange, Delivery, Event, EventBody, NotRun, Told};
use holdstead_scripted_model::Script;
use reqwest::Method;
use serde_json::{Value, json};

use super::Played;
use super::parts::{Person, answer_all, shown};
use super::repository::{
    HAD_ITS_WAY, SERVERS, SETTINGS, SHOWN, allowing_requests, hook, put, rewriting, servers, touching,
};
use crate::claude::{Scene, Stage};
use crate::client::Client;
use crate::gateway_process::TokenFor;
use crate::responses::{APPROVE, submit};
use crate::{Result, ensure};

pub(super) fn all(stage: &Stage) -> Vec<(&'static str, Played<'_>)> {
    vec![
        ("trusted, then changed, then taken back", Box::pin(comes_and_goes(stage))),
        ("trust by an agent, a viewer, or of other files", Box::pin(nobody_else(stage))),
        ("trusted: a hook rewrites and allows", Box::pin(rewrites(stage, Some("allow"), "default"))),
        ("trusted: a hook rewrites and leaves it at that", Box::pin(rewrites(stage, None, "default"))),
        ("trusted: a hook rewrites and asks", Box::pin(rewrites(stage, Some("ask"), "default"))),
        ("trusted: a hook rewrites, in mode auto", Box::pin(rewrites(stage, None, "auto"))),
        ("trusted: a hook blocks what was approved", Box::pin(blocks(stage, hook("PreToolUse", "exit 2")))),
        (
            "trusted: a rule denies what was approved",
            Box::pin(blocks(stage, json!({"permissions": {"deny": ["Bash(touch:*)"]}}))),
        ),
        ("trusted: a hook answers for the person who approves", Box::pin(answers(stage, Person::Approves))),
        ("trusted: a hook answers for the person who denies", Box::pin(answers(stage, Person::Denies))),
        ("trusted: a hook refuses a question", Box::pin(question_refused(stage))),
        ("trusted: hooks that decide nothing, and a question", Box::pin(question_answered(stage))),
        ("trusted: all hooks are switched off", Box::pin(switched_off(stage))),
        ("trusted: a server named like ours", Box::pin(named_like_ours(stage))),
    ]
}

/// A session in a trusted folder with these settings, whose model makes the call that is shown.
async fn play(stage: &Stage, name: &str, settings: &Value, mode: &str) -> Result<(Scene, PathBuf)> {
    let folder = stage.folder(name)?;
    put(&folder, SETTINGS, &settings.to_string())?;
    stage.trust("claude", &folder).await?;
    let scene = stage.play_in(name, mode, Script::new().reply(shown()), &folder).await?;
    Ok((scene, folder))
}

async fn comes_and_goes(stage: &Stage) -> Result<String> {
    let folder = stage.folder("comes-and-goes")?;
    put(&folder, SETTINGS, &hook("SessionStart", &touching()).to_string())?;
    put(&folder, "CLAUDE.md", "Be kind.")?;
    let mut told = Vec::new();
    let mut runs = Vec::new();
    let mut taken = None;
    for step in ["closed", "trusted", "changed", "trusted again", "taken back"] {
        match step {
            "trusted" | "trusted again" => taken = Some(stage.trust("claude", &folder).await?),
            "changed" => {
                put(&folder, SETTINGS, &hook("SessionStart", &format!("{} ", touching())).to_string())?
            }
            "taken back" => {
                let id = taken.take().ok_or("nothing was trusted")?.trust_id;
                stage.person.tell(Method::DELETE, &format!("/v1/trusts/{id}")).await?;
            }
            _ => {}
        }
        let name = format!("comes-and-goes-{}", step.replace(' ', "-"));
        let said = holdstead_scripted_model::say("Done.");
        let scene = stage.play_in(&name, "default", Script::new().reply([said]), &folder).await?;
        let events = stage.finish(&scene).await?;
        runs.push(folder.join(HAD_ITS_WAY).exists());
        std::fs::remove_file(folder.join(HAD_ITS_WAY)).ok();
        told.push(
            left_out(&events).is_some_and(|words| words.contains(SETTINGS) && words.contains("CLAUDE.md")),
        );
    }
    ensure!(runs == [false, true, false, true, false], "its hook ran: {runs:?}");
    ensure!(told == [true, false, true, false, true], "the session said what was left out: {told:?}");
    Ok("ran while trusted as it was; each session without it says so".to_owned())
}

fn left_out(events: &[Event]) -> Option<&str> {
    events.iter().find_map(|event| {
        let EventBody::SessionStatus(status) = &event.body else { return None };
        status.left_out.as_ref().map(|left_out| left_out.message.as_str())
    })
}

async fn nobody_else(stage: &Stage) -> Result<String> {
    let folder = stage.folder("nobody-else")?;
    put(&folder, SETTINGS, &hook("SessionStart", &touching()).to_string())?;
    let path = format!("/v1/trusts/folder?agent=claude&folder={}", folder.display());
    let shown: FolderFiles = stage.person.get(&path).await?;
    let body = json!({"agent": "claude", "folder": shown.folder, "digest": shown.digest});
    for (name, role) in [("guest", TokenFor::Guest), ("viewer", TokenFor::Viewer)] {
        let token = stage.gateway.token(name, role).await?;
        let status = Client::new(&stage.gateway.url, &token)?.status_of("/v1/trusts", &body).await?;
        ensure!(status == 403, "a {name} trusted a folder: {status}");
    }
    put(&folder, SETTINGS, &hook("SessionStart", "touch elsewhere").to_string())?;
    let status = stage.person.status_of("/v1/trusts", &body).await?;
    ensure!(status == 409, "files that nobody was shown were trusted: {status}");
    let trusts: TrustPage = stage.person.get("/v1/trusts").await?;
    ensure!(!trusts.trusts.iter().any(|trust| trust.folder == shown.folder), "it is trusted");
    Ok("403, 403 and 409".to_owned())
}

/// What of the command ran.
fn ran(folder: &std::path::Path) -> (bool, bool) {
    (folder.join("shown").exists(), folder.join(HAD_ITS_WAY).exists())
}

fn deliveries(events: &[Event]) -> Vec<&Delivery> {
    let deliveries = events.iter().filter_map(|event| {
        let EventBody::InteractionUpdate(update) = &event.body else { return None };
        if let AskChange::Delivery { delivery } = &update.change { Some(delivery) } else { None }
    });
    deliveries.collect()
}

fn is_marked(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(&event.body, EventBody::InteractionUpdate(update)
            if matches!(update.change, AskChange::RanOtherThanApproved { .. }))
    })
}

fn requests(events: &[Event]) -> Vec<&Value> {
    let inputs = events.iter().filter_map(|event| {
        if let EventBody::InteractionRequest(request) = &event.body { Some(&request.input) } else { None }
    });
    inputs.collect()
}

async fn rewrites(stage: &Stage, decision: Option<&str>, mode: &str) -> Result<String> {
    let name = format!("rewrites-{}-{mode}", decision.unwrap_or("nothing"));
    let (scene, folder) = play(stage, &name, &rewriting(decision), mode).await?;
    answer_all(&stage.person, &scene, Person::Approves, 1).await?;
    let events = stage.person.journal(&scene.session).await?;
    stage.end(&scene).await?;
    let asked: Vec<_> = requests(&events).into_iter().filter_map(|input| input["command"].as_str()).collect();
    let other = format!("touch {HAD_ITS_WAY}");
    match ran(&folder) {
        (true, false) => Ok("ran as approved".to_owned()),
        (false, true) if asked == [SHOWN, &other] => {
            let first = Delivery::NotRun { because: NotRun::AskedAnew };
            ensure!(
                deliveries(&events).contains(&&first),
                "the first approval reads {:?}",
                deliveries(&events)
            );
            ensure!(!is_marked(&events), "it is marked, though it was approved");
            Ok("asked again as it was rewritten, then ran".to_owned())
        }
        (false, true) if asked.is_empty() && allowed(&events) == [SHOWN, &other] => {
            Ok("allowed by the mode as it was, and again as it was rewritten".to_owned())
        }
        (_, true) if is_marked(&events) => Ok("marked".to_owned()),
        ran => Err(format!("{ran:?} ran, asked was {asked:?}").into()),
    }
}

/// The commands that were allowed without asking, each with what decided it in its own event.
fn allowed(events: &[Event]) -> Vec<&str> {
    let mut allowed = Vec::new();
    for event in events {
        if let EventBody::ToolCallEnd(end) = &event.body
            && end.decision.as_ref().is_some_and(|decision| decision.told == Told::Allowed)
        {
            allowed.extend(end.input["command"].as_str());
        }
    }
    allowed
}

async fn blocks(stage: &Stage, settings: Value) -> Result<String> {
    let name = format!("blocks-{}", if settings.get("hooks").is_some() { "hook" } else { "rule" });
    let (scene, folder) = play(stage, &name, &settings, "default").await?;
    let ask = stage.decide(&scene, APPROVE).await?;
    stage.finish(&scene).await?;
    let after = stage.now(&ask).await?;
    ensure!(ran(&folder) == (false, false), "{:?} ran", ran(&folder));
    let blocked = Some(Delivery::NotRun { because: NotRun::Blocked });
    ensure!(after.delivery == blocked, "the receipt reads {:?}", after.delivery);
    Ok("the receipt says: blocked, did not run".to_owned())
}

async fn answers(stage: &Stage, person: Person) -> Result<String> {
    let name = format!("answers-{person:?}").to_lowercase();
    let (scene, folder) = play(stage, &name, &allowing_requests(), "default").await?;
    answer_all(&stage.person, &scene, person, 1).await?;
    let events = stage.person.journal(&scene.session).await?;
    stage.end(&scene).await?;
    match (person, ran(&folder)) {
        (Person::Approves, (true, false)) => Ok("ran as approved".to_owned()),
        (Person::Denies, (false, false)) => Ok("did not run".to_owned()),
        (_, (_, true)) if is_marked(&events) && person == Person::Approves => {
            Ok("ran otherwise, and is marked".to_owned())
        }
        (_, ran) => Err(format!("{ran:?} ran").into()),
    }
}

fn asks() -> Script {
    let options = json!([{"label": "Teal", "description": ""}, {"label": "Amber", "description": ""}]);
    let one =
        json!({"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": options});
    let call = holdstead_scripted_model::call("AskUserQuestion", json!({ "questions": [one] }));
    Script::new().reply([call]).reply([holdstead_scripted_model::say("Go on.")])
}

/// All hooks run at once. A person who was asked meanwhile would have answered for nothing.
async fn question_refused(stage: &Stage) -> Result<String> {
    let folder = stage.folder("question-refused")?;
    put(&folder, SETTINGS, &hook("PreToolUse", "echo no questions >&2; exit 2").to_string())?;
    stage.trust("claude", &folder).await?;
    let scene = stage.play_in("question-refused", "default", asks(), &folder).await?;
    let events = stage.finish(&scene).await?;
    ensure!(requests(&events).is_empty(), "a person was asked what the hook refused");
    let told = stage.told("question-refused");
    ensure!(told.iter().any(|told| told.words().contains("no questions")), "the model was told {told:?}");
    Ok("no person was asked".to_owned())
}

async fn question_answered(stage: &Stage) -> Result<String> {
    let folder = stage.folder("question-answered")?;
    put(&folder, SETTINGS, &hook("PreToolUse", "sleep 1").to_string())?;
    stage.trust("claude", &folder).await?;
    let scene = stage.play_in("question-answered", "default", asks(), &folder).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    stage.person.win(&ask, submit(&json!({"q1": "Teal"}))).await?;
    stage.finish(&scene).await?;
    let after = stage.now(&ask).await?;
    ensure!(after.delivery == Some(Delivery::Acknowledged), "the receipt reads {:?}", after.delivery);
    let told = stage.told("question-answered");
    ensure!(told.iter().any(|told| told.words().contains("Teal")), "the model was told {told:?}");
    Ok("its model has the answer".to_owned())
}

async fn switched_off(stage: &Stage) -> Result<String> {
    let settings =
        json!({"disableAllHooks": true, "permissions": {"allow": ["Bash"], "defaultMode": "acceptEdits"}});
    let (scene, folder) = play(stage, "switched-off", &settings, "default").await?;
    let asked = answer_all(&stage.person, &scene, Person::Denies, 1).await?;
    stage.end(&scene).await?;
    ensure!(asked == 1 && ran(&folder) == (false, false), "asked {asked} times, {:?} ran", ran(&folder));
    Ok("asked all the same, and denied".to_owned())
}

async fn named_like_ours(stage: &Stage) -> Result<String> {
    let folder = stage.folder("named-like-ours")?;
    put(&folder, SERVERS, &servers("holdstead").to_string())?;
    stage.trust("claude", &folder).await?;
    let call =
        holdstead_scripted_model::call("mcp__holdstead__ask_user", json!({"question": "Which colour?"}));
    let scene = stage.play_in("named-like-ours", "default", Script::new().reply([call]), &folder).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    stage.person.win(&ask, submit(&json!({"answer": "blue"}))).await?;
    stage.finish(&scene).await?;
    ensure!(!folder.join(HAD_ITS_WAY).exists(), "it was started");
    Ok("ours was called, the other one never started".to_owned())
}
