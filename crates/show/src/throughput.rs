//! Full cycles of ask, answer and fetch, beside what the databases do by themselves with the same rows and bytes.
//!
//! Client, gateway and database share the machine, and everything is measured in one run. What the gateway's process
//! spent on a cycle is the steadiest figure on a noisy machine.

mod bare_postgres;
mod bare_sqlite;
pub(crate) mod cycles;
mod in_memory;
mod written;

use std::time::Duration;

use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::latency::milliseconds;
use crate::{Result, ensure};
use cycles::{Callers, Measured};
use written::Written;

const CALLERS: [usize; 4] = [1, 16, 64, 256];
/// Where the limits count.
const JUDGED_AT: usize = 64;
const MEASURED_FOR: Duration = Duration::from_secs(4);
const CPU_GOAL: Duration = Duration::from_micros(350);
const CPU_LIMIT: Duration = Duration::from_micros(500);
/// Beside `pgbench` and beside the bare loop.
const GOAL: f64 = 1.0;
const LIMIT: f64 = 0.5;

/// What a database did by itself.
#[derive(Debug, Clone)]
struct Bare {
    what: &'static str,
    per_second: f64,
}

#[derive(Debug)]
struct Row {
    callers: usize,
    ours: Measured,
    /// What we are compared with comes first.
    bare: Vec<Bare>,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.bare.first().map_or(0.0, |bare| self.ours.per_second() / bare.per_second)
    }
}

pub(crate) async fn show() -> Result<String> {
    let figure = measure(&Kind::ALL).await;
    in_memory::print(JUDGED_AT).await?;
    figure
}

/// With a server whose disk is farther away: what it costs to wait for it is paid once by all who wait.
pub(crate) async fn show_on_slow_disk() -> Result<String> {
    measure(&[Kind::Postgres]).await
}

async fn measure(kinds: &[Kind]) -> Result<String> {
    let mut figures = Vec::new();
    let mut beyond = Vec::new();
    for kind in kinds {
        let rows = one_kind(*kind).await?;
        print_rows(*kind, &rows);
        for row in rows.iter().filter(|row| row.callers == JUDGED_AT) {
            let (cpu, ratio) = (row.ours.gateway_cpu(), row.ratio());
            let beside = row.bare.first().map_or("", |bare| bare.what);
            figures.push(format!(
                "{kind}: {:.0} cycles/s, {ratio:.2} of {beside}, gateway's CPU {} a cycle",
                row.ours.per_second(),
                milliseconds(cpu)
            ));
            if cpu > CPU_LIMIT {
                beyond.push(format!("{kind} spends more than {} a cycle", milliseconds(CPU_LIMIT)));
            }
            if ratio < LIMIT {
                beyond.push(format!("{kind} is below {LIMIT} of {beside}"));
            }
        }
    }
    let figure = format!(
        "{JUDGED_AT} callers; {}; goals {GOAL:.1} and {}, limits {LIMIT} and {}",
        figures.join("; "),
        milliseconds(CPU_GOAL),
        milliseconds(CPU_LIMIT)
    );
    ensure!(beyond.is_empty(), "{}: {figure}", beyond.join(", "));
    Ok(figure)
}

async fn one_kind(kind: Kind) -> Result<Vec<Row>> {
    let database = Database::new(kind).await?;
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    let callers = Callers::new(&gateway, CALLERS[CALLERS.len() - 1], &[None]).await?;
    // Caches fill, connections open.
    callers.run(CALLERS[1], MEASURED_FOR / 5).await?;
    let mut measured = Vec::new();
    for count in CALLERS {
        measured.push((count, callers.run(count, MEASURED_FOR).await?));
    }
    gateway.stop().await?;
    let written = Written::by_cycles(&database).await?;
    println!("{kind}: a cycle writes {written}");
    let mut rows = Vec::new();
    let mut alone = Vec::new();
    for (callers, ours) in measured {
        let bare = match kind {
            // One loop, however many wait for it.
            Kind::Sqlite if rows.is_empty() => {
                alone = bare_sqlite::measure(&database.url(), &written, MEASURED_FOR)?;
                alone.clone()
            }
            Kind::Sqlite => alone.clone(),
            Kind::Postgres => bare_postgres::measure(&written, callers, MEASURED_FOR).await?,
        };
        rows.push(Row { callers, ours, bare });
    }
    database.remove().await?;
    Ok(rows)
}

fn print_rows(kind: Kind, rows: &[Row]) {
    println!("\n{kind}");
    for row in rows {
        println!("  {:>3} callers: {:>6.0} cycles/s", row.callers, row.ours.per_second());
        for Bare { what, per_second } in &row.bare {
            let ratio = row.ours.per_second() / per_second;
            println!("               {per_second:>6.0} {what}; we are at {ratio:.2}");
        }
        for (step, took) in row.ours.steps() {
            println!("               {step:<7} {took}");
        }
        println!(
            "               CPU a cycle: gateway {}, client {}",
            milliseconds(row.ours.gateway_cpu()),
            milliseconds(row.ours.client_cpu())
        );
    }
}
