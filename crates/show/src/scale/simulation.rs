//! Nodes, databases and hints of that size, at the busiest minute: what is asked, answered and said arrives by chance, waits for a
//! core, for the database and for its log, and is hinted to all other nodes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::costs::{Assumed, Costs};
use super::plan::Plan;
use crate::latency::Latencies;

const SEED: u64 = 17;
/// Simulated seconds; the first do not count.
const LASTS: f64 = 20.0;
const FIRST: f64 = 2.0;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// From a person's answer to the agent's input.
    pub(super) answers: Latencies,
    /// From a commit to a screen at another node.
    pub(super) screens: Latencies,
    /// How busy the busiest of them was.
    pub(super) node_busy: f64,
    pub(super) database_busy: f64,
    /// Hints that each node heard a second.
    pub(super) hints: f64,
}

/// Something that happens at a time.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: f64,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// Arrives at a node.
    Comes(Append),
    /// The database gets it.
    Written(Append),
    /// Another node hears that there is something, which is nothing to it.
    Heard { node: usize },
    /// Or which somebody who is connected to it wants.
    Hinted { node: usize, append: Append, committed: f64 },
    /// A node asks the database what it is.
    Looked { node: usize, append: Append, committed: f64 },
    /// And has it.
    Seen { node: usize, append: Append, committed: f64 },
}

#[derive(Debug, Clone, Copy)]
struct Append {
    kind: Kind,
    /// When it was sent.
    from: f64,
    node: usize,
    /// The one that speaks for the agent.
    speaks: usize,
    database: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ask,
    Answer,
    Delivered,
    Word,
}

/// Cores that take one thing after the other.
#[derive(Debug, Clone)]
struct Cores {
    free: Vec<f64>,
    worked: f64,
}

impl Cores {
    fn new(count: u32) -> Self {
        Self { free: (0..count).map(|_| 0.0).collect(), worked: 0.0 }
    }

    /// When this is done.
    fn work(&mut self, now: f64, takes: f64) -> f64 {
        self.worked += takes;
        let Some(core) = self.free.iter_mut().min_by(|a, b| a.total_cmp(b)) else { return now };
        *core = core.max(now) + takes;
        *core
    }

    fn busy(&self) -> f64 {
        self.worked / LASTS / self.free.iter().map(|_| 1.0).sum::<f64>()
    }
}

/// A log whose syncs follow each other: whoever comes while one runs waits for the next, with all others that do.
#[derive(Debug, Clone, Default)]
struct Log {
    ends: f64,
    next: bool,
}

impl Log {
    fn sync(&mut self, now: f64, takes: f64) -> f64 {
        while self.next && now >= self.ends {
            self.ends += takes;
            self.next = false;
        }
        if now >= self.ends {
            self.ends = now + takes;
            return self.ends;
        }
        self.next = true;
        self.ends + takes
    }
}

struct Field<'a> {
    costs: &'a Costs,
    assumed: &'a Assumed,
    nodes: Vec<Cores>,
    databases: Vec<(Cores, Log)>,
    queue: BinaryHeap<Due>,
    rng: StdRng,
    hints: f64,
    outcome: Outcome,
}

/// So many nodes of the plan's are there.
pub(super) fn run(plan: &Plan, nodes: u32, costs: &Costs, assumed: &Assumed) -> Outcome {
    let mut field = Field {
        costs,
        assumed,
        nodes: (0..nodes).map(|_| Cores::new(assumed.node_cores)).collect(),
        databases: (0..plan.databases)
            .map(|_| (Cores::new(assumed.database_cores), Log::default()))
            .collect(),
        queue: BinaryHeap::new(),
        rng: StdRng::seed_from_u64(SEED),
        hints: 0.0,
        outcome: Outcome::default(),
    };
    let words = plan.asks_at_peak * f64::from(assumed.words_per_ask);
    for (kind, rate) in
        [(Kind::Ask, plan.asks_at_peak), (Kind::Answer, plan.asks_at_peak), (Kind::Word, words)]
    {
        field.arrivals(kind, rate);
    }
    while let Some(due) = field.queue.pop() {
        if due.at > LASTS {
            break;
        }
        field.happens(due);
    }
    let most = |busy: &mut dyn Iterator<Item = f64>| busy.fold(0.0, f64::max);
    field.outcome.node_busy = most(&mut field.nodes.iter().map(Cores::busy));
    field.outcome.database_busy = most(&mut field.databases.iter().map(|(cores, _)| cores.busy()));
    field.outcome.hints = field.hints / LASTS / f64::from(nodes);
    field.outcome
}

