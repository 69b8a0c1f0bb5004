//! Conversations that were parked one to three times and started again in every way, beside one that never was: each
//! request that reaches the model has the same words.

use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_protocol::api::{Interaction, Session};
use holdstead_protocol::{Event, EventBody};
use holdstead_scripted_model::{Script, call, say};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Child;

use super::transcripts::{Harm, harm, words};
use crate::claude::{Scene, Stage, mark};
use crate::gateway_process::{TokenFor, signal};
use crate::responses::APPROVE;
use crate::waiting::until;
use crate::{Result, ensure, runner_process};

const TURNS: usize = 3;
const AT_ONCE: usize = 3;
const RUNNER: &str = "laptop";
/// What Claude Code itself says to its model when it goes on after a call that was parked.
const GOES_ON: &str = "Continue from where you left off.";

/// A session's name, whether it is on a machine of its own, and what happens to it.
const LANES: [(&str, bool, Harm); 7] = [
    ("left alone", false, Harm::None),
    ("deleted", false, Harm::Deleted),
    ("with other words", false, Harm::OtherWords),
    ("with more words", false, Harm::MoreWords),
    ("aged", false, Harm::Aged),
    ("left alone on a runner", true, Harm::None),
    ("deleted on a runner", true, Harm::Deleted),
];

struct Lane {
    scene: Scene,
    harm: Harm,
}

pub(super) async fn remembers(next_version: Option<PathBuf>) -> Result<String> {
    let never = Stage::new("1h").await?;
    let lane = open(&never, "never parked", false, Harm::None).await?;
    for turn in 1..=TURNS {
        says(&never, &lane, &format!("asks {turn}")).await?;
        let ask = never.person.open_ask(&lane.scene.session, "approval").await?;
        answers(&never, &lane, &ask, turn).await?;
    }
    ends(&never, &lane).await?;
    let expected = requests(&never, &lane)?;
    never.stop().await?;

    let mut stage = Stage::new("0s").await?;
    let token = stage.gateway.token(RUNNER, TokenFor::Runner).await?;
    let folder = TempDir::new_in(stage.home())?;
    let mut runner = start_runner(&stage, folder.path(), &token).await?;
    let mut lanes = Vec::new();
    for (name, afar, harm) in LANES {
        lanes.push(open(&stage, name, afar, harm).await?);
    }
    for turn in 1..=TURNS {
        let played = stream::iter(&lanes).map(|lane| parked_turn(&stage, lane, turn));
        played.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        let how = match turn {
            1 => {
                signal("-TERM", runner.id().ok_or("no runner")?)?;
                runner.wait().await?;
                stage.gateway.stop_for_now().await?;
                "stopped"
            }
            2 => {
                runner.kill().await?;
                stage.gateway.kill_now().await?;
                "killed"
            }
            _ => {
                runner.kill().await?;
                stage.gateway.stop_for_now().await?;
                next_version.iter().for_each(|program| stage.gateway.replace(program.clone()));
                if next_version.is_some() { "followed by its next version" } else { "stopped again" }
            }
        };
        println!("parked {turn} times; the gateway is {how}, and the runner with it");
        stage.gateway.serve_again().await?;
        stage.person.ready().await?;
        runner = start_runner(&stage, folder.path(), &token).await?;
    }
    let (mut forgotten, mut invented, mut own) = (0, 0, 0);
    for lane in &lanes {
        let name = &lane.scene.name;
        let events = ends(&stage, lane).await?;
        ensure!(lane.scene.marks() == "mark\n".repeat(TURNS), "{name}: {:?} ran", lane.scene.marks());
        let told = events.iter().any(|event| {
            matches!(&event.body, EventBody::Error(error) if error.message.contains("had changed it"))
        });
        let changed = matches!(lane.harm, Harm::OtherWords | Harm::MoreWords);
        ensure!(told == changed, "{name}: people were told that it was changed: {told}");
        for (wanted, got) in expected.iter().zip(requests(&stage, lane)?) {
            let (kept, added): (Vec<_>, Vec<_>) = got.into_iter().partition(|words| !words.contains(GOES_ON));
            own += added.len();
            let missing =
                |of: &[String], from: &[String]| of.iter().filter(|words| !from.contains(words)).count();
            let (lost, new) = (missing(wanted, &kept), missing(&kept, wanted));
            if lost + new > 0 || *wanted != kept {
                println!("{name}: {kept:#?}\ninstead of {wanted:#?}");
            }
            forgotten += lost;
            invented += new + usize::from(lost + new == 0 && *wanted != kept);
        }
        stage.end(&lane.scene).await?;
        let copies =
            [stage.gateway.folder().join("conversations"), folder.path().join("runner-conversations")];
        until(&format!("the copies of {name} are gone"), async || {
            let left = copies.iter().any(|copies| copies.join(&lane.scene.session).exists());
            Ok((!left).then_some(()))
        })
        .await?;
    }
    runner.kill().await?;
    stage.stop().await?;
    ensure!(forgotten + invented == 0, "{forgotten} messages forgotten, {invented} invented");
    Ok(format!(
        "{} conversations parked {TURNS} times, stopped, killed and followed by another, on 2 machines, transcripts deleted \
         and changed: {} requests have the words of one that was never parked, 0 forgotten, 0 invented (Claude Code's own \
         line `{GOES_ON}` stands {own} times in them)",
        LANES.len(),
        LANES.len() * expected.len()
    ))
}

