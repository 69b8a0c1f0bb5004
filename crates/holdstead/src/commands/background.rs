//! A gateway that nobody sits before: found, or started, so that an agent goes on when its terminal is closed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use holdstead_client::Http;
use tokio::process::{Child, Command};

use super::io;
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;

/// How long a gateway may take to answer. It serves at once, but a database may have to be brought up to date first.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
/// How much of the log is repeated when it did not start.
const LAST_WORDS: usize = 5;

/// The gateway that the flags name, or that of this folder if it runs.
pub(super) async fn find(common: &Common) -> Result<Option<Http>, Failure> {
    if common.url.is_some() {
        return connect(common).map(Some);
    }
    let Ok(client) = connect(common) else { return Ok(None) };
    Ok(client.ready().await.is_ok().then_some(client))
}

/// The same, which is started if it does not run.
pub(super) async fn ensure(common: &Common, places: &Places) -> Result<Http, Failure> {
    match find(common).await? {
        Some(client) => Ok(client),
        None => start(common, places).await,
    }
}

/// Starts it, and waits until it answers. Where two commands do that at the same moment, the second gateway finds the lock
/// taken and goes: either will do.
pub(super) async fn start(common: &Common, places: &Places) -> Result<Http, Failure> {
    places.make()?;
    let mut child = spawn(common, places)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(client) = connect(common)
            && client.ready().await.is_ok()
        {
            // Ours may still wait for the lock, and would take it when the other gateway is stopped.
            if places.lock_holder() != child.id() {
                // It may have gone already.
                drop(child.kill().await);
            }
            return Ok(client);
        }
        let gone = child.try_wait().map_err(io("see whether the gateway runs"))?.is_some();
        if gone && !places.is_locked() {
            return Err(Failure::NotDone(format!("The gateway did not start: {}", last_words(places))));
        }
        if Instant::now() >= deadline {
            return Err(Failure::NotDone(format!(
                "The gateway does not answer. What it says is in {}",
                places.log_file().display()
            )));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn spawn(common: &Common, places: &Places) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(io("find this program"))?;
    let log = || {
        holdstead_store::owners_alone()
            .create(true)
            .append(true)
            .open(places.log_file())
            .map_err(io("open the gateway's log"))
    };
    let mut command = Command::new(program);
    command.args(["serve", "--background"]);
    if let Some(dir) = &common.dir {
        command.arg("--dir").arg(dir);
    }
    if let Some(store) = &common.store {
        command.arg("--store").arg(store);
    }
    command.stdin(Stdio::null()).stdout(log()?).stderr(log()?);
    command.spawn().map_err(io("start the gateway"))
}

fn last_words(places: &Places) -> String {
    let log = std::fs::read_to_string(places.log_file()).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n")
}

/// A command as it has to be typed to reach the same gateway again.
pub(super) fn again(common: &Common, command: &str) -> String {
    let mut words = format!("holdstead {command}");
    let said = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|set| set == value);
    if let Some(dir) = common.dir.as_ref().map(|dir| dir.display().to_string())
        && !said("HOLDSTEAD_DIR", &dir)
    {
        words.push_str(&format!(" --dir {dir}"));
    }
    if let Some(url) = common.url.as_ref().filter(|url| !said("HOLDSTEAD_URL", url)) {
        words.push_str(&format!(" --url {url}"));
    }
    words
}
