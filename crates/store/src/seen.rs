//! What this process saw last, so that it notices a database that went back.
//!
//! PostgreSQL replays what it wrote in the order in which it was written: one that has the newest of what was seen has what
//! came before it, too. So it is enough to remember the newest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdstead_protocol::{Seq, SessionId, Timestamp};
use tokio::sync::watch;

use crate::StoreError;
use crate::chain::Hash;
use crate::plan::StoredHead;
use crate::rows::HeadRow;

const MOST_SESSIONS: usize = 1024;
/// So many are named; of the others it is said how many there are.
const MOST_NAMED: usize = 20;

/// Which history of its cluster a server writes: a standby that is promoted begins the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Timeline(pub(crate) i64);

/// An event that was there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) hash: Hash,
    pub(crate) at: Timestamp,
}

impl From<&HeadRow> for Place {
    fn from(head: &HeadRow) -> Self {
        Self { session: head.id, seq: head.last_seq, hash: head.hash, at: head.last_at }
    }
}

impl From<(&SessionId, &StoredHead)> for Place {
    fn from((id, head): (&SessionId, &StoredHead)) -> Self {
        Self { session: *id, seq: head.last_seq, hash: head.hash, at: head.last_at }
    }
}

/// Another server has taken over: what this one said is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another server has taken over from the one that said this")]
pub(crate) struct Ended;

/// Why a server is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it is a standby: it takes no writes until it is promoted")]
    Standby,
    #[error(
        "it is a former primary (timeline {found}; a later one was seen, {newest}): let it follow the present one, \
         or restart the gateways if they are to use this one"
    )]
    Former { found: i64, newest: i64 },
    #[error("{0}")]
    WentBack(WentBack),
}

/// Sessions of which a database has not all that was seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this database lacks what was written before, in {}: it is a standby that was promoted before it had everything, or \
     an earlier copy. Nothing is read from it or written to it. Point the gateways to the database that has it, and \
     restart them. If there is none, restarting all of them accepts that it is lost",
    self.names()
)]
pub struct WentBack {
    /// Those where something happened last come first.
    pub sessions: Vec<SessionId>,
    /// How many there are besides.
    pub more: usize,
}

impl WentBack {
    pub const fn count(&self) -> usize {
        self.sessions.len() + self.more
    }