async fn start_runner(stage: &Stage, folder: &Path, token: &str) -> Result<Child> {
    let command = stage.gateway.command_here("runner")?;
    let runner = runner_process::start_by(command, folder, &stage.gateway.url, token)?;
    runner_process::connected(&stage.person, &[RUNNER]).await?;
    Ok(runner)
}

async fn open(stage: &Stage, name: &str, afar: bool, harm: Harm) -> Result<Lane> {
    for turn in 1..=TURNS {
        let asks = Script::new().reply([say("I need a person."), call("Bash", mark("mark"))]);
        stage.model.script(format!("asks {turn}"), asks.reply([say(format!("That was call {turn}."))]));
        let remembers = Script::new().reply([say(format!("I remember word {turn}."))]);
        stage.model.script(format!("remembers {turn}"), remembers);
    }
    stage.model.script("ends", Script::new().reply([say("That was all.")]));
    let machine = if afar { RUNNER } else { "gateway" };
    let body = json!({ "agent": "claude", "cwd": stage.folder(name)?, "title": name, "runner": machine });
    let session: Session = stage.person.post("/v1/sessions", &body).await?;
    let scene =
        Scene { name: name.to_owned(), session: session.session_id.to_string(), folder: stage.folder(name)? };
    Ok(Lane { scene, harm })
}

async fn says(stage: &Stage, lane: &Lane, script: &str) -> Result<()> {
    stage.person.say(&lane.scene.session, &format!("The code word is plum.\nscript: {script}")).await
}

async fn parked_turn(stage: &Stage, lane: &Lane, turn: usize) -> Result<()> {
    says(stage, lane, &format!("asks {turn}")).await?;
    let ask = stage.until_parked(&lane.scene).await?;
    harm(lane.harm, stage.home(), &lane.scene.name)?;
    answers(stage, lane, &ask, turn).await
}

async fn answers(stage: &Stage, lane: &Lane, ask: &Interaction, turn: usize) -> Result<()> {
    stage.person.win(ask, APPROVE).await?;
    stage.person.turns(&lane.scene.session, 2 * turn - 1).await?;
    says(stage, lane, &format!("remembers {turn}")).await?;
    stage.person.turns(&lane.scene.session, 2 * turn).await.map(drop)
}

async fn ends(stage: &Stage, lane: &Lane) -> Result<Vec<Event>> {
    says(stage, lane, "ends").await?;
    stage.person.turns(&lane.scene.session, 2 * TURNS + 1).await
}

/// The words of each request with which a message of a person reached the model.
fn requests(stage: &Stage, lane: &Lane) -> Result<Vec<Vec<String>>> {
    let names = (1..=TURNS).map(|turn| format!("remembers {turn}")).chain(["ends".to_owned()]);
    let place = format!("/projects/{}\\n", lane.scene.name);
    names
        .map(|name| {
            let said = format!("script: {name}");
            let bodies = stage.model.bodies();
            let ours =
                bodies.iter().filter(|body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
            let mut ours = ours.filter(|body| body.to_string().contains(&place)).map(words);
            let found = ours.find(|words| words.iter().any(|words| words.contains(&said)));
            found.ok_or_else(|| format!("{}: no request has `{said}`", lane.scene.name).into())
        })
        .collect()
}
