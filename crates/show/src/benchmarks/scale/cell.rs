//! The capacity of one cell (nodes, one PostgreSQL, NATS), and how many cells a number of sessions needs.

use super::costs::{Assumed, Costs};

const DAY: f64 = 86_400.0;
/// The appends of an ask: opened, answered, delivered.
const APPENDS: f64 = 3.0;

/// A cell whose database is as busy as we allow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) sessions: f64,
    pub(super) asks_a_day: f64,
    pub(super) asks_at_peak: f64,
    pub(super) commits_at_peak: f64,
    /// One of them is a spare.
    pub(super) nodes: f64,
    pub(super) screens: f64,
    pub(super) stored_a_day: f64,
    pub(super) stored: f64,
}

impl Cell {
    pub(super) fn of(costs: &Costs, assumed: &Assumed) -> Self {
        let commits = APPENDS + assumed.words_per_ask;
        // A screen elsewhere reads each step of an ask, and each line of output that it watches.
        let reads = APPENDS * assumed.screens_of_a_person + assumed.words_per_ask * assumed.watchers;
        let database_per_ask = commits * costs.database_append + reads * costs.database_read;
        let asks_at_peak = assumed.database_cores * assumed.busy / database_per_ask;
        let asks_a_day = asks_at_peak / assumed.peak * DAY;
        let sessions = asks_a_day / assumed.asks_per_session_and_day;
        let screens = sessions * assumed.screens_per_session;
        let stored_a_day = asks_a_day * (costs.ask_stored + assumed.words_per_ask * costs.word_stored);
        let commits_at_peak = asks_at_peak * commits;
        let shared =
            commits_at_peak * costs.node_append + asks_at_peak * reads * (costs.node_read + costs.node_frame);
        Self {
            sessions,
            asks_a_day,
            asks_at_peak,
            commits_at_peak,
            nodes: 1.0 + nodes(commits_at_peak, shared, screens, costs, assumed),
            screens,
            stored_a_day,
            stored: stored_a_day * assumed.days_kept,
        }
    }

    pub(super) fn cells_for(&self, sessions: f64) -> f64 {
        (sessions / self.sessions).ceil()
    }
}

/// The smallest number of nodes that carries the load. Every node hears of every commit of the others, which more nodes
/// do not share: without a bound on the commits of a cell this loop would not end.
fn nodes(commits: f64, shared: f64, screens: f64, costs: &Costs, assumed: &Assumed) -> f64 {
    let limit = assumed.node_cores * assumed.busy;
    let mut nodes = (screens * costs.screen / (assumed.node_memory * assumed.busy)).ceil().max(1.0);
    while shared / nodes + commits * (nodes - 1.0) / nodes * costs.node_hint > limit {
        nodes += 1.0;
    }
    nodes
}