impl Field<'_> {
    /// So many a second, by chance.
    fn arrivals(&mut self, kind: Kind, rate: f64) {
        let mut at = 0.0;
        loop {
            at -= (1.0 - self.rng.random::<f64>()).ln() / rate;
            if at > LASTS {
                return;
            }
            let mut node = || self.rng.random_range(0..self.nodes.len());
            let (node, speaks) = (node(), node());
            // An agent's own words go to the node that speaks for it.
            let node = if kind == Kind::Answer { node } else { speaks };
            let database = self.rng.random_range(0..self.databases.len());
            self.due(at, What::Comes(Append { kind, from: at, node, speaks, database }));
        }
    }

    fn due(&mut self, at: f64, what: What) {
        self.queue.push(Due { at, what });
    }

    fn happens(&mut self, Due { at, what }: Due) {
        match what {
            What::Comes(append) => {
                let done = self.nodes[append.node].work(at, self.costs.node_append);
                self.due(done + self.assumed.way, What::Written(append));
            }
            What::Written(append) => self.written(at, append),
            What::Heard { node } => {
                self.nodes[node].work(at, self.costs.node_hint);
            }
            What::Hinted { node, append, committed } => {
                let done = self.nodes[node].work(at, self.costs.node_hint);
                self.due(done + self.assumed.way, What::Looked { node, append, committed });
            }
            What::Looked { node, append, committed } => {
                let (cores, _) = &mut self.databases[append.database];
                let done = cores.work(at, self.costs.database_read);
                self.due(done + self.assumed.way, What::Seen { node, append, committed });
            }
            What::Seen { node, append, committed } => self.seen(at, node, append, committed),
        }
    }

    fn written(&mut self, at: f64, append: Append) {
        let (cores, log) = &mut self.databases[append.database];
        let worked = cores.work(at, self.costs.database_append);
        let committed = log.sync(worked, self.assumed.sync) + self.assumed.way;
        // Whom it concerns looks at it; the others see in the hint that it is nothing to them.
        let screens = match append.kind {
            Kind::Word => self.assumed.watchers,
            Kind::Ask | Kind::Answer | Kind::Delivered => self.assumed.screens_of_a_person,
        };
        let mut concerns: Vec<usize> =
            (0..screens).map(|_| self.rng.random_range(0..self.nodes.len())).collect();
        if append.kind == Kind::Answer {
            concerns.push(append.speaks);
        }
        concerns.sort_unstable();
        concerns.dedup();
        for node in 0..self.nodes.len() {
            let here = node == append.node;
            let heard = committed + if here { 0.0 } else { self.assumed.way };
            if !here {
                self.hints += 1.0;
            }
            match (concerns.contains(&node), here) {
                // It has it already.
                (true, true) => self.due(heard, What::Seen { node, append, committed }),
                (true, false) => self.due(heard, What::Hinted { node, append, committed }),
                (false, true) => {}
                (false, false) => self.due(heard, What::Heard { node }),
            }
        }
    }

    fn seen(&mut self, at: f64, node: usize, append: Append, committed: f64) {
        let here = node == append.node;
        let takes = self.costs.node_frame + if here { 0.0 } else { self.costs.node_read };
        let done = self.nodes[node].work(at, takes);
        let counts = append.from >= FIRST;
        if append.kind == Kind::Answer && node == append.speaks {
            if counts {
                self.outcome.answers.add(Duration::from_secs_f64(done + self.assumed.way - append.from));
            }
            let delivered = Append { kind: Kind::Delivered, from: done, node, ..append };
            self.due(done, What::Comes(delivered));
        } else if counts && !here {
            self.outcome.screens.add(Duration::from_secs_f64(done + self.assumed.way - committed));
        }
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    /// The earliest is the greatest: a heap gives that first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_come_while_a_sync_runs_share_the_next() {
        let mut log = Log::default();
        assert_eq!(log.sync(1.0, 0.5), 1.5);
        assert_eq!((log.sync(1.1, 0.5), log.sync(1.4, 0.5)), (2.0, 2.0));
        assert_eq!(log.sync(1.6, 0.5), 2.5, "the second one runs by now");
        assert_eq!(log.sync(9.0, 0.5), 9.5);
    }

    #[test]
    fn what_comes_while_all_cores_work_waits() {
        let mut cores = Cores::new(2);
        assert_eq!((cores.work(0.0, 1.0), cores.work(0.0, 1.0), cores.work(0.5, 1.0)), (1.0, 1.0, 2.0));
    }
}
