//! What a writer remembers of the sessions that it wrote last, so that it does not read them again for every append.
//!
//! It is a guess: others write, too. What is decided on it is written only if the heads in the database are still those that
//! are remembered, and a refusal, which writes nothing that could fail, is never given on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_core::{Ask, Needs};
use holdstead_protocol::{InteractionId, SessionId};

use crate::backend::Item;
use crate::plan::{Loaded, Plan, StoredHead};
use crate::rows::SessionPlan;

const MOST_SESSIONS: usize = 512;
/// Of each session; those with more are read.
const MOST_ASKS: usize = 4;
/// Of a head, and of what an ask shows. Larger ones are read.
const MOST_BYTES: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<SessionId, Remembered>,
    /// Counts what was looked for, so that those who were not for long can go.
    looks: u64,
}

#[derive(Debug)]
struct Remembered {
    head: StoredHead,
    asks: BTreeMap<InteractionId, Ask>,
    last_look: u64,
}

impl Recent {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this batch is decided on, if all of it is remembered.
    pub(crate) fn loaded(&self, items: &[&Item]) -> Option<Loaded> {
        let mut sessions = self.lock();
        sessions.looks += 1;
        let now = sessions.looks;
        let mut loaded = Loaded::default();
        for item in items {
            if item.maybe_at.is_some() || item.command.needs() != Needs::NoOthers {
                return None;
            }
            if let Some(read) = item.command.reads() {
                let known = sessions.known.get(&read)?;
                loaded.heads.entry(read).or_insert_with(|| known.head.clone());
            }
            let known = sessions.known.get_mut(&item.session)?;
            known.last_look = now;
            for id in item.command.names() {
                match known.asks.get(&id) {
                    Some(ask) => loaded.asks.push((item.session, id, ask.clone())),
                    // A new one, most likely. If it was there, it cannot be added again.
                    None if item.command.is_request() => {}
                    None => return None,
                }
            }
            loaded.heads.entry(item.session).or_insert_with(|| known.head.clone());
        }
        Some(loaded)
    }

    /// What was written is what there is.
    pub(crate) fn keep(&self, written: BTreeMap<SessionId, SessionPlan>) {
        let mut sessions = self.lock();
        let last_look = sessions.looks;
        for (id, SessionPlan { head, session, .. }) in written {
            let small = |ask: &Ask| usize::try_from(ask.bytes).is_ok_and(|bytes| bytes <= MOST_BYTES);
            if head.state.len() > MOST_BYTES
                || session.asks.len() > MOST_ASKS
                || !session.asks.values().all(small)
            {
                sessions.known.remove(&id);
                continue;
            }
            let head = StoredHead {
                state: Arc::clone(&session.head),
                last_seq: head.last_seq,
                last_at: head.last_at,
                hash: head.hash,
                erased: false,
            };
            sessions.known.insert(id, Remembered { head, asks: session.asks, last_look });
        }
        if sessions.known.len() > MOST_SESSIONS {
            let mut looks: Vec<_> = sessions.known.values().map(|known| known.last_look).collect();
            looks.sort_unstable();
            let middle = looks[looks.len() / 2];
            sessions.known.retain(|_, known| known.last_look > middle);
        }
    }

    /// Something was erased: nothing of it stays here.
    pub(crate) fn clear(&self) {
        self.lock().known.clear();
    }

    /// They are not what they were taken for, or nobody knows.
    pub(crate) fn forget(&self, items: &[&Item]) {
        let mut sessions = self.lock();
        for item in items {
            sessions.known.remove(&item.session);
            if let Some(read) = item.command.reads() {
                sessions.known.remove(&read);
            }
        }
    }
}

/// Whether every item of it leads to something that is written: then the database tells if it was decided on a wrong guess.
pub(crate) fn is_all_written(plan: &Plan) -> bool {
    plan.results.iter().all(|result| result.as_ref().is_ok_and(|appended| !appended.events.is_empty()))
}
