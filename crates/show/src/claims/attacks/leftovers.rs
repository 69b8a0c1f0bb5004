//! Processes that an agent leaves behind, to take the gateway's port when the gateway is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use holdstead_scripted_model::{Script, call};
use serde_json::json;
use tokio::process::Command;
use tokio::time::sleep;

use super::{Attempts, Outcome};
use crate::claude::{Boxed, Stage};
use crate::responses::APPROVE;
use crate::{Result, ensure, processes};

const TOPIC: &str = "leftovers";
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a process may outlive its gateway.
const MOMENT: Duration = Duration::from_secs(2);

/// How many milliseconds it may have the port before it ends. A page comes back after 300.
const INSTANT_MS: u64 = 50;

/// Waits for the port, and says so. Until then it writes the time into a file, so that it is seen to be alive.
const SQUATTER: &str = r"import ctypes, socket, sys, time
port = int(sys.argv[1])
if len(sys.argv) > 2:
    ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
end = time.time() + 60
while time.time() < end:
    open('alive', 'w').write(str(time.time()))
    try:
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(('127.0.0.1', port))
        taken.listen()
        begin = time.time()
        while time.time() < end:
            open('alive', 'w').write(str(time.time()))
            open('taken', 'w').write(str(int((time.time() - begin) * 1000)))
            time.sleep(.002)
    except OSError:
        time.sleep(.005)
";

/// What ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The gateway is asked to.
    Stop,
    Kill,
    /// `kill -9` of the gateway and of the process that it started for the agent, at once.
    KillWithHost,
}

struct Attempt {
    name: &'static str,
    /// What the approved command does, with the squatter's own words at the end.
    command: &'static str,
    more: &'static str,
    end: End,
}

const fn attempt(name: &'static str, command: &'static str, more: &'static str, end: End) -> Attempt {
    Attempt { name, command, more, end }
}

const AWAY: &str = "(setsid SQUAT &)";
const ATTEMPTS: [Attempt; 7] = [
    attempt("double fork and setsid, the gateway is stopped", AWAY, "", End::Stop),
    attempt("double fork and setsid, kill -9 of the gateway", AWAY, "", End::Kill),
    attempt("double fork and setsid, kill -9 of gateway and host", AWAY, "", End::KillWithHost),
    attempt("without its environment, kill -9 of the gateway", "(setsid env -i SQUAT &)", "", End::Kill),
    attempt(
        "without its environment, kill -9 of gateway and host",
        "(setsid env -i SQUAT &)",
        "",
        End::KillWithHost,
    ),
    attempt("under another name", "(setsid bash -c 'exec -a sshd SQUAT' &)", "sshd", End::Kill),
    attempt(
        "it kills what is between it and the gateway first",
        "(setsid SQUAT &); sleep .2; p=$$; while p=$(cut -d' ' -f4 /proc/$p/stat) && [ $p -gt 1 ] && [ $p != GATEWAY ]; do up=\"$up $p\"; done; \
         kill -9 $up; for p in $up; do kill -9 $p; done",
        "",
        End::Kill,
    ),
];

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    for setting in ["bubblewrap", "landlock"] {
        for attempt in &ATTEMPTS {
            let outcome = squat(setting, attempt).await;
            attempts.record(TOPIC, &format!("{setting}: {}", attempt.name), outcome);
        }
        let outcome = innocent(setting).await;
        attempts.record(TOPIC, &format!("{setting}: a process that names the session is killed"), outcome);
    }
    Ok(())
}

async fn stage(setting: &'static str) -> Result<Stage> {
    Stage::boxed("60s", Boxed { setting, bare: false }).await
}

