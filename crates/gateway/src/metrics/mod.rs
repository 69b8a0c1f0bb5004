//! What whoever watches over gateways needs to know of this one: numbers, and nothing that anybody said.
//!
//! Every label's name and value is a word of this program (`&'static str`): no name, id, path or input can become one.

mod counted;

use std::sync::PoisonError;
use std::time::Duration;

use holdstead_store::{Age, Waiting, WaitsFor, WriterLoad};
use tokio::time::{Instant, timeout};

pub(crate) use counted::Counted;
use counted::{BOUNDS, Histogram};

use crate::Gateway;
use crate::node::NodeLook;

/// How often the store is asked, however often it is scraped.
const LOOK: Duration = Duration::from_secs(5);
/// A look that took long is repeated rarely: it may take this part of one connection's time.
const PART: u32 = 50;
/// How long a look may take: it is counted as none then, and whoever scrapes waits no longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A number by a name, or several told apart by labels.
#[derive(Debug)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
    pub values: Values,
}

#[derive(Debug)]
pub enum Values {
    /// Only grows while the process lives.
    Counter(Vec<Value>),
    Gauge(Vec<Value>),
    Histogram(Observed),
}

#[derive(Debug)]
pub struct Value {
    pub labels: Vec<(&'static str, &'static str)>,
    pub value: f64,
}

#[derive(Debug)]
pub struct Observed {
    /// The upper end of each bucket in seconds.
    pub bounds: &'static [f64],
    /// How many were in each, and how many above the last.
    pub counts: Vec<u64>,
    pub seconds: f64,
}

impl Metric {
    pub fn counter(name: &'static str, help: &'static str, values: Vec<Value>) -> Self {
        Self { name, help, values: Values::Counter(values) }
    }

    pub fn gauge(name: &'static str, help: &'static str, values: Vec<Value>) -> Self {
        Self { name, help, values: Values::Gauge(values) }
    }

    fn histogram(name: &'static str, help: &'static str, histogram: &Histogram) -> Self {
        let (counts, seconds) = (histogram.counts(), histogram.seconds());
        Self { name, help, values: Values::Histogram(Observed { bounds: &BOUNDS, counts, seconds }) }
    }
}

impl Value {
    /// The only one of its name.
    pub fn only(value: f64) -> Vec<Self> {
        vec![Self { labels: Vec::new(), value }]
    }

    pub fn labelled(label: &'static str, word: &'static str, value: f64) -> Self {
        Self { labels: vec![(label, word)], value }
    }
}

/// What the store said when it was asked last.
#[derive(Debug, Default)]
pub(crate) struct LastLook(tokio::sync::Mutex<Option<Looked>>);

#[derive(Debug, Clone)]
struct Looked {
    at: Instant,
    took: Duration,
    is_ready: bool,
    waiting: Option<Waiting>,
}

impl Gateway {
    /// Everything that is counted here. Never fails: what the store did not say is left out.
    pub async fn metrics(&self) -> Vec<Metric> {
        let looked = self.look().await;
        let mut metrics = self.counted();
        metrics.extend(self.here());
        metrics.extend(writer(self.inner.journal.writer_load()));
        metrics.push(Metric::gauge(
            "holdstead_ready",
            "1 where this node can serve: its writer, its database and its place among the nodes, as /readyz says.",
            Value::only(flag(looked.is_ready)),
        ));
        if let Some(waiting) = looked.waiting {
            metrics.extend(waiting_asks(&waiting));
        }
        metrics
    }

    /// One at a time asks, and all others have what it was told.
    async fn look(&self) -> Looked {
        let mut last = self.inner.last_look.0.lock().await;
        if let Some(looked) = &*last
            && looked.at.elapsed() < LOOK.max(looked.took * PART)
        {
            return looked.clone();
        }
        let begin = Instant::now();
        let waiting = timeout(PATIENCE, self.inner.journal.waiting());
        let (is_ready, waiting) = tokio::join!(timeout(PATIENCE, self.ready()), waiting);
        let is_ready = matches!(is_ready, Ok(Ok(())));
        let waiting = waiting.ok().and_then(Result::ok);
        // What failed is tried again soon, however long that took.
        let took = if waiting.is_some() { begin.elapsed() } else { Duration::ZERO };
        let looked = Looked { at: Instant::now(), took, is_ready, waiting };
        *last = Some(looked.clone());
        looked
    }

