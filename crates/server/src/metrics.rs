//! Metrics as Prometheus reads them, what the network face itself counts, and who may read it while the store is away.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use holdstead_gateway::{Metric, Observed, Value, Values};

/// The text format of this version.
pub(crate) const CONTENT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long a token that was good may read metrics while the store does not answer.
const REMEMBERED: Duration = Duration::from_secs(3_600);
/// So many are remembered: a deployment has a few.
const MOST: usize = 16;

/// Tokens that read metrics a while ago, by their hashes.
#[derive(Debug, Default)]
pub(crate) struct Scrapers(Mutex<HashMap<[u8; 32], Instant>>);

impl Scrapers {
    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn let_in(&self, hash: [u8; 32], now: Instant) {
        let mut seen = self.lock();
        seen.retain(|_, at| now.duration_since(*at) < REMEMBERED);
        if seen.len() < MOST || seen.contains_key(&hash) {
            seen.insert(hash, now);
        }
    }

    pub(crate) fn forget(&self, hash: &[u8; 32]) {
        self.lock().remove(hash);
    }

    pub(crate) fn was_let_in(&self, hash: &[u8; 32], now: Instant) -> bool {
        self.lock().get(hash).is_some_and(|at| now.duration_since(*at) < REMEMBERED)
    }
}

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Requests that were answered, by the class of their status.
#[derive(Debug, Default)]
pub(crate) struct Answered([AtomicU64; CLASSES.len()]);

impl Answered {
    pub(crate) fn count(&self, status: StatusCode) {
        if let Some(count) = self.0.get(usize::from(status.as_u16() / 100).wrapping_sub(1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "requests stay far below 2^53")]
    pub(crate) fn metric(&self) -> Metric {
        let count = |(class, count): (&'static str, &AtomicU64)| {
            Value::labelled("status", class, count.load(Ordering::Relaxed) as f64)
        };
        let counts = CLASSES.into_iter().zip(&self.0).map(count).collect();
        Metric::counter(
            "holdstead_http_responses_total",
            "Requests answered, by the class of the status.",
            counts,
        )
    }
}

/// What the operating system says of this process, where it has `/proc`; by the names that all exporters use.
pub(crate) fn process() -> Vec<Metric> {
    let mut metrics = Vec::new();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    if let Some(kilobytes) = kilobytes.and_then(|number| number.parse::<u32>().ok()) {
        let bytes = Value::only(f64::from(kilobytes) * 1_024.0);
        metrics.push(Metric::gauge("process_resident_memory_bytes", "Memory that this process has.", bytes));
    }
    let open = std::fs::read_dir("/proc/self/fd").map(Iterator::count).ok();
    if let Some(open) = open.and_then(|open| u32::try_from(open).ok()) {
        let open = Value::only(f64::from(open));
        metrics.push(Metric::gauge(
            "process_open_fds",
            "Files and connections that this process has open.",
            open,
        ));
    }
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if let Some(most) = most.and_then(|most| u32::try_from(most).ok()) {
        let most = Value::only(f64::from(most));
        metrics.push(Metric::gauge("process_max_fds", "How many of these it may have.", most));
    }
    metrics
}

/// The text format. Names, words and help are this program's own, and need no escaping.
pub(crate) fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for Metric { name, help, values } in metrics {
        let kind = match values {
            Values::Counter(_) => "counter",
            Values::Gauge(_) => "gauge",
            Values::Histogram(_) => "histogram",
        };
        // A String takes whatever is written to it.
        let _written = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        match values {
            Values::Counter(values) | Values::Gauge(values) => {
                values.iter().for_each(|value| line(&mut text, name, value));
            }
            Values::Histogram(observed) => buckets(&mut text, name, observed),
        }
    }
    text
}

fn line(text: &mut String, name: &str, Value { labels, value }: &Value) {
    let labels: Vec<_> = labels.iter().map(|(label, word)| format!("{label}=\"{word}\"")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _written = writeln!(text, "{name}{labels} {value}");
}

/// Each bucket counts those below it, too.
fn buckets(text: &mut String, name: &str, Observed { bounds, counts, seconds }: &Observed) {
    let mut so_far = 0;
    for (place, count) in counts.iter().enumerate() {
        so_far += count;
        let bound = bounds.get(place).map_or("+Inf".to_owned(), f64::to_string);
        let _written = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {so_far}");
    }
    let _written = writeln!(text, "{name}_sum {seconds}\n{name}_count {so_far}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_prometheus_reads_them() {
        let labels = vec![("state", "open"), ("age", "1m")];
        let observed = Observed { bounds: &[0.5, 2.0], counts: vec![1, 0, 2], seconds: 7.25 };
        let metrics = [
            Metric::gauge("asks", "Asks.", vec![Value { labels, value: 3.0 }]),
            Metric::counter("all_total", "All.", Value::only(12_345_678.0)),
            Metric { name: "took_seconds", help: "Took.", values: Values::Histogram(observed) },
        ];
        let expected = "# HELP asks Asks.\n# TYPE asks gauge\nasks{state=\"open\",age=\"1m\"} 3\n\
            # HELP all_total All.\n# TYPE all_total counter\nall_total 12345678\n\
            # HELP took_seconds Took.\n# TYPE took_seconds histogram\n\
            took_seconds_bucket{le=\"0.5\"} 1\ntook_seconds_bucket{le=\"2\"} 1\ntook_seconds_bucket{le=\"+Inf\"} 3\n\
            took_seconds_sum 7.25\ntook_seconds_count 3\n";
        assert_eq!(text(&metrics), expected);
    }

    #[test]
    fn whoever_was_let_in_is_remembered_for_an_hour_and_strangers_never() {
        let (scrapers, now) = (Scrapers::default(), Instant::now());
        assert!(!scrapers.was_let_in(&[1; 32], now));
        scrapers.let_in([1; 32], now);
        assert!(scrapers.was_let_in(&[1; 32], now + REMEMBERED / 2));
        assert!(!scrapers.was_let_in(&[2; 32], now));
        assert!(!scrapers.was_let_in(&[1; 32], now + REMEMBERED));
        for one in 0..=u8::MAX {
            scrapers.let_in([one; 32], now);
        }
        assert_eq!(scrapers.lock().len(), MOST);
    }
}
