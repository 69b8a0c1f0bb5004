//! What asking, answering and the inbox cost as more and more people are asked, and whether the gateway grows with it.
//!
//! Databases with ever more open asks are loaded through the store, each with a gateway of its own, and then measured in
//! turns over HTTP, one call at a time: what disturbs the machine disturbs all of them.

mod load;
mod measure;

use std::time::Instant;

use crate::database::{Database, Kind};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};
use load::Loaded;
use measure::{Call, Desk};

const SMALLEST: usize = 1_000;
const LARGEST: usize = 1_000_000;
const ROUNDS: usize = 30;
/// How often a round makes each call on each gateway.
const CALLS: usize = 10;
/// What p50 may be at any size, in parts of p50 at the smallest.
const LIMIT: f64 = 1.5;
/// The same for the gateway's memory.
const MEMORY_LIMIT: f64 = 1.1;

/// `open-asks [LARGEST]`
pub(crate) async fn show() -> Result<String> {
    let largest = std::env::args().nth(2).map_or(Ok(LARGEST), |count| count.parse())?;
    ensure!(largest >= SMALLEST * 10, "the largest size is at least {}", SMALLEST * 10);
    let mut sizes = Vec::new();
    for asks in [SMALLEST, largest / 10, largest] {
        sizes.push(Size::new(asks).await?);
    }
    // The first round warms caches and is not counted.
    for round in 0..=ROUNDS {
        for call in Call::ALL {
            for size in &mut sizes {
                for _ in 0..CALLS {
                    let took = size.desk.make(call).await?;
                    if round > 0 {
                        size.took[call as usize].add(took);
                    }
                }
            }
        }
    }
    for size in &mut sizes {
        size.memory = size.desk.memory()?;
    }
    print_table(&sizes);
    let (ratio, call, asks) = worst(&sizes).ok_or("nothing was measured")?;
    let grown = grown(&sizes).ok_or("nothing was weighed")?;
    for size in sizes {
        size.desk.close().await?;
        size.database.remove().await?;
    }
    let figure = format!(
        "up to {largest} open asks: p50 at most {ratio:.2} x that at {SMALLEST} ({call}, at {asks}; limit {LIMIT}), the \
         gateway's memory {grown:.2} x (limit {MEMORY_LIMIT})"
    );
    ensure!(ratio <= LIMIT && grown <= MEMORY_LIMIT, "beyond a limit: {figure}");
    Ok(figure)
}

/// A database with so many open asks, and a gateway on it.
#[derive(Debug)]
struct Size {
    asks: usize,
    database: Database,
    desk: Desk,
    /// By call.
    took: [Latencies; Call::ALL.len()],
    memory: u64,
}

impl Size {
    async fn new(asks: usize) -> Result<Self> {
        let database = Database::new(Kind::Postgres).await?;
        let begin = Instant::now();
        let loaded = Loaded::new(&database.url(), asks).await?;
        println!(
            "{asks} open asks of {} owners, {} of one of them, in {:.1} s; a head has at most {} bytes",
            load::OWNERS,
            loaded.open.len(),
            begin.elapsed().as_secs_f64(),
            loaded.largest_head
        );
        let desk = Desk::new(&database.url(), loaded).await?;
        Ok(Self { asks, database, desk, took: Default::default(), memory: 0 })
    }
}

/// The largest ratio to the smallest size, and where it is.
fn worst(sizes: &[Size]) -> Option<(f64, Call, usize)> {
    let (smallest, larger) = sizes.split_first()?;
    let ratios = larger.iter().flat_map(|size| {
        Call::ALL.map(|call| {
            let p50 = |size: &Size| size.took[call as usize].p50().as_secs_f64();
            (p50(size) / p50(smallest).max(f64::MIN_POSITIVE), call, size.asks)
        })
    });
    ratios.max_by(|left, right| left.0.total_cmp(&right.0))
}

fn grown(sizes: &[Size]) -> Option<f64> {
    let (smallest, larger) = sizes.split_first()?;
    larger.iter().map(|size| size.memory as f64 / smallest.memory.max(1) as f64).max_by(f64::total_cmp)
}

fn print_table(sizes: &[Size]) {
    println!("\nPostgreSQL: p50 / p99 of {} calls each, one at a time, by open asks", ROUNDS * CALLS);
    print!("{:<20}", "");
    for size in sizes {
        print!(" {:>22}", size.asks);
    }
    println!();
    for call in Call::ALL {
        print!("{:<20}", call.to_string());
        for size in sizes {
            let took = &size.took[call as usize];
            print!(" {:>22}", format!("{} / {}", milliseconds(took.p50()), milliseconds(took.p99())));
        }
        println!();
    }
    print!("{:<20}", "gateway's memory");
    for size in sizes {
        print!(" {:>22}", format!("{:.1} MB", size.memory as f64 / (1024.0 * 1024.0)));
    }
    println!("\n");
}
