//! A runner as a process of its own, as somebody starts it on their machine.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use holdstead_protocol::api::Runners;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::client::Client;
use crate::gateway_process::{AGENTS_USER, program};
use crate::{Result, processes};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn start(folder: &Path, gateway: &str, token: &str) -> Result<Child> {
    let mut command = Command::new(program()?);
    command.arg("runner");
    start_by(command, folder, gateway, token)
}

/// The same, by a command that has begun with `holdstead runner`.
pub(crate) fn start_by(mut command: Command, folder: &Path, gateway: &str, token: &str) -> Result<Child> {
    let log = File::options().create(true).append(true).open(folder.join("log.txt"))?;
    command.arg("--dir").arg(folder).args(["--gateway", gateway]).env("HOLDSTEAD_TOKEN", token);
    if processes::as_root() {
        command.env(AGENTS_USER, "root");
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command.kill_on_drop(true).spawn()?)
}

/// Waits until all of these are.
pub(crate) async fn connected(person: &Client, names: &[&str]) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let listed: Runners = person.get("/v1/runners").await?;
        if names.iter().all(|name| listed.runners.iter().any(|runner| runner.name == *name)) {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err("a runner never connected".into())
}