    fn names(&self) -> String {
        let mut names: Vec<_> = self.sessions.iter().map(ToString::to_string).collect();
        if self.more > 0 {
            names.push(format!("{} more", self.more));
        }
        let last = names.pop().unwrap_or_default();
        match names.is_empty() {
            true => format!("session {last}"),
            false => format!("sessions {} and {last}", names.join(", ")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct LastSeen {
    memory: Mutex<Memory>,
    refused: watch::Sender<Option<WentBack>>,
}

#[derive(Debug, Default)]
struct Memory {
    places: HashMap<SessionId, Place>,
    timeline: Timeline,
    /// Counts what was seen.
    changes: u64,
}

/// What a server must have.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) places: Vec<Place>,
    changes: u64,
}

/// What became of asking a server for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    Fit,
    /// More was seen meanwhile on the server before it.
    Again,
}

impl Default for LastSeen {
    fn default() -> Self {
        Self { memory: Mutex::default(), refused: watch::Sender::new(None) }
    }
}

impl LastSeen {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are there, on a server of this timeline.
    pub(crate) fn saw(
        &self,
        timeline: Timeline,
        places: impl IntoIterator<Item = Place>,
    ) -> Result<(), Ended> {
        let mut memory = self.memory();
        if timeline < memory.timeline {
            return Err(Ended);
        }
        for place in places {
            let known = memory.places.get(&place.session);
            if known.is_none_or(|known| known.seq < place.seq) {
                memory.changes += 1;
                memory.places.insert(place.session, place);
            }
        }
        if memory.places.len() > MOST_SESSIONS {
            // By when it happened, and not by when it was seen: who reads much that is old forgets nothing that is new.
            let age = |place: &Place| (place.at, place.session);
            let mut ages: Vec<_> = memory.places.values().map(age).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            memory.places.retain(|_, place| age(place) >= middle);
        }
        Ok(())
    }

    pub(crate) fn is_ended(&self, timeline: Timeline) -> bool {
        timeline < self.memory().timeline
    }

    pub(crate) fn expected(&self) -> Expected {
        let memory = self.memory();
        Expected { places: memory.places.values().copied().collect(), changes: memory.changes }
    }

    /// A server that has all of it may be used, and those before it are not used any more.
    pub(crate) fn has_all(&self, expected: &Expected, timeline: Timeline) -> Result<Checked, Unfit> {
        let mut memory = self.memory();
        if timeline < memory.timeline {
            return Err(Unfit::Former { found: timeline.0, newest: memory.timeline.0 });
        }
        if timeline > memory.timeline && memory.changes != expected.changes {
            return Ok(Checked::Again);
        }
        memory.timeline = timeline;
        Ok(Checked::Fit)
    }

    /// A server lacks these. From now on none is used.
    pub(crate) fn lacks(&self, expected: &Expected, missing: &[SessionId]) -> WentBack {
        let mut places: Vec<_> =
            expected.places.iter().filter(|place| missing.contains(&place.session)).collect();
        places.sort_unstable_by_key(|place| std::cmp::Reverse((place.at, place.session)));
        let sessions: Vec<_> = places.iter().take(MOST_NAMED).map(|place| place.session).collect();
        let went_back = WentBack { more: missing.len().saturating_sub(sessions.len()), sessions };
        let is_first = self.refused.send_if_modified(|refused| {
            let is_first = refused.is_none();
            refused.get_or_insert_with(|| went_back.clone());
            is_first
        });
        if is_first {
            tracing::error!("{went_back}");
        }
        went_back
    }

    /// Whether databases are still used.
    pub(crate) fn usable(&self) -> Result<(), StoreError> {
        self.refused.borrow().clone().map_or(Ok(()), |went_back| Err(StoreError::WentBack(went_back)))
    }

    /// Does this, unless no database is used any more, or until then.
    pub(crate) async fn unless_refused<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        tokio::select! {
            biased;
            went_back = self.refusal() => Err(StoreError::WentBack(went_back)),
            done = work => Ok(done?),
        }
    }

    async fn refusal(&self) -> WentBack {
        let mut refused = self.refused.subscribe();
        loop {
            if let Some(went_back) = refused.borrow_and_update().clone() {
                return went_back;
            }
            if refused.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::OwnerId;

    use super::*;

    fn place(session: SessionId, seq: u64, at: i64) -> Place {
        Place { session, seq: Seq(seq), hash: [7; 32], at: Timestamp::from_micros(at) }
    }

    fn session() -> SessionId {
        SessionId::generate(&OwnerId::new("ada").expect("a name"))
    }

    #[test]
    fn what_a_former_primary_says_is_worth_nothing() {
        let seen = LastSeen::default();
        let asked = seen.expected();
        assert_eq!(seen.has_all(&asked, Timeline(1)), Ok(Checked::Fit));
        assert_eq!(seen.has_all(&asked, Timeline(2)), Ok(Checked::Fit));
        assert_eq!(seen.saw(Timeline(1), [place(session(), 1, 1)]), Err(Ended));
        assert!(seen.expected().places.is_empty());
        assert_eq!(seen.has_all(&asked, Timeline(1)), Err(Unfit::Former { found: 1, newest: 2 }));
    }

    #[test]
    fn a_new_primary_is_asked_again_for_what_was_seen_meanwhile() {
        let seen = LastSeen::default();
        seen.has_all(&seen.expected(), Timeline(1)).expect("the first");
        let asked = seen.expected();
        seen.saw(Timeline(1), [place(session(), 1, 1)]).expect("still the primary");
        assert_eq!(seen.has_all(&asked, Timeline(2)), Ok(Checked::Again));
        // It is not the primary before it was found to have everything.
        seen.saw(Timeline(1), [place(session(), 1, 2)]).expect("still the primary");
        assert_eq!(seen.has_all(&seen.expected(), Timeline(2)), Ok(Checked::Fit));
    }

    #[test]
    fn the_newest_are_remembered_however_much_is_read() {
        let seen = LastSeen::default();
        let newest = session();
        seen.saw(Timeline(1), [place(newest, 3, 1_000_000)]).expect("written");
        seen.saw(Timeline(1), [place(newest, 2, 999_999)]).expect("read again");
        for old in 0..3_000 {
            seen.saw(Timeline(1), [place(session(), 9, old)]).expect("read");
        }
        let expected = seen.expected().places;
        assert!(expected.len() <= MOST_SESSIONS, "{} are remembered", expected.len());
        let known = expected.iter().find(|place| place.session == newest).expect("remembered");
        assert_eq!(known.seq, Seq(3));
    }
}
