//! Every kind of tampering with the journal is found by `holdstead audit verify`, and nothing else is. Secret answers
//! are nowhere to be found. Tampering with an export is tested in `crates/store/tests/it/checkpoints.rs`.

pub(crate) mod auditor;
mod secrets;
mod tables;
mod tampering;
mod together;

use std::collections::BTreeSet;

use holdstead_protocol::SessionId;
use holdstead_protocol::api::Session;
use reqwest::Method;
use serde_json::json;

use crate::client::{Client, approve};
use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::{Result, ensure};
use auditor::{Auditor, Verdict};
use tables::Tables;
use tampering::TAMPERINGS;

/// Counts sessions whose agent has ended, on SQLite and on PostgreSQL.
const ENDED: [&str; 2] = [
    "SELECT count(*) FROM sessions WHERE CAST(agent_state AS TEXT) = '\"ended\"' AND NOT unfinished",
    "SELECT count(*) FROM sessions WHERE convert_from(agent_state, 'UTF8') = '\"ended\"' AND NOT unfinished",
];
/// What only the erased sessions say.
const SAID: &str = "periwinkle-battleship-42";

pub(crate) async fn show() -> Result<String> {
    let mut counted = Counted::default();
    for kind in Kind::ALL {
        let database = Database::new(kind).await?;
        let gateway = GatewayProcess::serve_logging(&database.url(), "debug").await?;
        println!("{kind}");
        one_store(&database, &gateway, &mut counted).await?;
        gateway.stop().await?;
        database.remove().await?;
        println!();
    }
    println!("What nobody touched was checked {} times.", counted.clean);
    Ok(format!(
        "{} of {} tamperings found on {} stores, {} false alarms, {} planted secrets delivered and found nowhere",
        counted.found,
        counted.tampered,
        Kind::ALL.len(),
        counted.alarms,
        secrets::PLANTED * Kind::ALL.len(),
    ))
}

#[derive(Debug, Default)]
struct Counted {
    tampered: usize,
    found: usize,
    clean: usize,
    alarms: usize,
}

impl Counted {
    /// Nobody touched it, so nothing may be found.
    fn untouched(&mut self, what: &str, verdict: &Verdict) -> Result<()> {
        self.clean += 1;
        self.alarms += usize::from(!verdict.sound);
        ensure!(verdict.sound, "a false alarm: {what}: {}", verdict.words);
        Ok(())
    }

    /// Somebody touched it, and it must be said where.
    fn touched(&mut self, what: &str, verdict: &Verdict, wanted: &str) -> Result<()> {
        self.tampered += 1;
        let found = !verdict.sound && verdict.words.contains(wanted);
        self.found += usize::from(found);
        ensure!(found, "{what} was not found: `{wanted}` is not in `{}`", verdict.words);
        println!("    {what:<58} {}", verdict.first_finding());
        Ok(())
    }
}