    fn counted(&self) -> Vec<Metric> {
        let counted = &self.inner.counted;
        let events = counted.events().map(|(word, count)| Value::labelled("type", word, number(count)));
        let deliveries =
            counted.deliveries().map(|(word, count)| Value::labelled("state", word, number(count)));
        let stalls = vec![
            Value::labelled("operation", "session", number(counted.session_stalls.get())),
            Value::labelled("operation", "read", number(counted.read_stalls.get())),
        ];
        vec![
            Metric::counter(
                "holdstead_events_total",
                "Events that this node wrote to journals, by their type.",
                events.collect(),
            ),
            Metric::counter(
                "holdstead_deliveries_total",
                "Steps of answers on their way to the agent or program that asked, written by this node.",
                deliveries.collect(),
            ),
            Metric::counter(
                "holdstead_retries_total",
                "How often something failed for want of the store or a process and is tried again.",
                stalls,
            ),
            Metric::counter(
                "holdstead_data_loss_total",
                "Agents that are not listened to because the journal lacks what it had of them: the database went back.",
                Value::only(number(counted.lacking.get())),
            ),
            Metric::counter(
                "holdstead_notifications_missed_total",
                "How often this node missed what others told it and read again everything that is followed here.",
                Value::only(number(counted.hints_missed.get())),
            ),
            Metric::counter(
                "holdstead_lease_lost_total",
                "How often this node could not renew its lease in time and spoke for no agent until it could.",
                Value::only(number(counted.silences.get())),
            ),
            Metric::histogram(
                "holdstead_append_seconds",
                "From when an append was queued until it was durable.",
                &counted.append,
            ),
            Metric::histogram(
                "holdstead_ask_answered_seconds",
                "From when an ask was opened until a person answered it.",
                &counted.answered,
            ),
            Metric::histogram(
                "holdstead_answer_delivered_seconds",
                "From when an answer was durable until the agent had it.",
                &counted.delivered,
            ),
            Metric::histogram(
                "holdstead_remote_fanout_seconds",
                "From the notification that another node wrote events until the subscribers here were told.",
                &counted.followed,
            ),
        ]
    }

    /// What there is in this process now.
    fn here(&self) -> Vec<Metric> {
        let inner = &self.inner;
        let (sessions, inboxes) = inner.hub.watchers();
        let tasks = inner.sessions.lock().unwrap_or_else(PoisonError::into_inner).len();
        let streams = vec![
            Value::labelled("kind", "session", size(sessions)),
            Value::labelled("kind", "inbox", size(inboxes)),
        ];
        let mut metrics = vec![
            Metric::gauge(
                "holdstead_subscribers",
                "Screens and programs that follow sessions and inboxes on this node.",
                streams,
            ),
            Metric::gauge(
                "holdstead_session_tasks",
                "Sessions that this node speaks for and has something to do in.",
                Value::only(size(tasks)),
            ),
            Metric::gauge(
                "holdstead_runners",
                "Machines with agents that dialled in to this node.",
                Value::only(size(inner.runners.dialled_in())),
            ),
        ];
        if let Some(node) = &inner.node {
            metrics.extend(among_nodes(node.look()));
        }
        metrics
    }
}

fn among_nodes(look: NodeLook) -> [Metric; 5] {
    [
        Metric::gauge(
            "holdstead_node_serving",
            "1 while this node has its place among the nodes; 0 while it could not renew for too long.",
            Value::only(flag(look.serves)),
        ),
        Metric::gauge(
            "holdstead_node_lease_age_seconds",
            "How long ago this node last renewed its lease. It is silent after six seconds, and dead after ten.",
            Value::only(look.renewed.as_secs_f64()),
        ),
        Metric::gauge(
            "holdstead_nodes",
            "Nodes that live, as this one saw at its last renewal.",
            Value::only(size(look.nodes)),
        ),
        Metric::gauge(
            "holdstead_notifications_waiting",
            "Sessions of which the other nodes are not told yet that something is new.",
            Value::only(size(look.hints)),
        ),
        Metric::gauge(
            "holdstead_catch_up_sessions",
            "Sessions that are followed here and being read again, because something is new elsewhere.",
            Value::only(size(look.behind)),
        ),
    ]
}

fn writer(load: WriterLoad) -> [Metric; 4] {
    [
        Metric::gauge(
            "holdstead_writer_queue",
            "Appends that wait to be written. From 65,536 on they are refused.",
            Value::only(number(load.items)),
        ),
        Metric::gauge(
            "holdstead_writer_queue_bytes",
            "What these have. From 268,435,456 bytes on they are refused.",
            Value::only(number(load.bytes)),
        ),
        Metric::counter(
            "holdstead_writer_retries_total",
            "How often a batch was tried again because the database was away.",
            Value::only(number(load.retries)),
        ),
        Metric::counter(
            "holdstead_writer_failures_total",
            "Appends that failed for want of the database, or because it refused them.",
            Value::only(number(load.failures)),
        ),
    ]
}

fn waiting_asks(waiting: &Waiting) -> [Metric; 2] {
    let asks = waiting.asks.iter().map(|((what, age), count)| Value {
        labels: vec![("state", state(*what)), ("age", up_to(*age))],
        value: number(*count),
    });
    [
        Metric::gauge(
            "holdstead_asks",
            "Asks of the whole database that wait, by whom they wait for and by how long ago they were opened.",
            asks.collect(),
        ),
        Metric::gauge(
            "holdstead_asks_overdue",
            "Asks of the whole database whose time ran out more than ten seconds ago, and that nobody closed.",
            Value::only(number(waiting.overdue)),
        ),
    ]
}

/// Open for a person, submitted to a tool, or decided and not yet delivered to the agent.
const fn state(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::Person => "open",
        WaitsFor::Tool => "submitted",
        WaitsFor::Agent => "undelivered",
    }
}

const fn up_to(age: Age) -> &'static str {
    match age {
        Age::UpToMinute => "1m",
        Age::UpToTenMinutes => "10m",
        Age::UpToHour => "1h",
        Age::UpToDay => "1d",
        Age::Older => "older",
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Exact up to 2^53, which nothing here reaches.
#[expect(clippy::cast_precision_loss, reason = "what is counted here stays far below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

fn size(count: usize) -> f64 {
    number(count as u64)
}
