//! What a caller sends and may have made up: a token, a ticket, the code of a link. Only the database tells.
//!
//! Each kind has its own line for the database, in which few are looked up at a time, and its own bucket, from which
//! only failures are taken. So a flood of one kind takes nothing from callers that are known, none of them waits behind
//! it, and a good token that this process has not seen yet waits its turn and is never refused over it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::limit::{Bucket, Cost, RateLimit};
use crate::problem::ApiError;

/// How many of one kind are looked up at a time.
const AT_ONCE: usize = 4;
/// How many may fail, over all callers, before they are told to wait.
const FAILURES: RateLimit = RateLimit { burst: 500.0, per_second: 50.0 };
/// How long each then waits for its refusal: a flood over so many connections is so many a second.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Doubtful {
    pub(crate) tokens: Kind,
    pub(crate) tickets: Kind,
    pub(crate) codes: Kind,
}

#[derive(Debug)]
pub(crate) struct Kind {
    line: Semaphore,
    failures: Mutex<Bucket>,
}

impl Default for Kind {
    fn default() -> Self {
        let failures = Mutex::new(Bucket::full(FAILURES, Instant::now()));
        Self { line: Semaphore::new(AT_ONCE), failures }
    }
}

impl Kind {
    /// Looks it up when it is its turn.
    pub(crate) async fn look_up<T>(
        &self,
        looking: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let found = {
            // The line is never closed.
            let _turn = self.line.acquire().await;
            looking.await
        };
        match found {
            // It says nothing about the caller that the database did not answer.
            Ok(_) | Err(ApiError::Gateway(_)) => found,
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Counts a failure. In a flood of them each is refused late, and told to wait.
    pub(crate) async fn failed(&self, error: ApiError) -> ApiError {
        match self.take(Instant::now()) {
            Ok(()) => error,
            Err(wait) => {
                tokio::time::sleep(PAUSE).await;
                ApiError::TooMany(wait)
            }
        }
    }

    fn take(&self, now: Instant) -> Result<(), Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.take(Cost::REQUEST, FAILURES, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_what_is_made_up_takes_nothing_from_what_is_good() {
        let kind = Kind::default();
        let mut told_to_wait = 0;
        for _ in 0..600 {
            let refused = kind.look_up(async { Err::<(), _>(ApiError::NoToken) }).await;
            told_to_wait += usize::from(matches!(refused, Err(ApiError::TooMany(_))));
        }
        assert!(told_to_wait > 0);
        assert!(kind.look_up(async { Ok(()) }).await.is_ok());
        let away = ApiError::Gateway(holdstead_gateway::GatewayError::Closing);
        let refused = kind.look_up(async { Err::<(), _>(away) }).await;
        assert!(matches!(refused, Err(ApiError::Gateway(_))));
    }
}
