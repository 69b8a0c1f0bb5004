//! The line in which items wait to be written: in order within a session, in turn between sessions.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use holdstead_protocol::SessionId;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::backend::{Item, Patience};
use crate::{AppendError, Appended};

/// The most items in one transaction.
const BATCH_ITEMS: usize = 256;
/// About the most bytes in one transaction. One item may have more.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How many items of one session go before the next session has its turn.
const SHARE: usize = 64;
/// How long a session rests whose head another node holds.
const REST: Duration = Duration::from_millis(1);
/// After being passed over this often a session stands in line at the database itself.
const PASSED_OVER: u32 = 8;

/// An item, and who waits for it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) item: Item,
    pub(crate) bytes: usize,
    pub(crate) reply: oneshot::Sender<Result<Appended, AppendError>>,
    passed_over: u32,
}

impl Entry {
    pub(crate) fn new(
        item: Item,
        bytes: usize,
        reply: oneshot::Sender<Result<Appended, AppendError>>,
    ) -> Self {
        Self { item, bytes, reply, passed_over: 0 }
    }
}

#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    pub(crate) patience: Patience,
}

/// Every session that has entries is either ready or resting, once.
#[derive(Debug, Default)]
pub(crate) struct Line {
    sessions: HashMap<SessionId, VecDeque<Entry>>,
    ready: VecDeque<SessionId>,
    resting: VecDeque<(Instant, SessionId)>,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        let session = entry.item.session;
        let entries = self.sessions.entry(session).or_default();
        if entries.is_empty() {
            self.ready.push_back(session);
        }
        entries.push_back(entry);
    }

    /// When the first resting session has rested enough.
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        self.resting.front().map(|(until, _)| *until)
    }

    /// The next batch; empty if all sessions rest.
    pub(crate) fn take(&mut self, now: Instant) -> Batch {
        while let Some((_, session)) = self.resting.pop_front_if(|(until, _)| *until <= now) {
            self.ready.push_front(session);
        }
        let mut batch = Batch { entries: Vec::new(), patience: Patience::Skip };
        let mut bytes = 0;
        while batch.entries.len() < BATCH_ITEMS && bytes < BATCH_BYTES {
            let Some(session) = self.ready.pop_front() else { break };
            let Some(waiting) = self.sessions.get_mut(&session) else { continue };
            let tired = waiting.front().is_some_and(|entry| entry.passed_over >= PASSED_OVER);
            if tired && !batch.entries.is_empty() {
                // It waits for its head alone, so that it keeps nobody else waiting with it.
                self.ready.push_front(session);
                break;
            }
            for _ in 0..SHARE.min(BATCH_ITEMS - batch.entries.len()) {
                let Some(entry) = waiting.pop_front() else { break };
                bytes += entry.bytes;
                batch.entries.push(entry);
                if bytes >= BATCH_BYTES {
                    break;
                }
            }
            if waiting.is_empty() {
                self.sessions.remove(&session);
            } else {
                self.ready.push_back(session);
            }
            if tired {
                batch.patience = Patience::Wait;
                break;
            }
        }
        batch
    }

    /// Puts entries back where they were, in front of everything behind them in their session, to rest.
    pub(crate) fn give_back(&mut self, entries: Vec<Entry>, now: Instant) {
        let mut sessions = Vec::new();
        for mut entry in entries.into_iter().rev() {
            entry.passed_over += 1;
            let session = entry.item.session;
            if !sessions.contains(&session) {
                sessions.push(session);
            }
            self.sessions.entry(session).or_default().push_front(entry);
        }
        self.ready.retain(|session| !sessions.contains(session));
        self.resting.extend(sessions.into_iter().map(|session| (now + REST, session)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_core::Command;
    use uuid::Uuid;

    fn session(number: u128) -> SessionId {
        SessionId::from_uuid(Uuid::from_u128(number))
    }

    fn line(entries: impl IntoIterator<Item = (u128, &'static str)>) -> Line {
        let mut line = Line::default();
        for (number, name) in entries {
            let item = Item::new(session(number), Command::End { name: name.to_owned() });
            line.push(Entry::new(item, 1, oneshot::channel().0));
        }
        line
    }

    fn names(batch: &Batch) -> Vec<String> {
        let name = |entry: &Entry| {
            let Command::End { name } = &entry.item.command else { panic!("{entry:?}") };
            name.clone()
        };
        batch.entries.iter().map(name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_session_keeps_its_order_and_cannot_keep_others_waiting() {
        let mut line = line((0..300).map(|_| (1, "hot")).chain([(2, "cold")]));
        let batch = line.take(Instant::now());
        assert_eq!(batch.entries.len(), 256);
        assert_eq!(names(&batch)[SHARE], "cold");
        assert_eq!(line.take(Instant::now()).entries.len(), 45);
        assert!(line.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_back_stays_in_front_of_what_is_behind_it() {
        let mut line = line([(1, "a"), (1, "b"), (2, "x")]);
        let batch = line.take(Instant::now());
        assert_eq!(names(&batch), ["a", "b", "x"]);
        line.push(Entry::new(
            Item::new(session(1), Command::End { name: "c".to_owned() }),
            1,
            oneshot::channel().0,
        ));
        let back: Vec<_> =
            batch.entries.into_iter().filter(|entry| entry.item.session == session(1)).collect();
        line.give_back(back, Instant::now());
        assert!(line.take(Instant::now()).entries.is_empty(), "it rests");
        let later = line.next_ready().unwrap();
        assert_eq!(names(&line.take(later)), ["a", "b", "c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_was_passed_over_too_often_waits_alone() {
        let mut line = line([(1, "a"), (2, "x")]);
        for _ in 0..PASSED_OVER {
            let now = line.next_ready().unwrap_or_else(Instant::now);
            let (busy, _): (Vec<_>, Vec<_>) =
                line.take(now).entries.into_iter().partition(|entry| entry.item.session == session(1));
            line.give_back(busy, now);
        }
        let batch = line.take(line.next_ready().unwrap());
        assert_eq!((names(&batch), batch.patience), (vec!["a".to_owned()], Patience::Wait));
    }
}
