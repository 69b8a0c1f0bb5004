//! A flood from one token is slowed down, so that the others are served.
//!
//! One bucket per token: it holds a burst, and fills again at a steady rate. The bucket is found by the token's hash
//! before the database is asked, so that a flood costs next to nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many requests one token may send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// In a moment.
    pub burst: f64,
    /// For long, a second.
    pub per_second: f64,
}

impl Default for RateLimit {
    /// Far more than people and their screens need, and little enough for one machine.
    fn default() -> Self {
        Self { burst: 2_000.0, per_second: 1_000.0 }
    }
}

/// When so many tokens were seen, those that are full again are forgotten: they would start full anyway.
const SWEEP: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Limits {
    rate: RateLimit,
    buckets: Mutex<HashMap<[u8; 32], Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, rate: RateLimit, now: Instant) -> f64 {
        (self.left + now.duration_since(self.at).as_secs_f64() * rate.per_second).min(rate.burst)
    }
}

impl Limits {
    pub(crate) fn new(rate: RateLimit) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes one request from the token's bucket, or says how long to wait.
    pub(crate) fn take(&self, token: [u8; 32], now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SWEEP {
            buckets.retain(|_, bucket| bucket.filled(self.rate, now) < self.rate.burst);
        }
        let bucket = buckets.entry(token).or_insert(Bucket { left: self.rate.burst, at: now });
        let left = bucket.filled(self.rate, now);
        if left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left) / self.rate.per_second));
        }
        *bucket = Bucket { left: left - 1.0, at: now };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_limited_and_others_are_not() {
        let limits = Limits::default();
        let now = Instant::now();
        let passed = (0..5_000).filter(|_| limits.take([1; 32], now).is_ok()).count();
        assert_eq!(passed, 2_000);
        assert!(limits.take([1; 32], now).is_err_and(|wait| wait <= Duration::from_millis(1)));
        assert!(limits.take([2; 32], now).is_ok(), "another token has its own bucket");
        let later = now + Duration::from_millis(500);
        let passed = (0..5_000).filter(|_| limits.take([1; 32], later).is_ok()).count();
        assert_eq!(passed, 500, "it fills at its rate");
    }

    #[test]
    fn tokens_that_went_quiet_are_forgotten() {
        let limits = Limits::default();
        let now = Instant::now();
        for n in 0..SWEEP {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&n.to_le_bytes());
            assert!(limits.take(token, now).is_ok());
        }
        assert!(limits.take([255; 32], now + Duration::from_secs(10)).is_ok());
        assert_eq!(limits.buckets.lock().unwrap().len(), 1);
    }
}
