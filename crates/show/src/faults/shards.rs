//! Several databases: what they cost, what the owners of one notice when another goes, and sessions that move between them
//! while everything goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::field::{Field, several};
use super::hints::HintsBy;
use super::menu::{Fault, Happened, now};
use super::server::Server;
use super::{BETWEEN, LIMIT, Slots, play_on, still_at_it};
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::milliseconds;
use crate::throughput::cycles::{Callers, Steps, cycle};
use crate::{Result, ensure};

/// Whose sessions are in the first half of all tags, and whose in the second.
const OWNERS: [&str; 2] = ["local", "ada"];
const CALLERS: usize = 64;
const MEASURED_FOR: Duration = Duration::from_secs(4);
/// How often each of the two is measured, in turn.
const TIMES: usize = 4;
const COST_LIMIT: f64 = 1.15;
/// How many callers each owner has while a database is away, and for how long it is.
const FEW: usize = 8;
const AWAY: Duration = Duration::from_secs(12);
const BEFORE: Duration = Duration::from_secs(3);
/// How long the owners of one that is back may wait until they are served again.
const BACK: Duration = Duration::from_secs(20);
/// How often everything moves.
const MOVES: usize = 6;
/// What a caller is told, in part.
const WORDS: &str = "cannot be reached";

pub(crate) async fn show() -> Result<String> {
    let (ours, beside) = (Server::ours().await?, Server::ours().await?.beside()?);
    beside.copy_of(&ours).await?;
    let shown = all(&ours, &beside).await;
    // It may not run any more.
    let _stopped = beside.stop_at_once().await;
    shown
}

async fn all(ours: &Server, beside: &Server) -> Result<String> {
    let cost = cost(ours, beside).await?;
    println!("{cost}");
    let away = away(ours, beside).await?;
    println!("{away}");
    let moved = moved().await?;
    Ok(format!("{cost}; {away}; {moved}"))
}

async fn schema_on(server: &Server) -> Result<String> {
    let schema = server.new_schema().await?;
    Ok(server.store(server.address, &schema))
}

/// One database beside two, in turn, with the same callers.
async fn cost(ours: &Server, beside: &Server) -> Result<String> {
    let owners = OWNERS.map(Some);
    let one = GatewayProcess::serve(Some(&schema_on(ours).await?)).await?;
    let data = [schema_on(ours).await?, schema_on(beside).await?];
    let two = GatewayProcess::serve(Some(&several(&schema_on(ours).await?, &data))).await?;
    let callers = [Callers::new(&one, CALLERS, &owners).await?, Callers::new(&two, CALLERS, &owners).await?];
    for callers in &callers {
        callers.run(CALLERS, MEASURED_FOR / 4).await?;
    }
    let mut spent = [Vec::new(), Vec::new()];
    for _ in 0..TIMES {
        for (callers, spent) in callers.iter().zip(&mut spent) {
            let measured = callers.run(CALLERS, MEASURED_FOR).await?;
            println!(
                "{:.0} cycles/s, gateway's CPU {} a cycle",
                measured.per_second(),
                milliseconds(measured.gateway_cpu())
            );
            spent.push(measured.gateway_cpu());
        }
    }
    one.stop().await?;
    two.stop().await?;
    let [one, two] = spent.map(|spent| spent.iter().sum::<Duration>() / u32::try_from(TIMES).unwrap_or(1));
    let ratio = two.as_secs_f64() / one.as_secs_f64();
    let figure = format!(
        "gateway's CPU a cycle {} on one database, {} on two: {ratio:.2} (limit {COST_LIMIT})",
        milliseconds(one),
        milliseconds(two)
    );
    ensure!(ratio <= COST_LIMIT, "two databases cost too much: {figure}");
    Ok(figure)
}

/// One of the databases goes and comes back; then the one that controls, with the first.
async fn away(ours: &Server, beside: &Server) -> Result<String> {
    let data = [schema_on(ours).await?, schema_on(beside).await?];
    let store = several(&schema_on(ours).await?, &data);
    let gateway = GatewayProcess::serve(Some(&store)).await?;
    let second = stopped(&gateway, beside, 1).await?;
    let first = stopped(&gateway, ours, 0).await?;
    gateway.stop().await?;
    Ok(format!(
        "a database stopped for {} s: {second}; the one that controls and another: {first}",
        AWAY.as_secs()
    ))
}

