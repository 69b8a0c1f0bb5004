//! What was typed before somebody could read an ask does not answer it.

use std::time::{Duration, Instant};

/// An ask takes no answer this long after it appears: the same rest as a card's on the web.
pub(crate) const REST: Duration = Duration::from_millis(400);

/// From when on a key is meant for what is on the screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    until: Instant,
}

impl Rest {
    pub(crate) fn new(now: Instant) -> Self {
        Self { until: now }
    }

    /// Something else is on the screen now.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.until = self.until.max(now + REST);
    }

    /// Whether a key of this moment is meant for it. One that is not prolongs the rest: somebody is typing.
    pub(crate) fn is_over(&mut self, at: Instant) -> bool {
        let over = at >= self.until;
        if !over {
            self.begin(at);
        }
        over
    }

    pub(crate) fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_goes_on_typing_has_not_looked_yet() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut rest = Rest::new(start);
        assert!(rest.is_over(start));
        rest.begin(start);
        for typed in [0, 300, 650, 1_000] {
            assert!(!rest.is_over(at(typed)), "{typed}");
        }
        assert!(!rest.is_over(at(1_399)));
        assert!(rest.is_over(at(1_800)));
    }
}
