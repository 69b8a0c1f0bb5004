//! How long calls took.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    /// By how much the p50 of these calls is longer than that of the others.
    pub(crate) fn ratio_to(&self, others: &Self) -> f64 {
        self.p50().as_secs_f64() / others.p50().as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The smallest that at least so many of a hundred did not exceed; zero if there are none.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(rank).copied().unwrap_or_default()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {}, p99 {}", milliseconds(self.p50()), milliseconds(self.p99()))
    }
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.p50(), Duration::ZERO);
        for ms in (1..=200).rev() {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(latencies.p50(), Duration::from_millis(100));
        assert_eq!(latencies.p99(), Duration::from_millis(198));
        assert_eq!(latencies.to_string(), "p50 100.00 ms, p99 198.00 ms");
    }
}
