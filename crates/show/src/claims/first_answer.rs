//! Many clients answer one ask at once; exactly one wins, on every store. That ten asks of one agent can be answered in any
//! order is tested in `crates/gateway/tests/it/answers.rs`.

mod race;

use std::time::Instant;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_protocol::api::Interaction;
use holdstead_protocol::{EventBody, InteractionId};

use crate::client::{Client, received};
use crate::database::{Database, Kind};
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::Latencies;
use crate::{Result, ensure};
use race::{Contender, Race};

const CLIENTS: usize = 100;
/// Ten tokens: each may make a thousand calls a second.
const PEOPLE: [&str; 10] = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gil", "Hana", "Ivo", "Jo"];
/// All of a store's races; a tenth in a build that is not optimised, which is ten times slower.
const RACES: usize = if cfg!(debug_assertions) { 200 } else { 2_000 };
/// Asks that are opened before they are raced for.
const BATCH: usize = 100;

/// Races, and how many clients each of them has. On two cores 2,000 races of 100 clients take 35 s with SQLite and
/// 100 s with PostgreSQL, so there most races are smaller.
const fn races(kind: Kind) -> &'static [(usize, usize)] {
    match kind {
        Kind::Sqlite => &[(RACES, CLIENTS)],
        Kind::Postgres => &[(20, CLIENTS), (RACES - 20, 8)],
    }
}

pub(crate) async fn show() -> Result<String> {
    let mut won = 0;
    for kind in Kind::ALL {
        let database = Database::new(kind).await?;
        let gateway = GatewayProcess::serve(Some(&database.url())).await?;
        won += one_store(kind, &gateway).await?;
        gateway.stop().await?;
        database.remove().await?;
    }
    let all = RACES * Kind::ALL.len();
    ensure!(won == all, "{all} races had {won} winners");
    Ok(format!("1 of {CLIENTS} won and {} were told who; {all} races had {won} winners", CLIENTS - 1))
}

async fn one_store(kind: Kind, gateway: &GatewayProcess) -> Result<usize> {
    let person = gateway.person()?;
    let mut contenders = Vec::with_capacity(CLIENTS);
    let mut tokens = Vec::new();
    for name in PEOPLE {
        tokens.push((name, gateway.token(name, TokenFor::Person).await?));
    }
    for (name, token) in tokens.iter().cycle().take(CLIENTS) {
        contenders.push(Contender { name, client: Client::new(&gateway.url, token)? });
    }
    one_agent(kind, &person, &contenders).await?;
    many_races(kind, gateway, &person, &contenders).await
}

/// A hundred clients, one ask, and an agent that waits for it.
async fn one_agent(kind: Kind, person: &Client, contenders: &[Contender]) -> Result<()> {
    let session = person.open_session().await?.session_id.to_string();
    person.say(&session, r#"approve Bash {"command":"make release"}"#).await?;
    let ask = person.open_ask(&session, "approval").await?;
    let race = Race::run(contenders, &ask).await?;
    let events = person.done(&session).await?;
    let responses =
        events.iter().filter(|event| matches!(event.body, EventBody::InteractionResponse(_))).count();
    ensure!(responses == 1, "the journal has {responses} responses to one ask");
    let got = &received(&events, &ask)?.output["received"]["response"];
    ensure!(got["action"] == race.action, "{} won, and the agent got {got}", race.action);
    ensure!(race.losers == contenders.len() - 1, "{} clients were told who won", race.losers);
    println!(
        "{kind}: {} won, {} clients were told so, and the agent got the answer",
        race.winner, race.losers
    );
    Ok(())
}

async fn many_races(
    kind: Kind,
    gateway: &GatewayProcess,
    person: &Client,
    contenders: &[Contender],
) -> Result<usize> {
    let mut won = 0;
    for &(races, clients) in races(kind) {
        let begin = Instant::now();
        let mut latencies = Latencies::default();
        for batch in 0..races.div_ceil(BATCH) {
            let count = BATCH.min(races - batch * BATCH);
            for race in one_batch(gateway, person, &contenders[..clients], count).await? {
                latencies.add(race.took);
                won += 1;
            }
        }
        println!(
            "{kind}: {races} races of {clients} clients, {races} winners, in {:.1} s; the winning answer took {latencies}",
            begin.elapsed().as_secs_f64()
        );
    }
    Ok(won)
}

/// A program asks many times; each ask is raced for, and the program fetches what was decided.
async fn one_batch(
    gateway: &GatewayProcess,
    person: &Client,
    contenders: &[Contender],
    count: usize,
) -> Result<Vec<Race>> {
    let session = person.open_session().await?.session_id.to_string();
    let token = gateway.token("racer", TokenFor::Agent(&session)).await?;
    let agent = Client::new(&gateway.url, &token)?;
    let asks: Vec<Interaction> =
        stream::iter(0..count).map(|_| agent.ask()).buffered(16).try_collect().await?;
    let mut races = Vec::with_capacity(count);
    for ask in &asks {
        races.push(Race::run(contenders, ask).await?);
    }
    let responses = person.journal(&session).await?;
    for (ask, race) in asks.iter().zip(&races) {
        let id = ask.request.interaction_id;
        let count = responses.iter().filter(|event| responds_to(&event.body, id)).count();
        ensure!(count == 1, "the journal has {count} responses to {id}");
        let fetched: Interaction = agent.get(&format!("/v1/interactions/{id}?wait=10s")).await?;
        race.check_fetched(&fetched)?;
    }
    Ok(races)
}

fn responds_to(body: &EventBody, ask: InteractionId) -> bool {
    if let EventBody::InteractionResponse(response) = body { response.interaction_id == ask } else { false }
}