async fn squat(setting: &'static str, attempt: &Attempt) -> Result<Outcome> {
    let mut stage = stage(setting).await?;
    let folder = stage.folder("squat")?;
    let port = stage.gateway.url.rsplit(':').next().ok_or("it has no port")?.to_owned();
    std::fs::write(folder.join("squat.py"), SQUATTER)?;
    let python = String::from_utf8(
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().await?.stdout,
    )?;
    let words = format!("{} squat.py {port} {}", python.trim(), attempt.more);
    let gateway = stage.gateway.pid().ok_or("the gateway is gone")?;
    let command = attempt.command.replace("SQUAT", words.trim()).replace("GATEWAY", &gateway.to_string());
    std::fs::write(folder.join("go.sh"), format!("{command} > /dev/null 2>&1 < /dev/null\n"))?;
    let script = Script::new().reply([call("Bash", json!({ "command": "bash go.sh" }))]);
    let scene = stage.play_in("squat", "default", script, &folder).await?;
    stage.decide(&scene, APPROVE).await?;
    wait_for(&folder.join("alive")).await?;
    // Some attempts go on for a moment.
    sleep(Duration::from_millis(500)).await;
    match attempt.end {
        End::Stop => stage.gateway.stop_for_now().await?,
        End::Kill => stage.gateway.kill_now().await?,
        End::KillWithHost => {
            let mut both = processes::children(gateway)?;
            ensure!(!both.is_empty(), "its host was not found");
            both.push(gateway);
            processes::signal("-KILL", &both)?;
            stage.gateway.kill_now().await?;
        }
    }
    sleep(MOMENT).await;
    let said = std::fs::read_to_string(folder.join("alive"))?;
    sleep(Duration::from_millis(200)).await;
    // It has this moment between the end of a killed gateway and its own.
    let had_it = std::fs::read_to_string(folder.join("taken")).ok().map(|had| had.parse().unwrap_or(0));
    if let Some(had_it) = had_it.filter(|had_it| *had_it > INSTANT_MS) {
        // It would wait there for the person's page: the next scene must not find it.
        end_all(&stage)?;
        return Ok(Outcome::Succeeded(format!("it had the gateway's port for {had_it} ms")));
    }
    if std::fs::read_to_string(folder.join("alive"))? != said {
        end_all(&stage)?;
        return Ok(Outcome::Succeeded("it runs on".to_owned()));
    }
    let left = processes::with_home(stage.home())?.len();
    ensure!(left == 0, "{left} processes of the agent are left");
    Ok(Outcome::Held(match had_it {
        None => "it ended, and never had the port".to_owned(),
        Some(had_it) => format!("it ended, and had the port for {had_it} ms"),
    }))
}

/// What is left after an attempt that succeeded is found by its home or its words.
fn end_all(stage: &Stage) -> Result<()> {
    let port = stage.gateway.url.rsplit(':').next().unwrap_or_default();
    let squatters = processes::with_words(&["squat.py", port])?;
    let all: Vec<_> =
        processes::with_home(stage.home())?.iter().map(|process| process.pid).chain(squatters).collect();
    if all.is_empty() {
        return Ok(());
    }
    // Some end by themselves meanwhile.
    drop(processes::signal("-KILL", &all));
    Ok(())
}

/// A person looks for a session by its id, while its agent is ended by a new gateway.
async fn innocent(setting: &'static str) -> Result<Outcome> {
    let mut stage = stage(setting).await?;
    let script = Script::new().reply([call("Bash", json!({ "command": "echo done" }))]);
    let scene = stage.play("innocent", "default", script).await?;
    stage.person.open_ask(&scene.session, "approval").await?;
    let life = format!("{}/1", scene.session);
    let mut command = Command::new("tail");
    command.args(["-f", "/dev/null", "--"]).arg(&life).kill_on_drop(true);
    // `tail` complains of a file that is not there, and goes on.
    let quiet = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut innocent = quiet.spawn()?;
    stage.restart().await?;
    stage.person.open_ask(&scene.session, "approval").await?;
    stage.end(&scene).await?;
    let ended = innocent.try_wait()?;
    stage.stop().await?;
    Ok(match ended {
        Some(status) => Outcome::Succeeded(format!("it was ended: {status}")),
        None => Outcome::Held("it runs on".to_owned()),
    })
}

async fn wait_for(file: &Path) -> Result<()> {
    let begin = Instant::now();
    while !file.exists() {
        ensure!(begin.elapsed() < PATIENCE, "the command never ran");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
