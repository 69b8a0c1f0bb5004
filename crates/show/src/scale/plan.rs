//! How many machines a size takes. Arithmetic only.

use super::costs::{Assumed, Costs, Size};

/// What there has to be, and what it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) asks_at_peak: f64,
    pub(super) commits_at_peak: f64,
    pub(super) nodes: u32,
    /// So many of them would do.
    pub(super) possible: bool,
    pub(super) databases: u32,
    /// Of all nodes together, for screens.
    pub(super) memory: f64,
    pub(super) stored_a_day: f64,
    /// At the end of the time that everything is kept.
    pub(super) stored: f64,
    /// Of that, what waits for people.
    pub(super) stored_open: f64,
    pub(super) dollars_a_month: f64,
}

const DAY: f64 = 86_400.0;
/// Of an ask: made, answered, delivered.
const APPENDS: f64 = 3.0;

impl Plan {
    pub(super) fn of(size: &Size, costs: &Costs, assumed: &Assumed) -> Self {
        let asks_at_peak = size.asks_a_day / DAY * assumed.peak;
        let words = f64::from(assumed.words_per_ask);
        let commits_at_peak = asks_at_peak * (APPENDS + words);
        let databases = databases(asks_at_peak, commits_at_peak, costs, assumed);
        let found = nodes(size, asks_at_peak, commits_at_peak, costs, assumed);
        let (nodes, possible) = (found.unwrap_or(MOST), found.is_some());
        let stored_a_day = size.asks_a_day * (costs.ask_stored + words * costs.word_stored);
        let stored_open = size.open * costs.open_stored;
        let stored = stored_a_day * assumed.days_kept + stored_open;
        let cores = nodes * assumed.node_cores + 2 * databases * assumed.database_cores;
        let dollars_a_month = f64::from(cores) * assumed.core_price + 2.0 * stored / 1e9 * assumed.disk_price;
        Self {
            asks_at_peak,
            commits_at_peak,
            nodes,
            possible,
            databases,
            memory: size.screens * costs.screen,
            stored_a_day,
            stored,
            stored_open,
            dollars_a_month,
        }
    }
}

fn databases(asks: f64, commits: f64, costs: &Costs, assumed: &Assumed) -> u32 {
    let reads = asks * APPENDS * f64::from(assumed.screens_of_a_person)
        + asks * f64::from(assumed.words_per_ask) * f64::from(assumed.watchers);
    let work = commits * costs.database_append + reads * costs.database_read;
    whole(work / (f64::from(assumed.database_cores) * assumed.busy))
}

/// The smallest number of which one may be away, if there is one.
fn nodes(size: &Size, asks: f64, commits: f64, costs: &Costs, assumed: &Assumed) -> Option<u32> {
    let words = asks * f64::from(assumed.words_per_ask) * f64::from(assumed.watchers);
    let frames = asks * APPENDS * f64::from(assumed.screens_of_a_person) + words;
    let in_memory = whole(size.screens * costs.screen / (assumed.node_memory * assumed.busy));
    let enough = |nodes: &u32| {
        // Each hears of what all others wrote: this part does not get smaller with more of them.
        let others = f64::from(nodes.saturating_sub(1)) / f64::from(*nodes);
        let shared = commits * costs.node_append + frames * (costs.node_read + costs.node_frame);
        let each = shared / f64::from(*nodes) + commits * others * costs.node_hint;
        each <= f64::from(assumed.node_cores) * assumed.busy
    };
    (in_memory..MOST).find(enough).map(|nodes| nodes + 1)
}

/// Beyond this, more of them do not help.
const MOST: u32 = 1_000;

/// The next whole number; at least one.
fn whole(number: f64) -> u32 {
    (1..=MOST).find(|whole| f64::from(*whole) >= number).unwrap_or(MOST)
}
