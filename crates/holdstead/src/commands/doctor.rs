//! Check that everything is in order, and say what to do where it is not.

use holdstead_store::SessionQuery;
use serde::Serialize;

use super::print_json;
use crate::cli::Common;
use crate::config::Config;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::{Places, readable_by_others};

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
    let checks = [gateway(common).await, storage(&config).await, token(&places), agents()];
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
        Ok(()) => Check { what, health: Health::Good, words: client.url().to_owned() },
        Err(failure @ Failure::NoGateway { .. }) => {
            Check { what, health: Health::Note, words: failure.to_string() }
        }
        Err(failure) => Check { what, health: Health::Bad, words: failure.to_string() },
    }
}

async fn storage(config: &Config) -> Check {
    let what = "storage";
    let file = config.store.strip_prefix("sqlite:").map(|file| file.trim_start_matches("//"));
    if let Some(file) = file.filter(|file| std::path::Path::new(file).is_absolute())
        && !std::path::Path::new(file).exists()
    {
        let words = format!("nothing is kept yet: the gateway makes {file} when it starts");
        return Check { what, health: Health::Note, words };
    }
    match verify(config).await {
        Ok((health, words)) => Check { what, health, words },
        Err(failure) => Check { what, health: Health::Bad, words: failure.to_string() },
    }
}

async fn verify(config: &Config) -> Result<(Health, String), Failure> {
    let journal = holdstead_store::open(&config.store).await?;
    let query = SessionQuery { owner: config.owner.clone(), before: None, limit: VERIFIED };
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
    Ok((Health::Good, format!("chain verified: {events} events in the newest {sessions} sessions")))
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

fn agents() -> Check {
    let words = "scripted: questions, approvals, forms, edits, parking".to_owned();
    Check { what: "agents", health: Health::Good, words }
}
