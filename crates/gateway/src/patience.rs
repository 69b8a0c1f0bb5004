//! A store that is away comes back: what failed for want of it is done again, less and less often.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Gateway, GatewayError};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The pauses between tries.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// How long to wait now. Not exactly twice as long as before, so that those who failed together do not come back
    /// together.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.tries.min(10)).min(LONGEST_PAUSE);
        self.tries += 1;
        pause.mul_f64(rand::random_range(0.5..=1.0))
    }
}

impl Gateway {
    /// Does it again until the store answers, or the gateway goes away. What is done must bear being done twice.
    pub(crate) async fn patiently<T, E, F>(&self, call: impl FnMut() -> F) -> Result<T, GatewayError>
    where
        E: Into<GatewayError>,
        F: Future<Output = Result<T, E>>,
    {
        self.patiently_until(None, call).await
    }

    /// The same, but not for ever.
    pub(crate) async fn patiently_until<T, E, F>(
        &self,
        until: Option<Instant>,
        mut call: impl FnMut() -> F,
    ) -> Result<T, GatewayError>
    where
        E: Into<GatewayError>,
        F: Future<Output = Result<T, E>>,
    {
        let mut backoff = Backoff::default();
        loop {
            let error = match call().await {
                Ok(value) => return Ok(value),
                Err(error) => error.into(),
            };
            if !error.may_pass() || until.is_some_and(|until| Instant::now() >= until) {
                return Err(error);
            }
            self.inner.counted.read_stalls.add();
            tracing::warn!(%error, "the store failed; trying again");
            tokio::select! {
                () = self.inner.shutdown.cancelled() => return Err(GatewayError::Closing),
                () = tokio::time::sleep(backoff.pause()) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_short() {
        let mut backoff = Backoff::default();
        assert!(backoff.pause() <= FIRST_PAUSE);
        let pauses: Vec<_> = (0..100).map(|_| backoff.pause()).collect();
        assert!(pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        assert!(pauses[50..].iter().all(|pause| *pause >= LONGEST_PAUSE / 2));
    }
}
