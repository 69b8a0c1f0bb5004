//! What things cost, as measured by other shows, and what is assumed about the people and programs that use it.

/// One run on a machine with two cores that everything shared; `docs/scale.md` says which show printed what. Seconds of one
/// core, and bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// A node, for something that is asked, answered or said.
    pub(super) node_append: f64,
    /// A node, to learn from another one that there is something new, and to see that it is nothing to it.
    pub(super) node_hint: f64,
    /// A node, to read what is new for somebody who is connected to it.
    pub(super) node_read: f64,
    /// A node, to pass one event to one screen.
    pub(super) node_frame: f64,
    pub(super) database_append: f64,
    pub(super) database_read: f64,
    /// Memory of a node for one screen.
    pub(super) screen: f64,
    /// What is stored for an ask with its answer, and for an agent's words, with indexes.
    pub(super) ask_stored: f64,
    pub(super) word_stored: f64,
    /// What an ask that is open takes beyond that.
    pub(super) open_stored: f64,
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
    open_stored: 1_400.0,
};

/// What nobody measured here. Put in your own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumed {
    /// The busiest minute of the day beside the average.
    pub(super) peak: f64,
    /// An ask takes three appends; an agent says so many things beside it that are appended by themselves.
    pub(super) words_per_ask: u32,
    /// Screens that show what an agent says while it says it, and all that show one person's inbox.
    pub(super) watchers: u32,
    pub(super) screens_of_a_person: u32,
    /// A machine of a node, and of a database.
    pub(super) node_cores: u32,
    pub(super) node_memory: f64,
    pub(super) database_cores: u32,
    /// How busy they may be at the peak.
    pub(super) busy: f64,
    /// A sync of a database's log, with its copy on another machine, and the way from machine to machine. Seconds.
    pub(super) sync: f64,
    pub(super) way: f64,
    /// Dollars a month: a core with four gigabytes of memory, and a gigabyte on disk, of which there are two copies.
    pub(super) core_price: f64,
    pub(super) disk_price: f64,
    /// How long everything is kept.
    pub(super) days_kept: f64,
}

pub(super) const ASSUMED: Assumed = Assumed {
    peak: 4.0,
    words_per_ask: 20,
    watchers: 1,
    screens_of_a_person: 2,
    node_cores: 4,
    node_memory: 8e9,
    database_cores: 8,
    busy: 0.5,
    sync: 0.002,
    way: 0.000_5,
    core_price: 30.0,
    disk_price: 0.25,
    days_kept: 90.0,
};

/// Whom it is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) name: &'static str,
    pub(super) sessions: f64,
    pub(super) asks_a_day: f64,
    pub(super) open: f64,
    pub(super) screens: f64,
}

pub(super) const SIZES: [Size; 3] = [
    Size { name: "a team", sessions: 1e3, asks_a_day: 1e4, open: 1e3, screens: 100.0 },
    Size { name: "a company", sessions: 3e4, asks_a_day: 3e5, open: 3e4, screens: 3e3 },
    Size { name: "a platform", sessions: 1e6, asks_a_day: 1e7, open: 1e6, screens: 1e5 },
];
