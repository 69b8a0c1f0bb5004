//! End the gateway of this folder, whoever started it.

use std::time::{Duration, Instant};

use holdstead_client::Http;
use holdstead_protocol::api::SessionFilter;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::print_json;
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;
use crate::stop_report::{StopReport, at_work};

/// It parks agents and lets the others go first, and writes what they said last.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// What was open when it was told to go.
struct Open {
    running: usize,
    asks: usize,
}

pub(super) async fn run(common: &Common) -> Result<(), Failure> {
    if common.url.is_some() {
        return Err(Failure::Usage(
            "A gateway is stopped on its own machine: holdstead stop, without --url and HOLDSTEAD_URL."
                .to_owned(),
        ));
    }
    let places = Places::new(common.dir.as_deref())?;
    // Only whoever holds the lock is told to go: an old number may be another program's by now.
    let Some(pid) = places.lock_holder() else {
        if common.json {
            return print_json(&json!({ "stopped": false }));
        }
        println!("No gateway runs here.");
        return Ok(());
    };
    let open = match connect(common) {
        Ok(client) => open(&client).await.ok(),
        Err(_) => None,
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| Failure::Strange(format!("{pid} is no process")))?;
    kill_process(process, Signal::TERM)
        .map_err(|error| Failure::Io { what: format!("stop process {pid}"), source: error.into() })?;
    let deadline = Instant::now() + PATIENCE;
    while places.is_locked() {
        if Instant::now() >= deadline {
            return Err(Failure::NotDone(format!(
                "The gateway was told to go and is still there. To end it at once: kill -9 {pid}"
            )));
        }
        tokio::time::sleep(LOOK).await;
    }
    let report = places.take_stop_report(pid);
    if common.json {
        let open = open.map(|open| json!({ "running": open.running, "asks": open.asks }));
        let report = report.as_ref();
        return print_json(&json!({
            "stopped": true,
            "pid": pid,
            "open": open,
            "parked": report.map(|report| &report.parked),
            "notParked": report.map(|report| &report.not_parked),
            "atWork": report.map(|report| &report.at_work),
        }));
    }
    println!("The gateway (process {pid}) has ended.");
    for line in words(report.as_ref(), open.as_ref()) {
        println!("{line}");
    }
    Ok(())
}

async fn open(client: &Http) -> Result<Open, Failure> {
    let running = client.sessions(SessionFilter::Running).await?.sessions.len();
    let asks = client.whole_inbox().await?;
    let asks = asks.asks.len() + asks.unknown;
    Ok(Open { running, asks })
}

/// Without a report (it was killed meanwhile) all that is known is what was open before.
fn words(report: Option<&StopReport>, open: Option<&Open>) -> Vec<String> {
    let mut words = match (report, open) {
        (Some(report), _) => report.words(),
        (None, Some(open)) => at_work(open.running).into_iter().collect(),
        (None, None) => Vec::new(),
    };
    match open.map_or(0, |open| open.asks) {
        0 => {}
        1 => words.push("1 ask waits in the journal, to be answered then: holdstead serve".to_owned()),
        many => words.push(format!("{many} asks wait in the journal, to be answered then: holdstead serve")),
    }
    words
}
