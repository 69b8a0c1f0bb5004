//! What was written on other nodes reaches whoever follows it here: screens, inboxes, waiters, session tasks.
//!
//! Nothing of a hint is believed. It says where to read; whoever follows a session is told what the journal has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use futures_util::future::try_join_all;
use holdstead_core::Session;
use holdstead_protocol::{Event, Seq, SessionId};
use holdstead_store::{Appended, SessionRecord};

use crate::hints::{Arrived, Hint, Whom};
use crate::owner_journal::is_owners_journal;
use crate::{Gateway, GatewayError};

/// Where more than this is new, whoever watches reads it by themselves.
pub(crate) const TAIL: u32 = 64;
/// How many sessions are read again at once: anybody who may write hints can name as many as they like.
const MOST: usize = 1_000;

/// Whether there may be more than was read.
fn is_more(events: &[Event]) -> bool {
    events.len() >= TAIL as usize
}

impl Gateway {
    /// Something was written here: the other nodes are told, and it is noted that everybody here was.
    pub(crate) fn hint_others(&self, session: SessionId, appended: &Appended, whom: Whom) {
        let Some(node) = &self.inner.node else { return };
        let (Some(first), Some(last)) = (appended.events.first(), appended.events.last()) else { return };
        node.outbox.put(Hint { session, first: first.seq, last: last.seq, whom });
        self.note_seen(session, last.seq);
    }

    fn note_seen(&self, session: SessionId, seq: Seq) {
        let Some(node) = &self.inner.node else { return };
        let mut seen = node.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.entry(session).or_insert(seq);
        *known = seq.max(*known);
    }

