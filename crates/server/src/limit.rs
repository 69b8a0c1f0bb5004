//! A flood from one caller is slowed down, so that the others are served.
//!
//! One bucket per token, and one per runner: it holds a burst, and fills again at a steady rate. Requests, frames and
//! their bytes are taken from it. Only callers that were let in have one: what is made up is counted in `doubtful.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many requests one token may send. So many bytes of their bodies count as one more: see [`Cost::bytes`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// In a moment.
    pub burst: f64,
    /// For long, a second.
    pub per_second: f64,
}

impl RateLimit {
    /// A machine sends what all its agents say, and everything again when it dials in: 512 MiB in a moment, 64 MiB a
    /// second for long.
    pub(crate) const RUNNER: Self = Self { burst: 65_536.0, per_second: 8_192.0 };
    /// What all unknown callers together may have us read in vain.
    pub(crate) const STRANGERS: Self = Self { burst: 8_192.0, per_second: 2_048.0 };
}

impl Default for RateLimit {
    /// Far more than people and their screens need, and little enough for one machine: 16 MiB in a moment, 8 MiB a
    /// second for long.
    fn default() -> Self {
        Self { burst: 2_000.0, per_second: 1_000.0 }
    }
}

/// What is taken from a bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost(f64);

impl Cost {
    pub(crate) const REQUEST: Self = Self(1.0);

    /// 8 KiB cost as much as a request.
    pub(crate) fn bytes(bytes: usize) -> Self {
        // More than 2^32 bytes at a time are never read.
        Self(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 8_192.0)
    }

    pub(crate) fn frame(bytes: usize) -> Self {
        Self(Self::REQUEST.0 + Self::bytes(bytes).0)
    }
}

/// How long a frame waits at least that has to wait.
const GATHER: Duration = Duration::from_millis(50);
/// When so many callers were seen, those whose buckets are full again are forgotten: they would start full anyway.
const SWEEP: usize = 10_000;

/// Whose bucket it is: the hash of a token, or the id of a runner.
pub(crate) type Key = [u8; 32];

#[derive(Debug, Default)]
pub(crate) struct Limits {
    rate: RateLimit,
    buckets: Mutex<HashMap<Key, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn full(rate: RateLimit, now: Instant) -> Self {
        Self { left: rate.burst, at: now }
    }

    fn filled(self, rate: RateLimit, now: Instant) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second).min(rate.burst)
    }

    /// Takes this much, or says how long to wait. There is enough for a body or frame of any size if there is enough for a
    /// request: what is owed after that is waited for next time.
    pub(crate) fn take(&mut self, cost: Cost, rate: RateLimit, now: Instant) -> Result<(), Duration> {
        let left = self.filled(rate, now);
        let enough = cost.0.min(Cost::REQUEST.0);
        if left < enough {
            return Err(Duration::from_secs_f64((enough - left) / rate.per_second));
        }
        *self = Self { left: left - cost.0, at: now };
        Ok(())
    }
}

impl Limits {
    pub(crate) fn new(rate: RateLimit) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<Key, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes this from the caller's bucket, or says how long to wait.
    pub(crate) fn take(&self, key: &Key, cost: Cost, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets();
        if buckets.len() >= SWEEP {
            buckets.retain(|_, bucket| bucket.filled(self.rate, now) < self.rate.burst);
        }
        buckets.entry(*key).or_insert_with(|| Bucket::full(self.rate, now)).take(cost, self.rate, now)
    }

    /// Waits until the caller may send this. It waits for a while at once, in which room for more than one frame comes:
    /// many connections of one caller would otherwise wake for each.
    pub(crate) async fn paid(&self, key: &Key, cost: Cost) {
        while let Err(wait) = self.take(key, cost, Instant::now()) {
            tokio::time::sleep(wait.max(GATHER)).await;
        }
    }

    /// Whether this caller was let in lately.
    pub(crate) fn knows(&self, key: &Key) -> bool {
        self.buckets().contains_key(key)
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.buckets().remove(key);
    }
}

/// Who pays for the bytes of one request: all strangers together, until it is known whose it is.
#[derive(Debug, Clone)]
pub(crate) struct Bill {
    strangers: Arc<Limits>,
    payer: Arc<OnceLock<(Arc<Limits>, Key)>>,
}

impl Bill {
    pub(crate) fn new(strangers: Arc<Limits>) -> Self {
        Self { strangers, payer: Arc::default() }
    }

    /// A request is looked at by more than one extractor: the first one says whose it is.
    pub(crate) fn goes_to(&self, limits: &Arc<Limits>, key: Key) {
        self.payer.get_or_init(|| (Arc::clone(limits), key));
    }

    pub(crate) fn take(&self, bytes: usize) -> Result<(), Duration> {
        let (cost, now) = (Cost::bytes(bytes), Instant::now());
        match self.payer.get() {
            Some((limits, key)) => limits.take(key, cost, now),
            None => self.strangers.take(&Key::default(), cost, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_limited_and_others_are_not() {
        let limits = Limits::default();
        let now = Instant::now();
        let one = Cost::REQUEST;
        let passed = (0..5_000).filter(|_| limits.take(&[1; 32], one, now).is_ok()).count();
        assert_eq!(passed, 2_000);
        assert!(limits.take(&[1; 32], one, now).is_err_and(|wait| wait <= Duration::from_millis(1)));
        assert!(limits.take(&[2; 32], one, now).is_ok(), "another token has its own bucket");
        let later = now + Duration::from_millis(500);
        let passed = (0..5_000).filter(|_| limits.take(&[1; 32], one, later).is_ok()).count();
        assert_eq!(passed, 500, "it fills at its rate");
    }

    #[test]
    fn bytes_count_and_what_is_owed_is_waited_for() {
        let limits = Limits::default();
        let now = Instant::now();
        let mib = Cost::bytes(1024 * 1024);
        let passed = (0..100).filter(|_| limits.take(&[1; 32], mib, now).is_ok()).count();
        assert_eq!(passed, 16);
        let wait = limits.take(&[1; 32], Cost::REQUEST, now).expect_err("nothing is left");
        assert_eq!(wait, Duration::from_millis(49), "48 are owed, and one is wanted");
        assert!(limits.take(&[1; 32], Cost::REQUEST, now + wait).is_ok());
    }

    #[test]
    fn tokens_that_went_quiet_are_forgotten() {
        let limits = Limits::default();
        let now = Instant::now();
        for n in 0..SWEEP {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&n.to_le_bytes());
            assert!(limits.take(&token, Cost::REQUEST, now).is_ok());
        }
        assert!(limits.take(&[255; 32], Cost::REQUEST, now + Duration::from_secs(10)).is_ok());
        assert_eq!(limits.buckets().len(), 1);
    }
}