/// What the owners of the stopped one and of the other were told.
async fn stopped(gateway: &GatewayProcess, server: &Server, stopped: usize) -> Result<String> {
    let over = Arc::new(AtomicBool::new(false));
    let (mut theirs, mut others) = (JoinSet::new(), JoinSet::new());
    for number in 0..FEW {
        for (index, owner) in OWNERS.into_iter().enumerate() {
            let name = |what: &str| format!("{what} {number} {stopped}");
            let caller = gateway.token_of(Some(owner), &name("caller"), TokenFor::Guest).await?;
            let person = gateway.token_of(Some(owner), &name("person"), TokenFor::Person).await?;
            let clients = [Client::new(&gateway.url, &caller)?, Client::new(&gateway.url, &person)?];
            let running = if index == stopped { &mut theirs } else { &mut others };
            running.spawn(ask_and_answer(clients, Arc::clone(&over)));
        }
    }
    let looks =
        gateway.token_of(Some(OWNERS[stopped]), &format!("looks {stopped}"), TokenFor::Person).await?;
    theirs.spawn(look(Client::new(&gateway.url, &looks)?, Arc::clone(&over)));
    sleep(BEFORE).await;
    server.stop_at_once().await?;
    sleep(AWAY).await;
    server.start().await?;
    let back = Instant::now();
    sleep(BACK).await;
    over.store(true, Ordering::SeqCst);
    let (mut cycles, mut errors) = (0, Vec::new());
    while let Some(ended) = others.join_next().await {
        let ended = ended??;
        cycles += ended.cycles;
        errors.extend(ended.errors);
    }
    for (_, error) in errors.iter().take(5) {
        println!("an owner of the other was told: {error}");
    }
    ensure!(errors.is_empty(), "{} errors for the owners of the other", errors.len());
    let (mut told, mut unclear, mut resumed) = (0, 0, 0);
    while let Some(ended) = theirs.join_next().await {
        let ended = ended??;
        for (_, error) in &ended.errors {
            if error.contains(WORDS) || error.contains("503") {
                told += 1
            } else {
                unclear += 1
            }
            if !error.contains(WORDS) {
                println!("an owner of the stopped one was told: {error}");
            }
        }
        resumed += usize::from(ended.last.is_some_and(|last| last > back));
    }
    ensure!(told > 0, "nobody was told that the database is away");
    ensure!(unclear == 0, "{unclear} were told something else than that the database is away");
    let all = FEW + 1;
    ensure!(resumed == all, "only {resumed} of {all} of its people went on when it was back");
    Ok(format!(
        "0 errors in {cycles} cycles for the owners of the other, its own were told so {told} times and went on when it was back"
    ))
}

#[derive(Debug, Default)]
struct Ended {
    cycles: u32,
    errors: Vec<(Instant, String)>,
    /// When the last cycle came to its end.
    last: Option<Instant>,
}

/// Somebody who only looks: whoever asked or answered just when it went may be waiting until it is back.
async fn look(person: Client, over: Arc<AtomicBool>) -> Result<Ended> {
    let mut ended = Ended::default();
    while !over.load(Ordering::SeqCst) {
        match person.get::<Value>("/v1/interactions?state=open").await {
            Ok(_) => ended.last = Some(Instant::now()),
            Err(error) => ended.errors.push((Instant::now(), error.to_string())),
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(ended)
}

/// One cycle after the other, with a look at the inbox.
async fn ask_and_answer([caller, person]: [Client; 2], over: Arc<AtomicBool>) -> Result<Ended> {
    let (mut ended, mut steps) = (Ended::default(), Steps::default());
    while !over.load(Ordering::SeqCst) {
        let one = async {
            cycle(&caller, &person, &mut steps).await?;
            person.get::<Value>("/v1/interactions?state=open").await
        };
        match one.await {
            Ok(_) => {
                ended.cycles += 1;
                ended.last = Some(Instant::now());
            }
            Err(error) => ended.errors.push((Instant::now(), error.to_string())),
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(ended)
}

/// Agents and programs on three nodes, while all their sessions move to and fro.
async fn moved() -> Result<String> {
    let seed = rand::random();
    println!("moves {MOVES}, seed {seed}");
    let field = Field::new_on(HintsBy::Notify, 2).await?;
    let mut sessions = 0;
    let run = play_on(seed, field, async |field: &mut Field, slots: &mut Slots| {
        let mut happened = Vec::new();
        for number in 0..MOVES {
            sleep(BEFORE).await;
            let from = now()?;
            sessions += field.move_sessions(2 - number % 2).await?;
            happened.push(Happened { fault: Fault::SessionsMoved, from, to: now()? });
            still_at_it(slots)?;
            sleep(BETWEEN).await;
        }
        Ok(happened)
    })
    .await?;
    let figure = run.figure();
    ensure!(run.findings() == 0, "{} findings; {figure}", run.findings());
    ensure!(run.longest <= LIMIT, "an answer took too long; {figure}");
    ensure!(sessions > 0, "nothing moved");
    Ok(format!(
        "{sessions} sessions moved in {MOVES} moves under load, 0 lost: {} asks, {} answers, 0 findings",
        run.asks, run.answers
    ))
}