    fn seen(&self, session: SessionId) -> Option<Seq> {
        let node = self.inner.node.as_ref()?;
        node.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&session).copied()
    }

    /// Reads a session again, if anybody here follows it. One reads at a time; what is hinted meanwhile is read after that.
    pub(crate) fn hinted(&self, hint: Hint) -> Arrived {
        let Some(node) = &self.inner.node else { return Arrived::All };
        if hint.whom == Whom::Followers && !self.is_followed(hint.session) {
            return Arrived::All;
        }
        let mut catching_up = node.catching_up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = catching_up.get_mut(&hint.session) {
            *next = Some(next.map_or(hint, |next| next.and(hint)));
            return Arrived::All;
        }
        if catching_up.len() >= MOST {
            return Arrived::NotAll;
        }
        catching_up.insert(hint.session, None);
        drop(catching_up);
        let gateway = self.clone();
        self.inner.tasks.spawn(async move { gateway.catch_up_all(hint).await });
        Arrived::All
    }

    async fn catch_up_all(&self, mut hint: Hint) {
        let Some(node) = &self.inner.node else { return };
        loop {
            let heard = Instant::now();
            match self.patiently(|| self.catch_up(hint)).await {
                Ok(()) => self.inner.counted.followed.observe(heard.elapsed()),
                Err(GatewayError::Closing) => {}
                Err(error) => {
                    tracing::error!(session = %hint.session, %error, "what is new could not be read")
                }
            }
            let mut catching_up = node.catching_up.lock().unwrap_or_else(PoisonError::into_inner);
            match catching_up.get_mut(&hint.session).and_then(Option::take) {
                Some(next) => hint = next,
                None => {
                    catching_up.remove(&hint.session);
                    return;
                }
            }
        }
    }

    async fn catch_up(&self, hint: Hint) -> Result<(), GatewayError> {
        let session = hint.session;
        let after = Seq(hint.first.0.saturating_sub(1));
        // One whose predecessor was lost, or that nobody should have written, leaves nothing out.
        let after = self.seen(session).map_or(after, |seen| seen.min(after));
        let hub = &self.inner.hub;
        let (is_followed, is_listed) = (hub.is_followed(session), hub.may_be_in_an_inbox(session));
        let record = async {
            if hint.whom == Whom::Followers && !is_listed {
                return Ok(None);
            }
            let record = self.inner.journal.session(session).await?;
            // The agent does not wait for what screens need.
            if let Some(record) = &record {
                self.wake(record, hint.whom);
            }
            Ok::<_, GatewayError>(record)
        };
        let events = async {
            if !is_followed {
                return Ok(Vec::new());
            }
            let events = self.inner.journal.read(session, after, TAIL).await?;
            // Nor do screens wait for what inboxes need.
            if is_more(&events) {
                hub.screens_look(session);
            } else {
                hub.tell_screens(session, &events);
            }
            Ok(events)
        };
        let (record, events) = tokio::try_join!(record, events)?;
        let Some(last) = events.last().map(|event| event.seq) else { return Ok(()) };
        // Whoever reads again reads to the end.
        let seen = record.as_ref().filter(|_| is_more(&events)).map_or(last, |record| record.head);
        self.wake_deadlines(&events);
        if let Some(record) = record.filter(|_| is_listed) {
            if is_more(&events) {
                hub.inboxes_look(&record.owner);
            } else {
                hub.tell_inboxes(session, &self.as_appended(record, events).await?);
            }
        }
        self.note_seen(session, seen);
        Ok(())
    }

    fn wake(&self, record: &SessionRecord, whom: Whom) {
        let is_owners = is_owners_journal(record);
        match whom {
            Whom::Followers => return,
            Whom::Host => {}
            Whom::Rules => self.settle_soon(&record.owner, (!is_owners).then_some(record.id)),
        }
        if !is_owners {
            self.with_task(record.id, &record.state, |task| task.wake_at(record.head, &record.state));
        }
    }

    /// The session's events behind this one, as if they had just been appended. Telling them twice does no harm.
    pub(crate) async fn since(&self, record: SessionRecord, after: Seq) -> Result<Appended, GatewayError> {
        let events = self.inner.journal.read(record.id, after, TAIL).await?;
        self.as_appended(record, events).await
    }

    async fn as_appended(&self, record: SessionRecord, events: Vec<Event>) -> Result<Appended, GatewayError> {
        let ids: BTreeSet<_> = events.iter().filter_map(|event| event.body.ask()).collect();
        let asks = try_join_all(ids.into_iter().map(|id| self.inner.journal.ask(id))).await?;
        let asks: BTreeMap<_, _> = asks.into_iter().flatten().map(|ask| (ask.id, ask.ask)).collect();
        let session = Session { head: Arc::new(record.state), asks };
        Ok(Appended { events, head: record.head, session })
    }

    pub(crate) fn is_followed(&self, session: SessionId) -> bool {
        let sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.contains_key(&session) || self.inner.hub.is_followed(session)
    }

    /// Hints were missed: whoever follows anything here reads it again.
    pub(crate) fn look_everywhere(&self) {
        self.inner.hub.look_everywhere();
        self.inner.new_deadline.send_replace(());
        self.take_up_ours();
    }

    /// Where a journal that is followed here went on, and nobody here was told.
    pub(crate) fn compare_heads(&self) {
        let Some(node) = &self.inner.node else { return };
        let mut followed = self.inner.hub.watched_sessions();
        followed.extend(self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner).keys());
        let is_followed = |session: &SessionId| followed.contains(session);
        node.seen.lock().unwrap_or_else(PoisonError::into_inner).retain(|session, _| is_followed(session));
        if followed.is_empty() {
            return;
        }
        let (gateway, followed): (_, Vec<_>) = (self.clone(), followed.into_iter().collect());
        self.inner.tasks.spawn(async move {
            let Some(cluster) = gateway.inner.journal.cluster() else { return };
            match cluster.heads(&followed).await {
                Ok(heads) => {
                    for (session, head) in heads {
                        gateway.compare_head(session, head);
                    }
                }
                Err(error) => tracing::warn!(%error, "sessions could not be compared with the journal"),
            }
        });
    }

    fn compare_head(&self, session: SessionId, head: Seq) {
        let seen = self.seen(session);
        // One that is new here: how far its followers have read is known only to them.
        let first = seen.map_or(Seq::START, Seq::next);
        if first <= head {
            // One that does not fit now is compared again in two seconds.
            let _taken = self.hinted(Hint { session, first, last: head, whom: Whom::Host });
        }
    }
}