async fn one_store(database: &Database, gateway: &GatewayProcess, counted: &mut Counted) -> Result<()> {
    let person = gateway.person()?;
    let tables = Tables { database };
    let auditor = Auditor::new(gateway.folder(), &database.url())?;

    secrets::plant(&tables, &auditor, gateway).await?;

    let mut victims = Vec::new();
    for _ in TAMPERINGS {
        victims.push(talk(&person, "the old words").await?);
    }
    let erased_over_http = talk(&person, SAID).await?;
    let erased_here = talk(&person, SAID).await?;
    for session in victims.iter().chain([&erased_over_http, &erased_here]) {
        person.tell(Method::DELETE, &format!("/v1/sessions/{session}")).await?;
    }
    let alive = talk(&person, "still going on").await?;
    tables.wait_for(victims.len() + 2, tables.of_each(ENDED)).await?;
    auditor.run(&["checkpoint"]).await?;
    person.say(&alive.to_string(), "say this is not signed yet").await?;
    counted.untouched("everything", &auditor.verify(None).await?)?;

    let before = appears(&tables, &auditor, gateway, SAID).await?;
    ensure!(!before.is_empty(), "`{SAID}` is nowhere to be erased from");
    person.tell(Method::POST, &format!("/v1/sessions/{erased_over_http}/erase")).await?;
    auditor.run(&["erase", &erased_here.to_string()]).await?;
    let left = appears(&tables, &auditor, gateway, SAID).await?;
    ensure!(left.is_empty(), "what was erased is still in {left:?}");
    println!("    two sessions erased: their words were in {before:?}, and are nowhere now");
    for session in [erased_over_http, erased_here] {
        let shown: Session = person.get(&format!("/v1/sessions/{session}")).await?;
        ensure!(shown.title.is_none(), "an erased session still has its title");
        ensure!(shown.erased.is_some(), "an erased session does not say so");
        counted.untouched("an erased session", &auditor.verify(Some(session)).await?)?;
    }
    // With erased sessions in it, and one with events behind its last checkpoint.
    let export = auditor.run(&["export"]).await?;
    counted.untouched("an export of everything", &auditor.verify_file(&export).await?)?;

    // From here on nothing grows any more, so that a signature with another key is about nothing of ours.
    person.turns(&alive.to_string(), 2).await?;
    auditor.run(&["checkpoint"]).await?;

    let log = gateway.folder().join("checkpoints.log");
    together::tamper(&tables, &auditor, log, victims[0], counted).await?;

    for (tampering, session) in TAMPERINGS.iter().zip(&victims) {
        counted.untouched("a session", &auditor.verify(Some(*session)).await?)?;
        let wanted = tampering.carry_out(&tables, *session).await?;
        let verdict = auditor.verify(Some(*session)).await?;
        counted.touched(tampering.name, &verdict, &format!("{session}: {wanted}"))?;
    }
    tables.run(erased_here, "UPDATE sessions SET erased_by = 'mallory' WHERE id = {id}").await?;
    let verdict = auditor.verify(Some(erased_here)).await?;
    let wanted = format!("{erased_here}: who erased it");
    counted.touched("another name for who erased a session", &verdict, &wanted)?;

    // All at once: those that were tampered with, and no others.
    let all = auditor.verify(None).await?;
    let named = all.sessions();
    let mut touched: BTreeSet<SessionId> = victims.iter().copied().collect();
    touched.insert(erased_here);
    ensure!(
        named == touched,
        "{} sessions were tampered with, and these were named: {named:?}",
        touched.len()
    );
    for session in [alive, erased_over_http] {
        counted.untouched("a session beside others", &auditor.verify(Some(session)).await?)?;
    }
    Ok(())
}

/// An agent says something, asks, is answered, and is done.
async fn talk(person: &Client, words: &str) -> Result<SessionId> {
    let open = json!({ "agent": "scripted", "title": words });
    let session: Session = person.post("/v1/sessions", &open).await?;
    let id = session.session_id.to_string();
    let script = format!(
        "say I will use {words} now.\napprove Bash {{\"command\":\"echo {words}\"}}\nsay That was {words}."
    );
    person.say(&id, &script).await?;
    let ask = person.open_ask(&id, "approval").await?;
    person.win(&ask, approve()).await?;
    person.done(&id).await?;
    Ok(session.session_id)
}

/// Where a text is found: in the database, in what the gateway logs, in what it signs, in an export.
async fn appears(
    tables: &Tables<'_>,
    auditor: &Auditor,
    gateway: &GatewayProcess,
    words: &str,
) -> Result<Vec<String>> {
    let mut places = tables.appears(words).await?;
    for name in ["log.txt", "checkpoints.log"] {
        let text = std::fs::read(gateway.folder().join(name))?;
        if tables::contains(&text, words) {
            places.push(name.to_owned());
        }
    }
    if auditor.run(&["export"]).await?.contains(words) {
        places.push("export".to_owned());
    }
    Ok(places)
}
