//! Full cycles of ask, answer and fetch, beside what the databases do by themselves with the same rows and bytes.
//!
//! Client, gateway and database share the machine, and everything is measured in one run. Only the ratio to the bare
//! database gates; the CPU that the gateway spends on a cycle is recorded.

mod bare_postgres;
mod bare_sqlite;
pub(crate) mod cycles;
mod written;

use std::time::Duration;

use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::latency::milliseconds;
use crate::{Result, ensure};
use cycles::Callers;
use written::Written;

const CALLERS: [usize; 4] = [1, 16, 64, 256];
/// The number of callers where the limit counts.
const JUDGED_AT: usize = 64;
const MEASURED_FOR: Duration = Duration::from_secs(4);
/// Of what the database does by itself.
const LIMIT: f64 = 0.5;

pub(crate) async fn show() -> Result<String> {
    measure(&Kind::ALL).await
}

/// With a server whose disk is farther away: all callers who wait for it share one wait.
pub(crate) async fn show_on_slow_disk() -> Result<String> {
    measure(&[Kind::Postgres]).await
}

async fn measure(kinds: &[Kind]) -> Result<String> {
    let (mut figures, mut beyond) = (Vec::new(), Vec::new());
    for kind in kinds {
        let (ratio, figure) = one_kind(*kind).await?;
        if ratio < LIMIT {
            beyond.push(kind.to_string());
        }
        figures.push(figure);
    }
    let figure = format!("{JUDGED_AT} callers; {}; the limit is {LIMIT}", figures.join("; "));
    ensure!(beyond.is_empty(), "{} is below {LIMIT}: {figure}", beyond.join(" and "));
    Ok(figure)
}

/// The ratio to the bare database where the limit counts.
async fn one_kind(kind: Kind) -> Result<(f64, String)> {
    let database = Database::new(kind).await?;
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    let callers = Callers::new(&gateway, CALLERS[CALLERS.len() - 1]).await?;
    // Caches fill, connections open.
    callers.run(CALLERS[1], MEASURED_FOR / 5).await?;
    let mut measured = Vec::new();
    for count in CALLERS {
        measured.push(callers.run(count, MEASURED_FOR).await?);
    }
    gateway.stop().await?;
    let written = Written::by_cycles(&database).await?;
    println!("{kind}: a cycle writes {written}");
    let mut judged = None;
    for (callers, ours) in CALLERS.into_iter().zip(measured) {
        let (what, bare) = match kind {
            Kind::Sqlite => ("a bare loop", bare_sqlite::measure(&database.url(), &written, MEASURED_FOR)?),
            Kind::Postgres => ("pgbench", bare_postgres::measure(&written, callers, MEASURED_FOR).await?),
        };
        let ratio = ours.per_second() / bare;
        let figure = format!(
            "{kind}: {:.0} cycles/s, {ratio:.2} of {what} ({bare:.0}), CPU a cycle: gateway {}, client {}",
            ours.per_second(),
            milliseconds(ours.gateway_cpu()),
            milliseconds(ours.client_cpu())
        );
        println!("  {callers:>3} callers, {figure}");
        for (step, took) in ours.steps() {
            println!("      {step:<7} {took}");
        }
        if callers == JUDGED_AT {
            judged = Some((ratio, figure));
        }
    }
    database.remove().await?;
    Ok(judged.ok_or("nothing was judged")?)
}
