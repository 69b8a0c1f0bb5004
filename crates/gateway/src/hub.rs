//! Live fan-out: tells whoever watches a session, or an owner's inbox, what was just committed.
//!
//! What is sent here may be lost to a slow reader; readers fill gaps from the journal.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use holdstead_protocol::api::InboxUpsert;
use holdstead_protocol::{Event, OwnerId, SessionId};
use holdstead_store::Appended;
use tokio::sync::broadcast;

use crate::Told;

/// How many events a reader may lag behind before it reads from the journal instead.
const EVENTS: usize = 64;
/// How many changes an inbox may lag behind before it begins anew. They are small, and one cancelled turn may be
/// hundreds of them.
const CHANGES: usize = 1_024;
/// A channel costs some ten kilobytes: this many without a watcher are no matter.
const FIRST_SWEEP: usize = 64;

/// What whoever watches is sent.
#[derive(Debug, Clone)]
pub(crate) enum Live<T> {
    Told(T),
    /// Something happened, and nobody here knows what: read again.
    Look,
}

#[derive(Debug)]
pub(crate) struct Hub {
    sessions: Channels<SessionId, Live<Arc<Told>>>,
    owners: Channels<OwnerId, Live<InboxUpsert>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { sessions: Channels::holding(EVENTS), owners: Channels::holding(CHANGES) }
    }
}

impl Hub {
    pub(crate) fn watch_session(&self, session: SessionId) -> broadcast::Receiver<Live<Arc<Told>>> {
        self.sessions.subscribe(session)
    }

    pub(crate) fn watch_owner(&self, owner: &OwnerId) -> broadcast::Receiver<Live<InboxUpsert>> {
        self.owners.subscribe(owner.clone())
    }

    pub(crate) fn publish(&self, session: SessionId, appended: &Appended) {
        self.tell_screens(session, &appended.events);
        self.tell_inboxes(session, appended);
    }

    pub(crate) fn tell_screens(&self, session: SessionId, events: &[Event]) {
        for event in events {
            self.sessions.send(&session, || Live::Told(Arc::new(event.clone().into())));
        }
    }

    pub(crate) fn tell_inboxes(&self, session: SessionId, appended: &Appended) {
        for event in &appended.events {
            if let Some(interaction_id) = event.body.ask()
                && let Some(ask) = appended.session.asks.get(&interaction_id)
                && ask.seq == event.seq
            {
                self.owners.send(&appended.session.head.owner, || {
                    Live::Told(InboxUpsert {
                        interaction_id,
                        session_id: session,
                        seq: ask.seq,
                        state: ask.state.clone(),
                        snoozed_until: ask.snoozed.as_ref().map(|snoozed| snoozed.until),
                        snoozed_by: ask.snoozed.as_ref().map(|snoozed| snoozed.by.clone()),
                    })
                });
            }
        }
    }

    /// Whoever watches this session reads again.
    pub(crate) fn screens_look(&self, session: SessionId) {
        self.sessions.send(&session, || Live::Look);
    }

    pub(crate) fn inboxes_look(&self, owner: &OwnerId) {
        self.owners.send(owner, || Live::Look);
    }

    pub(crate) fn look_everywhere(&self) {
        self.sessions.send_to_all(&Live::Look);
        self.owners.send_to_all(&Live::Look);
    }

    /// How many watch sessions, and how many watch inboxes.
    pub(crate) fn watchers(&self) -> (usize, usize) {
        (self.sessions.watchers(), self.owners.watchers())
    }

    pub(crate) fn watched_sessions(&self) -> HashSet<SessionId> {
        self.sessions.watched()
    }

    /// Whether anybody watches the session, or an inbox that it may be in.
    pub(crate) fn is_followed(&self, session: SessionId) -> bool {
        self.sessions.is_watched(&session) || self.may_be_in_an_inbox(session)
    }

    /// Whether anybody watches an inbox that the session may be in.
    pub(crate) fn may_be_in_an_inbox(&self, session: SessionId) -> bool {
        self.owners.is_any_watched(|owner| session.may_belong_to(owner))
    }
}

/// One channel per key that somebody watches; none for the others.
#[derive(Debug)]
struct Channels<K, T> {
    /// How much each holds for a reader that lags behind.
    buffer: usize,
    inner: Mutex<Inner<K, T>>,
}

#[derive(Debug)]
struct Inner<K, T> {
    senders: HashMap<K, broadcast::Sender<T>>,
    /// At how many channels those without a watcher are looked for: a channel whose key falls silent is not found
    /// by sending.
    sweep_at: usize,
}

impl<K, T> Channels<K, T> {
    fn holding(buffer: usize) -> Self {
        Self { buffer, inner: Mutex::new(Inner { senders: HashMap::new(), sweep_at: FIRST_SWEEP }) }
    }
}

impl<K: Clone + Eq + Hash, T: Clone> Channels<K, T> {
    fn subscribe(&self, key: K) -> broadcast::Receiver<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.senders.len() >= inner.sweep_at {
            inner.senders.retain(|_, sender| sender.receiver_count() > 0);
            inner.sweep_at = FIRST_SWEEP.max(inner.senders.len() * 2);
        }
        inner.senders.entry(key).or_insert_with(|| broadcast::channel(self.buffer).0).subscribe()
    }

    fn watchers(&self) -> usize {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.senders.values().map(broadcast::Sender::receiver_count).sum()
    }

    fn watched(&self) -> HashSet<K> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = inner.senders.iter().filter(|(_, sender)| sender.receiver_count() > 0);
        watched.map(|(key, _)| key.clone()).collect()
    }

    fn is_watched(&self, key: &K) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.senders.get(key).is_some_and(|sender| sender.receiver_count() > 0)
    }

    fn is_any_watched(&self, wanted: impl Fn(&K) -> bool) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.senders.iter().any(|(key, sender)| wanted(key) && sender.receiver_count() > 0)
    }

    fn send_to_all(&self, value: &T) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.senders.retain(|_, sender| sender.send(value.clone()).is_ok());
    }

    fn send(&self, key: &K, value: impl FnOnce() -> T) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // The last watcher is gone: so is the channel.
        if inner.senders.get(key).is_some_and(|sender| sender.send(value()).is_err()) {
            inner.senders.remove(key);
        }
    }
}
