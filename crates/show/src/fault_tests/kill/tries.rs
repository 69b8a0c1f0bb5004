//! Trying again while gateways come and go.

use tokio::time::{Instant, sleep};

use super::arena::{Arena, Life};

/// Tries of one thing. A gateway that is killed again and again lets few calls in before it dies, and on a busy machine each of
/// its lives takes long: a try is given up when one life did not do it for as long as a session may stand still.
#[derive(Debug)]
pub(super) struct Tries<'a> {
    arena: &'a Arena,
    /// The life in which it was tried last, and since when it is tried there.
    life: Option<(Life, Instant)>,
}

impl<'a> Tries<'a> {
    pub(super) const fn new(arena: &'a Arena) -> Self {
        Self { arena, life: None }
    }

    /// Returns when it is time for another try. Says no when that is of no use.
    pub(super) async fn another(&mut self) -> bool {
        if self.life.is_some() {
            sleep(self.arena.pace.pause).await;
        }
        if self.arena.up().await.is_none() {
            return false;
        }
        let now = self.arena.life();
        let since = match self.life {
            Some((life, since)) if life == now => since,
            Some(_) | None => Instant::now(),
        };
        self.life = Some((now, since));
        since.elapsed() < self.arena.pace.patience
    }
}
