//! Measures the figures of `costs.rs` on PostgreSQL: two nodes, of which the second only hears what the first wrote.

use std::fs;
use std::time::Duration;

use holdstead_protocol::Seq;
use holdstead_protocol::api::SessionPage;
use holdstead_protocol::transport::Transport as _;
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinSet;

use super::costs::{Costs, MEASURED};
use crate::Result;
use crate::benchmarks::throughput::cycles::Callers;
use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::processes::{children, cpu_time};

const CALLERS: usize = 64;
const LASTING: Duration = Duration::from_secs(8);
/// Of a cycle: asked, answered, fetched.
const APPENDS: f64 = 3.0;
const WORDS: u32 = 20_000;

/// Prints them beside those that `docs/scale.md` computes with. They differ from machine to machine, so nothing gates.
pub(crate) async fn show() -> Result<String> {
    let measured = measure().await?;
    let pairs = [
        ("node_append", measured.node_append, MEASURED.node_append),
        ("node_hint", measured.node_hint, MEASURED.node_hint),
        ("node_read", measured.node_read, MEASURED.node_read),
        ("database_append", measured.database_append, MEASURED.database_append),
        ("database_read", measured.database_read, MEASURED.database_read),
        ("ask_stored", measured.ask_stored, MEASURED.ask_stored),
        ("word_stored", measured.word_stored, MEASURED.word_stored),
    ];
    let mut most: f64 = 0.0;
    for (name, here, used) in pairs {
        let (unit, factor) = if name.ends_with("_stored") { ("bytes", 1.0) } else { ("us", 1e6) };
        println!("{name:<18}{:>10.1} {unit}, computed with {:.1}", here * factor, used * factor);
        most = most.max(here / used);
    }
    Ok(format!("costs are at most {most:.2} times those that docs/scale.md computes with"))
}

async fn measure() -> Result<Costs> {
    let database = Database::new(Kind::Postgres).await?;
    let first = GatewayProcess::serve(Some(&database.url())).await?;
    let second = first.beside().await?;
    let told = second.pid().ok_or("the second node is gone")?;
    let callers = Callers::new(&first, CALLERS).await?;
    callers.run(CALLERS, LASTING / 4).await?;
    let before = database.bytes().await?;
    let unwatched = run(&callers, told).await?;
    let ask_stored = (database.bytes().await? - before) as f64 / unwatched.cycles;
    let watching = watch_all(&second).await?;
    let watched = run(&callers, told).await?;
    drop(watching);
    let before = database.bytes().await?;
    speak(&first).await?;
    let word_stored = (database.bytes().await? - before) as f64 / f64::from(WORDS);
    second.stop().await?;
    first.stop().await?;
    database.remove().await?;
    let more = |watched: f64, unwatched: f64| (watched - unwatched).max(0.0);
    Ok(Costs {
        node_append: unwatched.node,
        node_hint: unwatched.told,
        node_read: more(watched.told, unwatched.told),
        database_append: unwatched.database,
        database_read: more(watched.database, unwatched.database),
        ask_stored,
        word_stored,
        ..MEASURED
    })
}

/// Seconds of a core for an append.
struct Spent {
    cycles: f64,
    node: f64,
    told: f64,
    database: f64,
}

async fn run(callers: &Callers, told: u32) -> Result<Spent> {
    let server = server().await?;
    let spent = || Ok::<_, crate::Error>((cpu_time(told)?, of_server(server)?));
    let (told_before, server_before) = spent()?;
    let measured = callers.run(CALLERS, LASTING).await?;
    let (told_after, server_after) = spent()?;
    let appends = measured.cycles() * APPENDS;
    Ok(Spent {
        cycles: measured.cycles(),
        node: measured.gateway_cpu().as_secs_f64() / APPENDS,
        told: (told_after - told_before).as_secs_f64() / appends,
        database: (server_after - server_before).as_secs_f64() / appends,
    })
}

/// The first process of PostgreSQL.
async fn server() -> Result<u32> {
    let mut connection = PgConnection::connect(&std::env::var("HOLDSTEAD_TEST_POSTGRES")?).await?;
    let data: String = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut connection).await?;
    connection.close().await?;
    let text = fs::read_to_string(format!("{data}/postmaster.pid"))?;
    Ok(text.lines().next().ok_or("PostgreSQL does not say its process")?.trim().parse()?)
}

fn of_server(server: u32) -> Result<Duration> {
    let mut spent = cpu_time(server)?;
    for pid in children(server)? {
        // It may end while we look.
        spent += cpu_time(pid).unwrap_or_default();
    }
    Ok(spent)
}

/// A stream for each session, at this node.
async fn watch_all(node: &GatewayProcess) -> Result<JoinSet<()>> {
    let page: SessionPage = node.person()?.get("/v1/sessions?limit=200").await?;
    let client = node.http()?;
    let mut watching = JoinSet::new();
    for session in page.sessions {
        let mut feed = client.subscribe(session.session_id, Seq(session.seq.0)).await?;
        watching.spawn(async move { while let Ok(Some(_)) = feed.next().await {} });
    }
    Ok(watching)
}

/// An agent says so many things, each of a line.
async fn speak(node: &GatewayProcess) -> Result<()> {
    let person = node.person()?;
    let session = person.open_session().await?.session_id;
    let client = node.http()?;
    let mut feed = client.subscribe(session, Seq::START).await?;
    let line = "Now I look at how the deployment reads its settings, and at who else does.";
    person.say(&session.to_string(), &format!("repeat {WORDS}\nsay {line}\nend")).await?;
    while let Some(event) = feed.next().await? {
        if let holdstead_protocol::EventBody::Done(_) = event.body {
            return Ok(());
        }
    }
    Err("the stream ended before the agent did".into())
}
