//! What an operation costs, as `show-costs` and `show-fanout` measured it, and what we assume about the users.

/// Measured on a machine with two cores that callers, gateway and database shared, so each figure is rather too high.
/// Times are seconds of one core, sizes are bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) node_append: f64,
    /// A node hears that another node wrote something, and none of its clients follows that session.
    pub(super) node_hint: f64,
    /// A node reads new events for a client that follows the session.
    pub(super) node_read: f64,
    /// A node sends one event to one screen.
    pub(super) node_frame: f64,
    pub(super) database_append: f64,
    pub(super) database_read: f64,
    /// Memory of a node for one connected screen.
    pub(super) screen: f64,
    /// One ask with its answer, and one line of an agent's output; both with their indexes.
    pub(super) ask_stored: f64,
    pub(super) word_stored: f64,
}

pub(super) const MEASURED: Costs = Costs {
    node_append: 0.000_260,
    node_hint: 0.000_008,
    node_read: 0.000_095,
    node_frame: 0.000_003,
    database_append: 0.000_290,
    database_read: 0.000_175,
    screen: 24_000.0,
    ask_stored: 7_200.0,
    word_stored: 450.0,
};

/// What we did not measure. Replace it by your own figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumed {
    /// The busiest minute of a day, as a multiple of its average.
    pub(super) peak: f64,
    pub(super) asks_per_session_and_day: f64,
    /// Lines of output that an agent writes for each ask, each appended by itself.
    pub(super) words_per_ask: f64,
    /// Screens that show an agent's output live, and screens that show one person's inbox.
    pub(super) watchers: f64,
    pub(super) screens_of_a_person: f64,
    /// Connected screens, as a share of the sessions.
    pub(super) screens_per_session: f64,
    pub(super) node_cores: f64,
    pub(super) node_memory: f64,
    pub(super) database_cores: f64,
    /// How busy a machine may be in the busiest minute.
    pub(super) busy: f64,
    pub(super) days_kept: f64,
}

pub(super) const ASSUMED: Assumed = Assumed {
    peak: 4.0,
    asks_per_session_and_day: 10.0,
    words_per_ask: 20.0,
    watchers: 1.0,
    screens_of_a_person: 2.0,
    screens_per_session: 0.1,
    node_cores: 4.0,
    node_memory: 8e9,
    database_cores: 8.0,
    busy: 0.5,
    days_kept: 90.0,
};
