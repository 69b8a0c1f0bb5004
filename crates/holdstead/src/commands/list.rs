//! What waits, and what agents are doing.

use holdstead_protocol::api::{Interaction, Messages, Session, SessionFilter};
use holdstead_protocol::{AgentState, Timestamp};

use super::print_json;
use holdstead_client::WholeInbox;

use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::listed::Listed;
use crate::places::Places;
use crate::text::{safe_line, shortened};
use crate::words;

/// How much of an ask a row shows. Nobody approves from a row.
const ASK_WIDTH: usize = 72;

pub(super) async fn inbox(common: &Common) -> Result<(), Failure> {
    let client = connect(common)?;
    let WholeInbox { asks, unknown } = client.whole_inbox().await?;
    if common.json {
        if unknown > 0 {
            eprintln!("! {}", words::unknown(unknown));
        }
        return print_json(&asks);
    }
    if unknown > 0 {
        println!("! {}", words::unknown(unknown));
    }
    if asks.is_empty() && unknown == 0 {
        let working = client.sessions(SessionFilter::Running).await?.sessions.len();
        println!("{}", nothing_waits(working));
        return Ok(());
    }
    let places = Places::new(common.dir.as_deref())?;
    let listed = remember(&places, &asks);
    let now = now();
    println!("{:<5} {:<4} {:<8} {:<17} ASK", "ID", "AGE", "STATE", "SESSION");
    for ask in &asks {
        println!("{}", row(ask, &listed, now));
    }
    if let Some(first) = asks.first() {
        println!("Next: holdstead answer {}", listed.digits(first.request.interaction_id));
    }
    Ok(())
}

/// The machines that run agents.
pub(super) async fn runners(common: &Common) -> Result<(), Failure> {
    let runners = connect(common)?.runners().await?.runners;
    if common.json {
        return print_json(&runners);
    }
    if runners.is_empty() {
        println!(
            "No machine that runs agents is connected. Make a token for one here, and start it there:\n  holdstead token \
             --role runner --name NAME\n  holdstead runner --gateway URL"
        );
        return Ok(());
    }
    println!("{:<24} {:<8} CAN RUN", "NAME", "RUNS");
    for runner in &runners {
        let can: Vec<_> =
            runner.agents.iter().filter(|agent| agent.installed).map(|agent| agent.name.as_str()).collect();
        let runs = runner.sessions.map_or("-".to_owned(), |sessions| sessions.to_string());
        let can = safe_line(&can.join(", "));
        let node = runner.node.as_deref().map(|node| format!(" (at the node {})", safe_line(node)));
        println!("{:<24} {runs:<8} {can}{}", safe_line(&runner.name), node.unwrap_or_default());
    }
    Ok(())
}

/// Short ids are good for what was listed, so it is written down before it is printed.
pub(super) fn remember(places: &Places, asks: &[Interaction]) -> Listed {
    let mut listed = Listed::read(places);
    let now = now();
    for ask in asks {
        listed.add(ask.request.interaction_id, ask.request.prompt_id, now);
    }
    if let Err(failure) = listed.write(places) {
        eprintln!("! {failure}. Answer by whole ids meanwhile: holdstead inbox --json");
    }
    listed
}

fn nothing_waits(working: usize) -> String {
    match working {
        0 => "Nothing waits for you.".to_owned(),
        1 => "Nothing waits for you. 1 agent is working.".to_owned(),
        many => format!("Nothing waits for you. {many} agents are working."),
    }
}

pub(super) fn row(ask: &Interaction, listed: &Listed, now: Timestamp) -> String {
    let session = ask.session_title.as_deref().unwrap_or(&ask.agent);
    let marked = if ask.request.marks.is_empty() { "" } else { "! " };
    // Several sessions may have one name.
    let session = format!("{} {}", shortened(&safe_line(session), 12), ask.session_id.short());
    format!(
        "{:<5} {:<4} {:<8} {:<17} {}",
        listed.digits(ask.request.interaction_id),
        words::age(ask.opened_at, now),
        words::state(ask),
        session,
        shortened(&format!("{marked}{}", words::headline(&ask.request)), ASK_WIDTH),
    )
}

pub(super) async fn sessions(common: &Common, all: bool) -> Result<(), Failure> {
    let client = connect(common)?;
    let which = if all { SessionFilter::All } else { SessionFilter::Open };
    let sessions = client.sessions(which).await?.sessions;
    if common.json {
        return print_json(&sessions);
    }
    let have_ended = !all && !client.sessions(SessionFilter::Ended).await?.sessions.is_empty();
    if sessions.is_empty() && !have_ended {
        println!("No sessions yet. Try: holdstead demo");
        return Ok(());
    }
    let now = now();
    println!("{:<5} {:<4} {:<9} {:<5} {:<10} TITLE", "ID", "AGE", "STATE", "ASKS", "AGENT");
    for session in &sessions {
        println!(
            "{:<5} {:<4} {:<9} {:<5} {:<10} {}{}",
            session.session_id.short(),
            words::age(session.opened_at, now),
            agent(session.state),
            session.open_asks,
            shortened(&safe_line(&session.agent), 10),
            safe_line(session.title.as_deref().or(session.cwd.as_deref()).unwrap_or("")),
            in_its_terminal(session),
        );
    }
    if have_ended {
        println!("Others have ended: holdstead sessions --all");
    }
    Ok(())
}

const fn in_its_terminal(session: &Session) -> &'static str {
    match (session.in_terminal, session.messages) {
        (true, Messages::TerminalAway) => " (its terminal is closed or not connected)",
        (true, Messages::Taken | Messages::TypedInTerminal) if session.asks_in_terminal > 0 => {
            " (asks in its terminal)"
        }
        (true, Messages::Taken | Messages::TypedInTerminal) => " (in a terminal)",
        (false, _) => "",
    }
}

const fn agent(state: AgentState) -> &'static str {
    match state {
        AgentState::Idle => "idle",
        AgentState::Running => "running",
        AgentState::Waiting => "waiting",
        AgentState::Parking => "parking",
        AgentState::Parked => "parked",
        AgentState::Detached => "detached",
        AgentState::Ended => "ended",
    }
}

pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
