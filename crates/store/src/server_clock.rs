//! The database server's clock, between two looks at it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use holdstead_protocol::Timestamp;

/// How long a look is good for: clocks drift apart by far less than what it takes to ask.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// By how much this machine's two clocks may differ meanwhile. More means that it slept, or that one was set.
const APART: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct ServerClock(Mutex<Option<Look>>);

#[derive(Debug, Clone, Copy)]
struct Look {
    server: Timestamp,
    here: Instant,
    wall: SystemTime,
}

impl ServerClock {
    pub(crate) fn set(&self, server: Timestamp) {
        let look = Look { server, here: Instant::now(), wall: SystemTime::now() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
    }

    /// Nothing, if it is too long since somebody looked.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let look = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = look.here.elapsed();
        let by_wall = look.wall.elapsed().ok()?;
        (passed < GOOD_FOR && by_wall.abs_diff(passed) < APART).then(|| look.server.after(passed))
    }
}
