//! When the store fails: one call in twenty, now and then several in a row, and for a while all of them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdstead_store::faulty::{Broken, Call};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

/// How often a call fails.
const ONE_IN: u32 = 20;
/// How often a failure is the first of many.
const BURST_IN: u32 = 25;
const BURST: u32 = 12;

#[derive(Debug)]
pub(super) struct Storm {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rng: StdRng,
    raging: bool,
    burst: u32,
    away_until: Option<Instant>,
    last: Instant,
    calls: u64,
    reads: u64,
    appends: u64,
    replies: u64,
}

impl Storm {
    pub(super) fn new(seed: u64) -> Self {
        let state = State {
            rng: StdRng::seed_from_u64(seed),
            raging: false,
            burst: 0,
            away_until: None,
            last: Instant::now(),
            calls: 0,
            reads: 0,
            appends: 0,
            replies: 0,
        };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) {
        self.state().raging = true;
    }

    pub(super) fn away_for(&self, duration: Duration) {
        self.state().away_until = Some(Instant::now() + duration);
    }

    /// No more faults; says when the last one was.
    pub(super) fn end(&self) -> Instant {
        let mut state = self.state();
        state.raging = false;
        state.last
    }

    pub(super) fn next(&self, call: Call) -> Option<Broken> {
        let mut state = self.state();
        if !state.raging {
            return None;
        }
        state.calls += 1;
        let now = Instant::now();
        let away = state.away_until.is_some_and(|until| now < until);
        let burst = state.burst > 0;
        state.burst = state.burst.saturating_sub(1);
        if !away && !burst {
            if !state.rng.random_ratio(1, ONE_IN) {
                return None;
            }
            if state.rng.random_ratio(1, BURST_IN) {
                state.burst = BURST;
            }
        }
        state.last = now;
        match call {
            Call::Read(_) => {
                state.reads += 1;
                Some(Broken::Before)
            }
            // A store that is away writes nothing; otherwise the reply may be what is lost.
            Call::Append if !away && state.rng.random_ratio(1, 3) => {
                state.replies += 1;
                Some(Broken::After)
            }
            Call::Append => {
                state.appends += 1;
                Some(Broken::Before)
            }
        }
    }

    pub(super) fn faults(&self) -> u64 {
        let state = self.state();
        state.reads + state.appends + state.replies
    }

    pub(super) fn count(&self) -> String {
        let state = self.state();
        format!(
            "{} faults in {} calls of the store ({} reads, {} appends, {} lost replies)",
            state.reads + state.appends + state.replies,
            state.calls,
            state.reads,
            state.appends,
            state.replies,
        )
    }
}
