//! What it takes for a team, a company and a platform: arithmetic from what was measured, and a simulation of nodes, databases and hints
//! at that size. Its table is the one in `docs/scale.md`.

mod costs;
pub(crate) mod measure;
mod plan;
mod simulation;

use std::fs;

use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};
use costs::{ASSUMED, Costs, MEASURED, SIZES, Size};
use plan::Plan;
use simulation::Outcome;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.md");
/// Around what is computed.
const BEGIN: &str = "<!-- computed: just show-scale -->\n";
const END: &str = "<!-- end -->";

pub(crate) fn show() -> Result<String> {
    let computed = format!("{}\n{}\n{}", costs_table(&MEASURED), sizes_table()?, growing_table());
    println!("{computed}");
    let guide = fs::read_to_string(GUIDE)?;
    let (before, rest) = guide.split_once(BEGIN).ok_or("docs/scale.md has no place for the figures")?;
    let (written, after) = rest.split_once(END).ok_or("the figures in docs/scale.md have no end")?;
    if std::env::var_os("WRITE_SCALE").is_some() {
        fs::write(GUIDE, format!("{before}{BEGIN}{computed}{END}{after}"))?;
    } else {
        ensure!(written == computed, "docs/scale.md has other figures: run `WRITE_SCALE=1 just show-scale`");
    }
    let figures = SIZES.iter().map(|size| {
        let plan = Plan::of(size, &MEASURED, &ASSUMED);
        format!("{}: {} nodes, {} databases", size.name, plan.nodes, plan.databases)
    });
    Ok(format!("{}; docs/scale.md says the same", figures.collect::<Vec<_>>().join("; ")))
}

fn costs_table(costs: &Costs) -> String {
    let core = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
    let kilobytes = |bytes: f64| format!("{:.1} KB", bytes / 1e3);
    table(
        &["cost", "measured"],
        &[
            vec!["a node, for an append".to_owned(), core(costs.node_append)],
            vec!["a node, for a hint that is nothing to it".to_owned(), core(costs.node_hint)],
            vec!["a node, to read what a hint is about".to_owned(), core(costs.node_read)],
            vec!["a node, for one event to one screen".to_owned(), core(costs.node_frame)],
            vec!["a database, for an append".to_owned(), core(costs.database_append)],
            vec!["a database, for such a read".to_owned(), core(costs.database_read)],
            vec!["memory of a node for a screen".to_owned(), kilobytes(costs.screen)],
            vec!["stored for an ask and its answer".to_owned(), kilobytes(costs.ask_stored)],
            vec!["stored for a word of an agent's".to_owned(), kilobytes(costs.word_stored)],
            vec!["of that, what is read for an open ask".to_owned(), kilobytes(costs.open_stored)],
        ],
    )
}

/// One column a size.
fn sizes_table() -> Result<String> {
    let mut columns = Vec::new();
    for size in &SIZES {
        let plan = Plan::of(size, &MEASURED, &ASSUMED);
        let all = simulation::run(&plan, plan.nodes, &MEASURED, &ASSUMED);
        let one_away = simulation::run(&plan, plan.nodes - 1, &MEASURED, &ASSUMED);
        ensure!(one_away.node_busy < 0.9, "{}: with a node away the others do not suffice", size.name);
        columns.push(column(size, &plan, &all, &one_away));
    }
    let names: Vec<_> =
        ["at the busiest minute"].into_iter().chain(SIZES.iter().map(|size| size.name)).collect();
    let rows: Vec<_> = (0..columns.first().map_or(0, Vec::len))
        .map(|row| {
            let what = columns.iter().take(1).map(|column| column[row].0.to_owned());
            what.chain(columns.iter().map(|column| column[row].1.clone())).collect()
        })
        .collect();
    Ok(table(&names, &rows))
}

fn column(size: &Size, plan: &Plan, all: &Outcome, one_away: &Outcome) -> Vec<(&'static str, String)> {
    let both = |latencies: &Latencies| {
        format!("{}, {}", milliseconds(latencies.p50()), milliseconds(latencies.p99()))
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    vec![
        ("sessions", count(size.sessions)),
        ("asks a day", count(size.asks_a_day)),
        ("open at once", count(size.open)),
        ("screens", count(size.screens)),
        ("asks a second", one_digit(plan.asks_at_peak)),
        ("commits a second", count(plan.commits_at_peak)),
        ("nodes, one of them to spare", plan.nodes.to_string()),
        ("databases, each with a copy", plan.databases.to_string()),
        ("memory of nodes for screens", bytes(plan.memory)),
        ("hints a second that each node hears", count(all.hints)),
        (
            "busiest node, and with one away",
            format!("{}, {}", percent(all.node_busy), percent(one_away.node_busy)),
        ),
        ("busiest database", percent(all.database_busy)),
        ("answer to agent, p50 and p99", both(&all.answers)),
        ("the same with a node away", both(&one_away.answers)),
        ("commit to another node's screen, p50 and p99", both(&all.screens)),
        ("stored a day", bytes(plan.stored_a_day)),
        ("stored when all is kept for 90 days", bytes(plan.stored)),
        ("of that, open asks", bytes(plan.stored_open)),
        ("dollars a month", count(plan.dollars_a_month)),
    ]
}

/// What becomes of it with ever more: hints are what does not get less with more nodes.
fn growing_table() -> String {
    let platform = &SIZES[SIZES.len() - 1];
    let rows = [1.0, 3.0, 10.0, 30.0].map(|times| {
        let size = Size {
            sessions: platform.sessions * times,
            asks_a_day: platform.asks_a_day * times,
            open: platform.open * times,
            screens: platform.screens * times,
            ..*platform
        };
        let plan = Plan::of(&size, &MEASURED, &ASSUMED);
        let hints = plan.commits_at_peak * MEASURED.node_hint / f64::from(ASSUMED.node_cores);
        let nodes = if plan.possible { plan.nodes.to_string() } else { "no number suffices".to_owned() };
        vec![
            format!("{times:.0} ×"),
            count(plan.commits_at_peak),
            nodes,
            plan.databases.to_string(),
            format!("{:.0} %", hints * 100.0),
        ]
    });
    table(&["a platform", "commits a second", "nodes", "databases", "of each node for hints alone"], &rows)
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads: Vec<_> = heads.iter().map(|head| (*head).to_owned()).collect();
    let rule: Vec<_> = heads.iter().map(|_| "---".to_owned()).collect();
    [line(&heads), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

fn one_digit(number: f64) -> String {
    format!("{number:.1}")
}

/// With a comma at the thousands.
fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bytes(number: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut number = number;
    let mut unit = 0;
    while number >= 1e3 && unit + 1 < units.len() {
        number /= 1e3;
        unit += 1;
    }
    format!("{number:.1} {}", units[unit])
}
