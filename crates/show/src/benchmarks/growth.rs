//! Whether calls take longer, or the gateway becomes larger, as more is stored and more is open.
//!
//! Of each kind of database three are loaded with ever more open asks, and with as many decided ones. A gateway serves
//! each of them. They are measured in turns, one call at a time, so that what disturbs the machine disturbs all three.
//! That every query has its index is tested in `crates/store/tests/it/queries.rs`.

mod calls;
mod index_cost;
mod load;

use std::time::Instant;

use crate::database::{Database, Kind};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};
use calls::{Call, Desk};
use load::Loaded;

const SMALLEST: usize = 1_000;
const LARGEST: usize = 100_000;
const ROUNDS: usize = 20;
/// How often a round makes each call on each database.
const CALLS: usize = 10;
/// What p50 may be at any size, in parts of p50 at the smallest.
const LIMIT: f64 = 1.5;
/// The same for the gateway's memory. On SQLite it has the database's cache in it, which fills up to its bound.
const MEMORY_LIMIT: f64 = 1.1;
/// What an ask with its answer may take, in parts of what it takes without the index for searches.
const INDEX_LIMIT: f64 = 2.0;

/// `growth [LARGEST]`
pub(crate) async fn show() -> Result<String> {
    let largest = std::env::args().nth(2).map_or(Ok(LARGEST), |count| count.parse())?;
    ensure!(largest >= SMALLEST * 10, "the largest size is at least {}", SMALLEST * 10);
    let (mut figures, mut beyond) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        let mut sizes = Vec::new();
        for asks in [SMALLEST, largest / 10, largest] {
            sizes.push(Size::new(kind, asks).await?);
        }
        // PostgreSQL has to choose a good plan before it has counted the rows, too.
        let mut worst = in_turns("before ANALYZE", &mut sizes).await?;
        for size in &sizes {
            size.database.run(COUNT_ROWS).await?;
        }
        worst = worst.max(in_turns("after ANALYZE", &mut sizes).await?);
        let memory = sizes.iter().map(|size| size.desk.gateway.memory()).collect::<Result<Vec<_>>>()?;
        let grown = memory[memory.len() - 1] as f64 / memory[0] as f64;
        let index = sizes[sizes.len() - 1].index_cost;
        for size in sizes {
            size.desk.gateway.stop().await?;
            size.database.remove().await?;
        }
        figures.push(format!(
            "{kind}: p50 at most {worst:.2} x that at {SMALLEST}, the gateway's memory {grown:.2} x ({} MB), an ask with \
             its answer {index:.2} x as long as without the index for searches",
            memory[memory.len() - 1] / (1024 * 1024)
        ));
        if worst > LIMIT || index > INDEX_LIMIT || (kind == Kind::Postgres && grown > MEMORY_LIMIT) {
            beyond.push(kind.to_string());
        }
    }
    let figure = format!(
        "up to {largest} open asks; {}; limits {LIMIT}, {MEMORY_LIMIT} (PostgreSQL) and {INDEX_LIMIT}",
        figures.join("; ")
    );
    ensure!(beyond.is_empty(), "{} is beyond a limit: {figure}", beyond.join(" and "));
    Ok(figure)
}

/// For SQLite and for PostgreSQL.
const DO_NOT_COUNT_ROWS: [&str; 2] = [
    "",
    "ALTER TABLE search SET (autovacuum_enabled = off); ALTER TABLE sessions SET (autovacuum_enabled = off)",
];
const COUNT_ROWS: [&str; 2] = ["", "ANALYZE search; ANALYZE sessions"];

/// `fill-decisions STORE COUNT COMMAND`: so many decided asks, one of which is about this command.
pub(crate) async fn fill() -> Result<String> {
    let [store, asks, rare] = [2, 3, 4].map(|at| std::env::args().nth(at));
    let (Some(store), Some(asks), Some(rare)) = (store, asks, rare) else {
        return Err("usage: holdstead-show fill-decisions STORE COUNT COMMAND".into());
    };
    load::decided(&store, asks.parse()?, &rare).await?;
    Ok(format!("{asks} decisions in {store}"))
}

/// A database with so many open asks, and those who use it.
struct Size {
    asks: usize,
    database: Database,
    desk: Desk,
    /// What an ask with its answer takes, in parts of what it takes without the index for searches.
    index_cost: f64,
}

impl Size {
    async fn new(kind: Kind, asks: usize) -> Result<Self> {
        let database = Database::new(kind).await?;
        let journal = holdstead_store::open(&database.url()).await?;
        database.run(DO_NOT_COUNT_ROWS).await?;
        let begin = Instant::now();
        let loaded = Loaded::new(journal.as_ref(), asks).await?;
        let head = database.number("SELECT max(length(state)) FROM sessions").await?;
        println!(
            "{kind}: loaded {asks} open asks and as many decided ones in {:.1} s; a head has at most {head} bytes",
            begin.elapsed().as_secs_f64()
        );
        let index_cost = index_cost::measure(journal.as_ref(), &database).await?;
        journal.close().await;
        let desk = Desk::new(&database.url(), loaded).await?;
        Ok(Self { asks, database, desk, index_cost })
    }
}

/// Makes the calls on all sizes and prints what they took. Returns the largest ratio to the smallest size.
async fn in_turns(when: &str, sizes: &mut [Size]) -> Result<f64> {
    println!("{when}: p50 / p99 of {} calls each", ROUNDS * CALLS);
    let mut took = vec![vec![Latencies::default(); sizes.len()]; Call::ALL.len()];
    // The first round warms caches and is not counted.
    for round in 0..=ROUNDS {
        for (call, took) in Call::ALL.iter().zip(&mut took) {
            for (size, took) in sizes.iter_mut().zip(took) {
                for _ in 0..CALLS {
                    let once = size.desk.make(*call).await?;
                    if round > 0 {
                        took.add(once);
                    }
                }
            }
        }
    }
    let mut worst: f64 = 0.0;
    for (call, took) in Call::ALL.iter().zip(&took) {
        print!("  {:<28}", format!("{call:?}"));
        for (size, took) in sizes.iter().zip(took) {
            print!(" {:>9}: {} / {}", size.asks, milliseconds(took.p50()), milliseconds(took.p99()));
        }
        println!();
        if call.must_stay_flat() {
            worst = took.iter().map(|larger| larger.ratio_to(&took[0])).fold(worst, f64::max);
        }
    }
    Ok(worst)
}
