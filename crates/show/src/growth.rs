//! What asking, answering and reading cost as the journal grows.
//!
//! Three databases of one kind are loaded with 1,000, 10,000 and 100,000 asks, a tenth of them open, and then measured
//! in turns, one call at a time: what disturbs the machine disturbs all three.

pub(crate) mod load;
mod measure;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use holdstead_store::QueryPlan;

use crate::database::{Database, Kind};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};
use load::Loaded;
use measure::Call;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const ROUNDS: usize = 50;
/// How often a round makes each call on each database.
const CALLS: usize = 10;
/// What p50 at the largest size may be, in parts of p50 at the smallest.
const LIMIT: f64 = 1.5;

/// What a call took, by size.
type Measured = BTreeMap<Call, [Latencies; SIZES.len()]>;

pub(crate) async fn show() -> Result<String> {
    let mut ratios = Vec::new();
    for kind in Kind::ALL {
        let measured = one_kind(kind).await?;
        print_table(kind, &measured);
        ratios.extend(measured.iter().map(|(call, sizes)| (ratio(sizes), kind, *call)));
    }
    let worst = ratios.iter().max_by(|left, right| left.0.total_cmp(&right.0));
    let (ratio, kind, call) = worst.ok_or("nothing was measured")?;
    let figure = format!("p50 at 100,000 asks is at most {ratio:.2} x that at 1,000 ({kind}, {call})");
    ensure!(*ratio <= LIMIT, "{figure}; the limit is {LIMIT}. {}", call.limited_by(*kind));
    Ok(format!("{figure}; the limit is {LIMIT}"))
}

/// `fill-decisions STORE COUNT COMMAND`: that many decided asks, one of them about this command.
pub(crate) async fn fill() -> Result<String> {
    let [store, asks, rare] = [2, 3, 4].map(|at| std::env::args().nth(at));
    let (Some(store), Some(asks), Some(rare)) = (store, asks, rare) else {
        return Err("usage: holdstead-show fill-decisions STORE COUNT COMMAND".into());
    };
    load::decided(&store, asks.parse()?, &rare).await?;
    Ok(format!("{asks} decisions in {store}"))
}

async fn one_kind(kind: Kind) -> Result<Measured> {
    let mut databases = Vec::new();
    let mut loaded = Vec::new();
    for size in SIZES {
        let database = Database::new(kind).await?;
        let begin = Instant::now();
        loaded.push(Loaded::new(&database.url(), size).await?);
        println!("{kind}: loaded {size} asks, {} open, in {:.1} s", size / 10, begin.elapsed().as_secs_f64());
        databases.push(database);
    }
    let mut measured = Measured::new();
    // The first round warms caches and is not counted.
    for round in 0..=ROUNDS {
        for call in Call::ALL {
            for (at, loaded) in loaded.iter_mut().enumerate() {
                for _ in 0..CALLS {
                    let took: Duration = call.make(loaded).await?;
                    if round > 0 {
                        measured.entry(call).or_default()[at].add(took);
                    }
                }
            }
        }
    }
    if let Some(largest) = loaded.last() {
        print_plans(kind, &largest.journal.plans().await?)?;
    }
    for loaded in loaded {
        loaded.journal.close().await;
    }
    for database in databases {
        database.remove().await?;
    }
    Ok(measured)
}

fn ratio(sizes: &[Latencies; SIZES.len()]) -> f64 {
    let [smallest, .., largest] = sizes;
    largest.p50().as_secs_f64() / smallest.p50().as_secs_f64().max(f64::MIN_POSITIVE)
}

fn print_table(kind: Kind, measured: &Measured) {
    println!("\n{kind}: p50 / p99 of {} calls each, one at a time, by asks stored", ROUNDS * CALLS);
    println!("{:<20} {:>22} {:>22} {:>22} {:>8}", "", "1,000", "10,000", "100,000", "ratio");
    for (call, sizes) in measured {
        print!("{:<20}", call.to_string());
        for latencies in sizes {
            let cell = format!("{} / {}", milliseconds(latencies.p50()), milliseconds(latencies.p99()));
            print!(" {cell:>22}");
        }
        println!(" {:>8.2}", ratio(sizes));
    }
    println!();
}

/// Prints how the queries run, and fails if one reads more than it returns.
fn print_plans(kind: Kind, plans: &[QueryPlan]) -> Result<()> {
    println!("\n{kind}: the plans at 100,000 asks");
    for QueryPlan { name, plan } in plans {
        println!("  {name}");
        for line in plan.lines() {
            println!("    {line}");
        }
    }
    let whole_table: &[&str] = match kind {
        Kind::Sqlite => &["SCAN", "TEMP B-TREE"],
        Kind::Postgres => &["Seq Scan", "Sort", "Hash", "Bitmap"],
    };
    for QueryPlan { name, plan } in plans {
        // What is open is counted by looking at all of it, in an index that has nothing else.
        let plan = plan.replace("SCAN asks USING COVERING INDEX", "");
        let bad = whole_table.iter().find(|word| plan.contains(**word));
        ensure!(bad.is_none(), "{kind} would read a whole table for `{name}`:\n{plan}");
    }
    println!("{WHY}");
    Ok(())
}

const WHY: &str = "
Why the same plans carry 10,000,000 asks with 1,000,000 open: no plan reads a table. Each is a search in a B-tree
followed by exactly the rows that are returned: a page of 50 asks is one descent into `asks_live` and 50 neighbours,
each with three lookups by primary key; a replay page is one descent and 100 neighbours. A hundred times the rows is
one more level of a tree whose upper levels stay in memory. `asks_live` is partial: it holds the million that are open,
not the ten million that were asked. To ask or to answer is to read and write one head, one ask and one event by key;
no count, no sum and no fold of the journal is on the way. One plan does grow, with what is open and not with what is
stored: `live count` with the open asks of one owner.";
