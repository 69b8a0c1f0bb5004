//! One decision found among 100,000, and what being found costs whoever writes.
//!
//! The cost is measured on one database in turns, with the index and with a trigger that drops what would be written to it:
//! what disturbs the machine disturbs both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_core::{Command, SearchWords};
use holdstead_protocol::api::FoundKind;
use holdstead_protocol::{Origin, OwnerId, SessionId};
use holdstead_store::{FoundRecord, Journal, SearchQuery};

use crate::database::{Database, Kind};
use crate::growth::load::{approval, opening, owner, request};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};

const DECISIONS: usize = 100_000;
const PER_SESSION: usize = 50;
const AT_ONCE: usize = 64;
/// How often each query is made.
const LOOKS: usize = 100;
const LIMIT: Duration = Duration::from_secs(1);
const ROUNDS: usize = 20;
/// Asks with their answers in each half of a round.
const ANSWERS: usize = 20;
/// What p50 with the index may be, in parts of p50 without it.
const MOST: f64 = 2.0;
/// In one decision of all. Half of it is in no other, too.
const RARE: &str = "quicksilver";

pub(crate) async fn show() -> Result<String> {
    let (mut slowest, mut dearest) = (Duration::ZERO, 0.0_f64);
    for kind in Kind::ALL {
        let database = Database::new(kind).await?;
        let journal = holdstead_store::open(&database.url()).await?;
        database.run(DO_NOT_COUNT).await?;
        let begin = Instant::now();
        load(&journal).await?;
        println!("{kind}: {DECISIONS} decisions in {:.1} s", begin.elapsed().as_secs_f64());
        slowest = slowest.max(look(kind, &journal).await?);
        database.run(COUNT).await?;
        println!("{kind}: once the server has counted");
        slowest = slowest.max(look(kind, &journal).await?);
        dearest = dearest.max(cost(kind, &journal, &database).await?);
        journal.close().await;
        database.remove().await?;
    }
    let figure = format!(
        "found among {DECISIONS} decisions in at most {} (p99), for {dearest:.2} x the time of an ask with its answer",
        milliseconds(slowest)
    );
    ensure!(slowest < LIMIT, "{figure}; the limit is {}", milliseconds(LIMIT));
    ensure!(dearest < MOST, "{figure}; the limit is {MOST}");
    Ok(figure)
}

async fn load(journal: &Arc<dyn Journal>) -> Result<()> {
    stream::iter(0..DECISIONS / PER_SESSION)
        .map(|number| one_session(journal.as_ref(), number))
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await
        .map(drop)
}

async fn one_session(journal: &dyn Journal, number: usize) -> Result<()> {
    let owner = owner()?;
    let session = SessionId::generate(&owner);
    let mut opened = opening(&owner, number);
    if number == DECISIONS / PER_SESSION / 2 {
        opened.title = Some(format!("the {RARE} release"));
    }
    let mut appends = vec![journal.append(session, Command::Open(Box::new(opened)))];
    for ask in 0..PER_SESSION {
        let (asked, command) = request(session, number * PER_SESSION + ask, Origin::Caller);
        appends.push(journal.append(session, command));
        appends.push(journal.append(session, approval(asked)));
    }
    for append in appends {
        append.await?;
    }
    Ok(())
}

async fn find(
    journal: &dyn Journal,
    owner: OwnerId,
    kind: Option<FoundKind>,
    words: &str,
) -> Result<Vec<FoundRecord>> {
    let words = SearchWords::of(words).ok_or("no words")?;
    Ok(journal.search(SearchQuery { owner, words, kind, before: None, limit: 50 }).await?)
}

/// The slowest p99.
async fn look(kind: Kind, journal: &Arc<dyn Journal>) -> Result<Duration> {
    let stranger = OwnerId::new("stranger")?;
    let last = format!("kubectl restart {}", DECISIONS / 2);
    let decisions = Some(FoundKind::Decision);
    let mut slowest = Duration::ZERO;
    for (name, whose, of, words, found) in [
        ("a word of one event", owner()?, None, RARE, 1),
        ("the beginning of one", owner()?, None, "quicks", 1),
        ("a word of one decision", owner()?, decisions, last.as_str(), 1),
        ("a word of all", owner()?, decisions, "production", 50),
        ("three words of all", owner()?, decisions, "kubectl rollout production", 50),
        ("a beginning of all", owner()?, None, "pro", 50),
        ("words that never meet", owner()?, None, "quicksilver production", 0),
        ("somebody else's words", stranger, None, "production", 0),
    ] {
        let mut took = Latencies::default();
        for _ in 0..LOOKS {
            let begin = Instant::now();
            let results = find(journal.as_ref(), whose.clone(), of, words).await?;
            took.add(begin.elapsed());
            ensure!(results.len() == found, "{kind}: {name}: {} found, not {found}", results.len());
        }
        println!("{kind}: {name:<24} {took}");
        slowest = slowest.max(took.p99());
    }
    Ok(slowest)
}

/// What an ask with its answer takes, in parts of what it takes without the index.
async fn cost(kind: Kind, journal: &Arc<dyn Journal>, database: &Database) -> Result<f64> {
    let owner = owner()?;
    let session = SessionId::generate(&owner);
    journal.append(session, Command::Open(Box::new(opening(&owner, 0)))).await?;
    let (mut with, mut without) = (Latencies::default(), Latencies::default());
    database.run(OFF_ONCE).await?;
    for round in 0..=ROUNDS {
        for (off, took) in [(false, &mut with), (true, &mut without)] {
            database.run(if off { OFF } else { ON }).await?;
            for ask in 0..ANSWERS {
                let (asked, command) = request(session, ask, Origin::Caller);
                let begin = Instant::now();
                journal.append(session, command).await?;
                journal.append(session, approval(asked)).await?;
                // The first round warms caches and is not counted.
                if round > 0 {
                    took.add(begin.elapsed());
                }
            }
        }
    }
    println!("{kind}: an ask with its answer, with the index {with}, without {without}");
    Ok(with.p50().as_secs_f64() / without.p50().as_secs_f64().max(f64::MIN_POSITIVE))
}

/// For SQLite and for PostgreSQL.
type Statements = [&'static str; 2];
/// A plan has to do before the server knows how much there is, too.
const DO_NOT_COUNT: Statements = [
    "",
    "ALTER TABLE search SET (autovacuum_enabled = off); ALTER TABLE sessions SET (autovacuum_enabled = off)",
];
const COUNT: Statements = ["", "ANALYZE search; ANALYZE sessions"];
const OFF_ONCE: Statements =
    ["", "CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"];
const OFF: Statements = [
    "CREATE TRIGGER search_off BEFORE INSERT ON search BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER search_off BEFORE INSERT ON search FOR EACH ROW EXECUTE FUNCTION drop_it()",
];
const ON: Statements = ["DROP TRIGGER IF EXISTS search_off", "DROP TRIGGER IF EXISTS search_off ON search"];
