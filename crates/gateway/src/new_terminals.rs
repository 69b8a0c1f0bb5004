//! How many new conversations one machine may show: each becomes a session that stays in the journal.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// More than people have open on one machine.
const AT_ONCE: u32 = 1_000;
/// When those are used up, one more is shown each time this has passed.
const EVERY: Duration = Duration::from_secs(30);

/// What is left for one machine.
#[derive(Debug)]
pub(crate) struct NewTerminals(Mutex<Left>);

#[derive(Debug)]
struct Left {
    count: u32,
    /// When the count was last raised, or would have been if it had not been full.
    since: Instant,
}

impl NewTerminals {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Left { count: AT_ONCE, since: Instant::now() }))
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one, and waits until there is one.
    pub(crate) async fn take(&self) {
        while let Err(next) = self.try_take(Instant::now()) {
            tracing::warn!(
                "a machine shows more than {AT_ONCE} new conversations: further ones wait, one for each {} s",
                EVERY.as_secs()
            );
            sleep_until(next).await;
        }
    }

    /// Otherwise, when there will be one.
    fn try_take(&self, now: Instant) -> Result<(), Instant> {
        let mut left = self.left();
        let periods = now.saturating_duration_since(left.since).as_secs() / EVERY.as_secs();
        let periods = u32::try_from(periods).unwrap_or(AT_ONCE);
        left.count = left.count.saturating_add(periods).min(AT_ONCE);
        left.since += EVERY * periods;
        left.count = left.count.checked_sub(1).ok_or(left.since + EVERY)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_at_once_and_then_one_for_each_half_minute() {
        let left = NewTerminals::new();
        let begin = left.left().since;
        for _ in 0..AT_ONCE {
            assert_eq!(left.try_take(begin), Ok(()));
        }
        assert_eq!(left.try_take(begin), Err(begin + EVERY));
        assert_eq!(left.try_take(begin + EVERY), Ok(()));
        assert_eq!(left.try_take(begin + EVERY + EVERY / 2), Err(begin + EVERY * 2));
        let later = begin + EVERY * 100;
        assert_eq!((0..200).filter(|_| left.try_take(later).is_ok()).count(), 99);
        let next_year = begin + EVERY * 1_000_000;
        assert_eq!((0..5_000).filter(|_| left.try_take(next_year).is_ok()).count(), 1_000);
    }
}
