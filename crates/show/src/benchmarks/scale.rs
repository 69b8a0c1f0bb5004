//! Computes the capacity of one cell, and the number of cells for larger deployments, from measured costs. The tables of
//! `docs/scale.md` are its output.

mod cell;
mod costs;
pub(crate) mod measure;

use std::fs;

use crate::{Result, ensure};
use cell::Cell;
use costs::{ASSUMED, Costs, MEASURED};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.md");
const BEGIN: &str = "<!-- computed: just show-scale -->\n";
const END: &str = "<!-- end -->";
const MILLION: f64 = 1e6;
const TIMES: [f64; 3] = [1.0, 30.0, 1_000.0];

/// Fails where `docs/scale.md` has other figures.
pub(crate) fn show() -> Result<String> {
    let cell = Cell::of(&MEASURED, &ASSUMED);
    let computed = format!("{}\n{}\n{}", costs_table(&MEASURED), cell_table(&cell), cells_table(&cell));
    println!("{computed}");
    let guide = fs::read_to_string(GUIDE)?;
    let (before, rest) = guide.split_once(BEGIN).ok_or("docs/scale.md has no place for the figures")?;
    let (written, after) = rest.split_once(END).ok_or("the figures in docs/scale.md have no end")?;
    if std::env::var_os("WRITE_SCALE").is_some() {
        fs::write(GUIDE, format!("{before}{BEGIN}{computed}{END}{after}"))?;
    } else {
        ensure!(written == computed, "docs/scale.md has other figures: run `WRITE_SCALE=1 just show-scale`");
    }
    let cells = TIMES.map(|times| count(cell.cells_for(times * MILLION))).join(", ");
    Ok(format!(
        "one cell carries {} sessions; 1, 30 and 1,000 million sessions take {cells} cells; docs/scale.md says the same",
        count(cell.sessions)
    ))
}

fn costs_table(costs: &Costs) -> String {
    let core = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
    let kilobytes = |bytes: f64| format!("{:.1} KB", bytes / 1e3);
    table(
        ["cost", "measured"],
        &[
            ["a node appends", &core(costs.node_append)],
            ["a node hears of another node's commit", &core(costs.node_hint)],
            ["a node reads new events for a client", &core(costs.node_read)],
            ["a node sends one event to one screen", &core(costs.node_frame)],
            ["the database appends", &core(costs.database_append)],
            ["the database serves such a read", &core(costs.database_read)],
            ["memory of a node for one screen", &kilobytes(costs.screen)],
            ["stored for one ask and its answer", &kilobytes(costs.ask_stored)],
            ["stored for one line of an agent's output", &kilobytes(costs.word_stored)],
        ],
    )
}

fn cell_table(cell: &Cell) -> String {
    let terabytes = |bytes: f64| format!("{:.1} TB", bytes / 1e12);
    table(
        ["one cell", "carries"],
        &[
            ["sessions", &count(cell.sessions)],
            ["asks a day", &count(cell.asks_a_day)],
            ["asks a second in the busiest minute", &count(cell.asks_at_peak)],
            ["commits a second in the busiest minute", &count(cell.commits_at_peak)],
            ["nodes, one of them a spare", &count(cell.nodes)],
            ["connected screens", &count(cell.screens)],
            ["stored a day", &terabytes(cell.stored_a_day)],
            ["stored when everything is kept for 90 days", &terabytes(cell.stored)],
        ],
    )
}

fn cells_table(cell: &Cell) -> String {
    let rows = TIMES.map(|times| {
        let (sessions, cells) = (times * MILLION, cell.cells_for(times * MILLION));
        [count(sessions), count(cells), count(cells * cell.nodes)]
    });
    table(["sessions", "cells", "nodes in all"], &rows)
}

fn table<const N: usize, T: AsRef<str>>(head: [&str; N], rows: &[[T; N]]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rows = rows.iter().map(|row| line(row.iter().map(AsRef::as_ref).collect()));
    [line(head.to_vec()), line(vec!["---"; N])].into_iter().chain(rows).collect()
}

/// A whole number, with a comma at the thousands.
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
