//! Check that everything is in order, and say what to do where it is not.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use holdstead_agents::{Boxes, StartedBy};
use holdstead_protocol::AgentBox;
use holdstead_store::{Journal, SessionQuery, SessionsOnly, without_secret};
use serde::Serialize;

use super::own_terminals::{Connection, connection};
use super::print_json;
use super::serve::{boxes, drivers, host};
use crate::cli::{Common, Program};
use crate::config::Config;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::{Places, readable_by_others};
use crate::store;
use crate::text::{safe_line, shortened};

/// How long an agent's program may take to name its version.
const VERSION_TIME: Duration = Duration::from_secs(5);
/// How many sessions are verified: the newest.
const VERIFIED: u32 = 50;

#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    health: Health,
    words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Good,
    Note,
    Bad,
}

pub(super) async fn run(common: &Common) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    let mut checks = vec![gateway(common).await, storage(common, &places, &config).await, token(&places)];
    let boxes = boxes(&places, &config);
    checks.push(agent_box(&boxes));
    checks.extend(agents(&places, &config, boxes).await?);
    checks.extend(Program::ALL.map(|program| terminals(&places, program)));
    if common.json {
        print_json(&checks)?;
    } else {
        for check in &checks {
            let mark = match check.health {
                Health::Good => '✓',
                Health::Note => '!',
                Health::Bad => '✕',
            };
            println!("{mark} {:<8} {}", check.what, check.words);
        }
    }
    match checks.iter().filter(|check| check.health == Health::Bad).count() {
        0 => Ok(()),
        1 => Err(Failure::Unhealthy("1 thing is not in order.".to_owned())),
        many => Err(Failure::Unhealthy(format!("{many} things are not in order."))),
    }
}

async fn gateway(common: &Common) -> Check {
    let what = "gateway";
    let client = match connect(common) {
        Ok(client) => client,
        Err(failure) => return Check { what, health: Health::Note, words: failure.to_string() },
    };
    match client.ready().await.map_err(Failure::from) {
        Ok(()) => {
            let words = common.url.clone().unwrap_or_else(|| client.url().to_owned());
            Check { what, health: Health::Good, words }
        }
        Err(failure @ Failure::NoGateway { .. }) => {
            Check { what, health: Health::Note, words: failure.to_string() }
        }
        Err(failure) => Check { what, health: Health::Bad, words: failure.to_string() },
    }
}

async fn storage(common: &Common, places: &Places, config: &Config) -> Check {
    let what = "storage";
    let address = store::address(common, places, config);
    let shown = without_secret(&address);
    let (health, words) = match holdstead_store::open_existing(&address).await {
        Ok(journal) => verify(journal.as_ref(), config)
            .await
            .unwrap_or_else(|failure| (Health::Bad, failure.to_string())),
        Err(error) if store::absent(&error) => {
            (Health::Note, "nothing is kept yet, `holdstead serve` makes it".to_owned())
        }
        Err(error) => (Health::Bad, error.to_string()),
    };
    Check { what, health, words: format!("{shown}: {words}") }
}

async fn verify(journal: &dyn Journal, config: &Config) -> Result<(Health, String), Failure> {
    let query =
        SessionQuery { owner: config.owner.clone(), before: None, only: SessionsOnly::All, limit: VERIFIED };
    let sessions = journal.sessions(query).await?;
    let mut events = 0;
    for session in &sessions {
        let report = journal.verify(session.id).await?;
        if let Some(fault) = report.fault {
            return Ok((Health::Bad, format!("the journal of {} was changed: {fault}", session.id)));
        }
        events += report.events;
    }
    let sessions = sessions.len();
    journal.close().await;
    let newest = if sessions == 1 {
        "the newest session".to_owned()
    } else {
        format!("the newest {sessions} sessions")
    };
    Ok((Health::Good, format!("chain verified: {events} events in {newest}")))
}

fn token(places: &Places) -> Check {
    let what = "token";
    let path = places.token_file();
    let (health, words) = match readable_by_others(&path) {
        Ok(false) => (Health::Good, format!("{} is yours alone", path.display())),
        Ok(true) => (Health::Bad, format!("readable by others: chmod 600 {}", path.display())),
        Err(_) => (Health::Note, "none yet: holdstead serve makes one".to_owned()),
    };
    Check { what, health, words }
}

/// What keeps agents from the gateway's own files and memory, and what it does not keep them from.
fn agent_box(boxes: &Boxes) -> Check {
    let mut open = "your other files, the network and your other programs stay open to them".to_owned();
    if let Some(account) = boxes.account() {
        open.push_str(&format!(". They run as {}", account.name()));
    } else if rustix::process::geteuid().is_root() {
        open.push_str(
            ". They run as root, as the settings say: an account of their own (`agents.user`) is safer",
        );
    }
    let (health, words) = match boxes.found() {
        Ok(found @ (AgentBox::Bubblewrap | AgentBox::Landlock)) => {
            let closed = "agents cannot read this gateway's files and memory";
            (Health::Good, format!("{found}: {closed}; {open}"))
        }
        Ok(AgentBox::None { why }) => {
            let open = "a command that you approve can read your token";
            (Health::Note, format!("none ({why}): {open}"))
        }
        Err(why) => (Health::Bad, format!("no agent is started: {why}")),
    };
    Check { what: "box", health, words }
}

/// A program in people's own terminals.
fn terminals(places: &Places, program: Program) -> Check {
    let name = program.name();
    let listens = || std::os::unix::net::UnixStream::connect(places.hooks_socket()).is_ok();
    let (health, words) = match connection(places, program) {
        Connection::Not => (Health::Good, format!("not connected. If you use it: holdstead connect {name}")),
        Connection::Broken => {
            let how = "connected, and not to this Holdstead as it is now";
            (Health::Bad, format!("{how}: holdstead connect {name}"))
        }
        Connection::Made if listens() => (Health::Good, "connected".to_owned()),
        Connection::Made => {
            let alone = "connected; no gateway runs here, so it asks in its terminal alone";
            (Health::Note, alone.to_owned())
        }
    };
    Check { what: "terminal", health, words: format!("{name}: {words}") }
}

/// Each agent with its program and version, or how to get it.
async fn agents(places: &Places, config: &Config, boxes: Boxes) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    let all = drivers(places, config, host(boxes)?, places.gateway_folders())?;
    for driver in all.into_iter().filter(|driver| driver.started_by() == StartedBy::Us) {
        let (health, words) = match driver.program() {
            None => (Health::Good, format!("{}: part of Holdstead", driver.name())),
            Some(program) => match program.find() {
                None => (Health::Note, format!("{}: {}", driver.name(), program.missing())),
                Some(path) => {
                    let (health, version) = version(&path).await;
                    (health, format!("{}: {}, {version}", driver.name(), path.display()))
                }
            },
        };
        checks.push(Check { what: "agent", health, words });
    }
    Ok(checks)
}

/// What the program says of itself. It may be broken, or wait for something.
async fn version(path: &Path) -> (Health, String) {
    let mut command = tokio::process::Command::new(path);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(VERSION_TIME, command.output()).await {
        Ok(Ok(output)) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it names no version");
            (Health::Good, shortened(&safe_line(line.trim()), 80))
        }
        Ok(Ok(output)) => (Health::Note, format!("`--version` ended with {}", output.status)),
        Ok(Err(error)) => (Health::Note, format!("it could not be run: {error}")),
        Err(_) => (Health::Note, format!("no answer to `--version` within {} s", VERSION_TIME.as_secs())),
    }
}
