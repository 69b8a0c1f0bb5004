//! PostgreSQL with a standby: the primary is stopped at once under load, and the standby takes its place. With a synchronous
//! one nothing is lost; with one that is behind, nodes refuse it. That they name exactly the sessions it lacks is tested in
//! `crates/store/tests/it/went_back.rs`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdstead_client::Http;
use holdstead_protocol::api::{AskCall, Respond};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{Seq, SessionId};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;
use uuid::Uuid;

use super::field::Field;
use super::hints::HintsBy;
use super::menu::{Fault, Happened, now};
use super::server::{Replication, Server};
use super::{BETWEEN, Slots, play, still_at_it};
use crate::cable::Cable;
use crate::client::approve;
use crate::fault_tests::kill::play::call;
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};

const ROUNDS: usize = 20;
/// So long there is load on a primary that has its standby.
const LOADED: Duration = Duration::from_secs(2);
/// Programs that ask while the standby is left behind.
const PROGRAMS: usize = 12;
/// What a node says.
const LACKS: &str = "lacks what was written before";
/// How long nodes may take to see it.
const NOTICED: Duration = Duration::from_secs(30);
/// How long it is tried to answer on them after that.
const TRIED: Duration = Duration::from_secs(5);

pub(crate) async fn show() -> Result<String> {
    let rounds: usize = std::env::args().nth(2).map_or(Ok(ROUNDS), |text| text.parse())?;
    // Then the primary is where it was at first.
    let rounds = rounds.next_multiple_of(2);
    let beside = Server::ours().await?.beside()?;
    let shown = both(rounds, &beside).await;
    // It may not run any more.
    let _stopped = beside.stop_at_once().await;
    shown
}

async fn both(rounds: usize, beside: &Server) -> Result<String> {
    let seed = rand::random();
    println!("rounds {rounds}, seed {seed}");
    let run = play(seed, HintsBy::Notify, async |field: &mut Field, slots: &mut Slots| {
        fail_over(field, slots, rounds, beside).await
    })
    .await?;
    let figure = run.passed()?;
    let behind = left_behind(beside).await?;
    Ok(format!("{} answers over {rounds} fail-overs; {figure}; {behind}", run.answers))
}

/// The primary goes and its standby takes over, again and again.
async fn fail_over(
    field: &mut Field,
    slots: &mut Slots,
    rounds: usize,
    beside: &Server,
) -> Result<Vec<Happened>> {
    let replication = Cable::new().await?;
    let (mut standby, mut happened) = (beside.clone(), Vec::new());
    for round in 1..=rounds {
        replication.lead_to(&[field.server.address]);
        standby.follow(&field.server, replication.address).await?;
        field.server.replicate(Replication::Synchronous).await?;
        sleep(LOADED).await;
        let from = now()?;
        standby = take_over(field, standby).await?;
        happened.push(Happened { fault: Fault::DatabaseStopped, from, to: now()? });
        let took = happened.last().map(|one| one.to.since(one.from)).unwrap_or_default();
        println!("fail-over {round}: no primary for {:.1} s", took.as_secs_f64());
        still_at_it(slots)?;
        sleep(BETWEEN).await;
    }
    Ok(happened)
}

/// Returns the one that was the primary.
async fn take_over(field: &mut Field, standby: Server) -> Result<Server> {
    field.server.stop_at_once().await?;
    standby.promote().await?;
    let former = std::mem::replace(&mut field.server, standby);
    for node in 0..field.nodes.len() {
        field.lay_to_server(node);
    }
    Ok(former)
}

/// An answer that was accepted.
type Accepted = Arc<Mutex<Vec<(SessionId, Seq, Instant)>>>;

/// A standby that nothing reaches any more takes over: no node uses it.
async fn left_behind(beside: &Server) -> Result<String> {
    let mut field = Field::new(HintsBy::Notify).await?;
    let (replication, standby) = (Cable::new().await?, beside.clone());
    replication.lead_to(&[field.server.address]);
    standby.follow(&field.server, replication.address).await?;
    let (accepted, mut programs) = (Accepted::default(), JoinSet::new());
    let person = field.token("Ada", TokenFor::Person).await?;
    for number in 0..PROGRAMS {
        let program =
            Http::new(field.url(), field.token(&format!("program {number}"), TokenFor::Guest).await?);
        let person = Http::new(field.url(), person.clone());
        programs.spawn(asks(program, person, Arc::clone(&accepted)));
    }
    sleep(LOADED).await;
    field.server.replicate(Replication::Asynchronous).await?;
    replication.cut();
    sleep(LOADED).await;
    take_over(&mut field, standby).await?;
    let since = Instant::now();
    let found = field.server.heads(field.schema()).await?;
    for node in 0..field.nodes.len() {
        refuses(&field, node, since).await?;
    }
    println!("all nodes refuse after {:.1} s", since.elapsed().as_secs_f64());
    sleep(TRIED).await;
    programs.shutdown().await;
    let accepted = std::mem::take(&mut *accepted.lock().unwrap_or_else(PoisonError::into_inner));
    let late = accepted.iter().filter(|(_, _, at)| *at > since).count();
    ensure!(late == 0, "{late} answers were accepted on a database that lacks others");
    let left = field.server.heads(field.schema()).await?;
    ensure!(left == found, "something was written to a database that lacks what was accepted");

    let lost = accepted.iter().filter(|(id, seq, _)| {
        found.get(id).is_none_or(|(last, _)| u64::try_from(*last).is_ok_and(|last| last < seq.0))
    });
    let lost = lost.count();
    ensure!(lost > 0, "the standby was not behind");

    // An operator who restarts them accepts the loss.
    for node in 0..field.nodes.len() {
        field.nodes[node].gateway.kill_now().await?;
        field.nodes[node].gateway.serve_again().await?;
        field.nodes[node].gateway.person()?.ready().await?;
    }
    let nodes = field.nodes.len();
    field.end().await?;
    Ok(format!(
        "an asynchronous standby that lacked {lost} answers: refused by {nodes} of {nodes} nodes, answers accepted after that 0"
    ))
}

/// Asks and answers itself, one after the other.
async fn asks(program: Http, person: Http, accepted: Accepted) {
    loop {
        let key = Uuid::new_v4().to_string();
        let asking = json!({ "key": key, "toolName": "deploy", "kind": "approval", "input": { "n": key } });
        let Ok(asking) = serde_json::from_value::<AskCall>(asking) else { return };
        let Ok(ask) = call(program.ask(asking)).await else {
            sleep(BETWEEN).await;
            continue;
        };
        let body = Respond { prompt_id: ask.request.prompt_id, idempotency_key: key, response: approve() };
        // What is still asked when nodes refuse is tried on all of them.
        for _ in 0..20 {
            match call(person.respond(ask.request.interaction_id, body.clone())).await {
                Ok(receipt) => {
                    let mut accepted = accepted.lock().unwrap_or_else(PoisonError::into_inner);
                    accepted.push((ask.session_id, receipt.seq, Instant::now()));
                    break;
                }
                Err(_) => sleep(BETWEEN).await,
            }
        }
    }
}

/// Waits until the node says why it is not ready.
async fn refuses(field: &Field, node: usize, since: Instant) -> Result<()> {
    let person = field.nodes[node].gateway.person()?;
    let mut said = String::new();
    while since.elapsed() < NOTICED {
        match person.get::<serde_json::Value>("/readyz").await {
            Err(error) if error.to_string().contains(LACKS) => return Ok(()),
            Err(error) => said = error.to_string(),
            Ok(_) => {}
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(format!("a node goes on with a database that lacks what was accepted; it says: {said}").into())
}
