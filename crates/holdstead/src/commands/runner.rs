//! Run agents on this machine for a gateway elsewhere.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdstead_client::dial_runner;
use holdstead_core::EndedBy;
use holdstead_gateway::{Ended, Runner, Wire};

use super::own_terminals::codex;
use super::print_json;
use super::serve::{
    agents_folders, agents_home, boxes, drivers, end_left_behind, host, open_door, stop_signal,
    take_all_files,
};
use crate::cli::{Common, RunnerFlags};
use crate::config::Config;
use crate::connect::{VARIABLE, connect};
use crate::failure::Failure;
use crate::places::Places;
use crate::text::safe_line;

/// How long it waits before it dials again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a gateway may refuse it: a connection of its last process may not be known to be gone.
const REFUSED: Duration = Duration::from_secs(30);
/// How long agents may take to end when it does.
const GOING: Duration = Duration::from_secs(5);

pub(super) async fn run(common: &Common, flags: &RunnerFlags) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    places.make()?;
    let config = Config::load(common, &places)?;
    let token = token(flags)?;
    let lock = lock(&places)?;
    take_all_files();
    let hosted_by = end_left_behind(&lock).await?;
    // What a process of an earlier runner was started with, which nobody needs any more.
    let folders = agents_folders(places.runner_folders(), &config, &hosted_by);
    drop(std::fs::remove_dir_all(&folders.launches));
    let host = host(boxes(&places, &config))?.hosted_by(hosted_by);
    let drivers = drivers(&places, &config, host, folders)?;
    let runner = Arc::new(Runner::at_home(drivers, agents_home(&config)));
    let _door = open_door(&runner, &places);
    let codex = tokio::spawn(codex::listen(Arc::clone(&runner), places.clone()));
    let gateway = flags.gateway.trim_end_matches('/');
    println!("This machine runs agents for {gateway}. Ctrl-C ends it, and them.");
    let ended = tokio::select! {
        ended = dial_for_ever(&runner, &places, gateway, &token) => Err(ended),
        () = stop_signal() => Ok(()),
    };
    codex.abort();
    runner.kill_all(EndedBy::GatewayStopping);
    drop(tokio::time::timeout(GOING, runner.all_gone()).await);
    ended
}

/// Ends when it is refused for good.
async fn dial_for_ever(runner: &Arc<Runner>, places: &Places, gateway: &str, token: &str) -> Failure {
    let instance = uuid::Uuid::new_v4();
    let mut pause = FIRST_PAUSE;
    let mut told = None;
    let mut refused = None;
    loop {
        let why = match dial_runner(gateway, token).await {
            Ok((send, receive)) => {
                let welcomed = |name: &str| {
                    println!("Connected to {gateway}, as {}.", safe_line(name));
                    // `run` names this machine by it.
                    if let Err(failure) = places.write_runner_name(name) {
                        println!("! {failure}");
                    }
                };
                let ended = runner.attend(instance, gateway, Wire { send, receive }, welcomed).await;
                match &ended {
                    Ended::Refused(why) => {
                        if refused.get_or_insert_with(Instant::now).elapsed() > REFUSED {
                            return Failure::Usage(format!("{gateway} does not take this runner: {why}"));
                        }
                    }
                    Ended::Gone | Ended::Silent | Ended::Confused(_) | Ended::LetGo => {
                        (pause, told, refused) = (FIRST_PAUSE, None, None);
                    }
                }
                ended.to_string()
            }
            Err(error) => error.to_string(),
        };
        if told.as_ref() != Some(&why) {
            println!("Not connected to {gateway}: {why}. Agents go on; it tries again.");
            told = Some(why);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes back a machine's token and ends its sessions.
pub(super) async fn remove(common: &Common, name: &str) -> Result<(), Failure> {
    let removed = connect(common)?.remove_runner(name).await?;
    if common.json {
        return print_json(&removed);
    }
    let sessions = match removed.sessions {
        0 => "It had no open sessions.".to_owned(),
        1 => "Its one open session ended.".to_owned(),
        many => format!("Its {many} open sessions ended."),
    };
    println!(
        "✓ {} is removed. {sessions} Its runner ends by itself; agents that still run there end with it.",
        safe_line(&removed.name)
    );
    Ok(())
}

fn token(flags: &RunnerFlags) -> Result<String, Failure> {
    if let Some(path) = &flags.token_file {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Failure::Io { what: format!("read {}", path.display()), source })?;
        return Ok(text.trim().to_owned());
    }
    std::env::var(VARIABLE).map_err(|_| {
        Failure::Usage(format!(
            "A runner needs a token of its own. On the gateway's machine: holdstead token --role runner --name NAME. Then \
             set {VARIABLE}, or name a file with --token-file."
        ))
    })
}

/// Two runners on one folder would share their agents' conversations.
fn lock(places: &Places) -> Result<File, Failure> {
    let path = places.runner_lock_file();
    let io = |source| Failure::Io { what: format!("lock {}", path.display()), source };
    let file = holdstead_store::owners_alone().create(true).truncate(false).open(&path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Usage(
            "A runner runs in this folder already. For a second one, name another: --dir DIR".to_owned(),
        )),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}
