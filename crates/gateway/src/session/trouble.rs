//! The store failed, or a process would not start or go: the task rests, and tries again by itself.

use std::time::Duration;

use tokio::time::Instant;

use super::SessionTask;
use crate::GatewayError;
use crate::patience::Backoff;

/// How long the store may be away before people are told that it was.
const WORTH_WORDS: Duration = Duration::from_secs(5);
const AWAY: &str = "Holdstead's database did not answer for a while. Nothing was lost, and the session went on by \
                    itself when it did.";

/// One time of trouble, from its first failure to the first thing that went well.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    now: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    since: Instant,
    until: Instant,
    backoff: Backoff,
    /// Words about it are said once, however often it is tried.
    told: bool,
}

impl Trouble {
    pub(super) fn is_over(&mut self) {
        self.now = None;
    }

    /// Until when nothing is tried.
    pub(super) fn resting_until(&self) -> Option<Instant> {
        self.now.as_ref().map(|rest| rest.until).filter(|until| *until > Instant::now())
    }

    /// It is worth a try now, though nothing went well yet.
    pub(super) fn rested(&mut self) {
        if let Some(rest) = &mut self.now {
            rest.until = Instant::now();
        }
    }

    fn rest(&mut self) -> &mut Rest {
        let now = Instant::now();
        let rest = self.now.get_or_insert_with(|| Rest {
            since: now,
            until: now,
            backoff: Backoff::default(),
            told: false,
        });
        rest.until = now + rest.backoff.pause();
        rest
    }
}

impl SessionTask {
    /// Something failed. Says whether it has to be done again: then the task rests before it does anything else.
    pub(super) fn must_repeat(&mut self, error: &GatewayError) -> bool {
        if let GatewayError::Closing = error {
            // Whoever comes next does it again, and nobody needs words about it.
            self.trouble.rest();
            return true;
        }
        if let GatewayError::JournalLacks { incarnation, .. } = error {
            if self.lacking.replace(*incarnation) == Some(*incarnation) {
                // Our own words about it wake us.
                return false;
            }
            self.gateway.inner.counted.lacking.add();
        }
        if !error.may_pass_in_its_session() {
            tracing::warn!(session = %self.session, %error, "a session could not go on");
            self.say_error(error.to_string());
            return false;
        }
        self.gateway.inner.counted.session_stalls.add();
        let rest = self.trouble.rest();
        tracing::warn!(session = %self.session, %error, until = ?rest.until, "a session rests and tries again");
        let words = if let GatewayError::Store(_) = error {
            (rest.since.elapsed() >= WORTH_WORDS).then(|| AWAY.to_owned())
        } else {
            Some(error.to_string())
        };
        if let Some(words) = words.filter(|_| !rest.told) {
            rest.told = true;
            self.say_error(words);
        }
        true
    }

    pub(super) fn say_error(&mut self, message: String) {
        self.complain(None, message);
    }
}
