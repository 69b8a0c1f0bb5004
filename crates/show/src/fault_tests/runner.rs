//! The real Claude Code on a machine of its own: its gateway is killed, its network is cut, the runner is killed.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use holdstead_protocol::api::Runners;
use holdstead_protocol::{EventBody, ProcessChange};
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Child;
use tokio::time::sleep;

use crate::cable::Cable;
use crate::claude::{MARKS, Scene, Stage, mark};
use crate::gateway_process::TokenFor;
use crate::responses::APPROVE;
use crate::{Result, ensure, processes, runner_process};

const NAME: &str = "laptop";
/// The session whose runner is killed.
const LOST: &str = "killed-runner";
/// How often its model makes the call, at most.
const TRIES: usize = 10;
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a call runs: long enough for what is killed meanwhile to be back.
const RUNS: u64 = 6;

pub(crate) async fn show() -> Result<String> {
    let seconds = std::env::args().nth(3).map_or(Ok(120), |text| text.parse())?;
    let begin = Instant::now();
    let cable = Cable::new().await?;
    let mut stage = Stage::reached_at("1h", &cable.address.to_string()).await?;
    let gateway = stage.gateway.url.trim_start_matches("http://").parse()?;
    cable.lead_to(&[gateway]);
    let token = stage.gateway.token(NAME, TokenFor::Runner).await?;
    let folder = TempDir::new_in(stage.home())?;
    let mut runner = start(&stage, &cable, &token, folder.path())?;
    runner_process::connected(&stage.person, &[NAME]).await?;

    typed_here(&stage).await?;
    println!(
        "`run` on the gateway's own machine, without `--runner`: its agent ran there, and not on {NAME}"
    );

    let scene = play(&stage, "killed-gateway").await?;
    stage.decide(&scene, APPROVE).await?;
    until_it_runs(&scene).await?;
    stage.gateway.kill_now().await?;
    ensure!(agents(&stage, &runner)? > 0, "the agent went with the gateway");
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    stage.person.done(&scene.session).await?;
    finished(&stage, &scene, 1).await?;
    println!("kill -9 of the gateway while a call ran: the turn went on and ended, in the same process");

    let scene = play(&stage, "cut-while-it-runs").await?;
    let waiting = play(&stage, "cut-while-it-waits").await?;
    let ask = stage.person.open_ask(&waiting.session, "approval").await?;
    stage.decide(&scene, APPROVE).await?;
    until_it_runs(&scene).await?;
    cable.cut();
    stage.person.win(&ask, APPROVE).await?;
    let cut = Instant::now();
    sleep(Duration::from_secs(seconds)).await;
    ensure!(agents(&stage, &runner)? > 0, "the agents went with the network");
    ensure!(waiting.marks().is_empty(), "something ran that the machine was never told of");
    cable.lead_to(&[gateway]);
    let mended = Instant::now();
    stage.person.done(&waiting.session).await?;
    let after = mended.elapsed();
    finished(&stage, &waiting, 1).await?;
    stage.person.done(&scene.session).await?;
    finished(&stage, &scene, 1).await?;
    println!(
        "no network for {:.0} s, answered meanwhile: the answer arrived and its call was over {:.1} s after the network \
         was back (the call takes {RUNS} s); a turn that ran went on; both in the same process",
        cut.elapsed().as_secs_f64() - after.as_secs_f64(),
        after.as_secs_f64()
    );

    let scene = play(&stage, LOST).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    runner.kill().await?;
    for _ in 0..100 {
        if agents(&stage, &runner)? == 0 {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    ensure!(agents(&stage, &runner)? == 0, "agents outlived their runner");
    stage.person.win(&ask, APPROVE).await?;
    let mut runner = start(&stage, &cable, &token, folder.path())?;
    stage.person.done(&scene.session).await?;
    finished(&stage, &scene, 2).await?;
    println!(
        "kill -9 of the runner while a person was asked: answered; started again, its second process ran what was approved"
    );

    runner.kill().await?;
    stage.stop().await?;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    Ok(format!(
        "4 of 4 answers reached the real Claude Code on its own machine, each call ran once: gateway killed, network cut for \
         {seconds} s, runner killed; turns went on through the first two"
    ))
}

fn start(stage: &Stage, cable: &Cable, token: &str, folder: &Path) -> Result<Child> {
    let command = stage.gateway.command_here("runner")?;
    runner_process::start_by(command, folder, &format!("http://{}", cable.address), token)
}

/// A person at the gateway's own machine, in a folder that only it has.
async fn typed_here(stage: &Stage) -> Result<()> {
    let name = "typed-here";
    let folder = stage.folder(name)?;
    stage.model.script(name, Script::new().reply([call("Bash", mark(name))]).reply([say("That was it.")]));
    let mut run = stage.gateway.command_here("run")?;
    run.args(["claude", &format!("Please go on.\nscript: {name}"), "--no-open", "--json"]);
    run.arg("--dir").arg(stage.gateway.folder()).current_dir(&folder).stdin(Stdio::null());
    let output = run.output().await?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`run` ended with {}: {words}", output.status);
    let began: Value = serde_json::from_slice(&output.stdout)?;
    let session = began["session"].as_str().ok_or("`run` named no session")?.to_owned();
    let scene = Scene { name: name.to_owned(), session, folder };
    stage.decide(&scene, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    let listed: Runners = stage.person.get("/v1/runners").await?;
    let count: Vec<_> = listed.runners.iter().map(|one| (one.name.as_str(), one.sessions)).collect();
    ensure!(count == [("gateway", Some(1)), (NAME, Some(0))], "the agents are at {count:?}");
    ensure!(scene.marks() == format!("{name}\n"), "its call left {:?}", scene.marks());
    stage.end(&scene).await
}

async fn play(stage: &Stage, name: &str) -> Result<Scene> {
    let run = || {
        let command = format!(
            "echo begun >> {MARKS}; sleep {RUNS}; echo done >> {MARKS}; echo {name} left $(wc -l < {MARKS}) marks"
        );
        call("Bash", json!({"command": command, "description": "Leaves marks"}))
    };
    let mut script = Script::new().reply([say("I need a person."), run()]);
    if name == LOST {
        // Its process dies with the call, and may ask its model a few times more while it dies. The next one's model is told
        // in words that the call was approved, and makes it again.
        script = (0..TRIES).fold(script, |script, _| script.reply([run()])).until(outcome(name));
    }
    let script = script.reply([say("That was it.")]);
    let open = json!({ "agent": "claude", "cwd": stage.folder(name)?, "title": name, "runner": NAME });
    stage.open(name, &open, script).await
}

/// What only the call that ran can tell a model.
fn outcome(name: &str) -> String {
    format!("{name} left 2 marks")
}

async fn until_it_runs(scene: &Scene) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if scene.marks().contains("begun") {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err(format!("the call of {} never ran", scene.name).into())
}

/// Its call ran once, its model was told so, and it had so many processes.
async fn finished(stage: &Stage, scene: &Scene, processes: usize) -> Result<()> {
    let marks = scene.marks();
    ensure!(marks == "begun\ndone\n", "the call of {} left {marks:?}", scene.name);
    let told = format!("{:?}", stage.told(&scene.name));
    ensure!(told.contains(&outcome(&scene.name)), "its model was told {told}");
    let events = stage.person.journal(&scene.session).await?;
    let starts = |body: &EventBody| matches!(body, EventBody::SessionStatus(status) if matches!(status.process(), Some(ProcessChange::Began { .. })));
    let started = events.iter().filter(|event| starts(&event.body)).count();
    ensure!(started == processes, "{} had {started} processes, and not {processes}", scene.name);
    Ok(())
}

/// What the runner started.
fn agents(stage: &Stage, runner: &Child) -> Result<usize> {
    let ours = [stage.gateway.pid(), runner.id()];
    let all = processes::with_home(stage.home())?;
    Ok(all.iter().filter(|process| !ours.contains(&Some(process.pid))).count())
}
