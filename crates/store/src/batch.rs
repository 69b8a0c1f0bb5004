//! Batchers: each writes what is queued with it, many items to a transaction.

use std::collections::HashSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use holdstead_core::Command;
use holdstead_protocol::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::backend::{Backend, Item, Patience, WriteError, Written};
use crate::line::{Batch, Entry, Line};
use crate::plan::words_of;
use crate::weigh::weigh;
use crate::{AppendError, Appended, EVENT_LIMIT, PendingAppend, Source, StoreError};

/// How much may wait. A command waits here or in the hands of its caller, which costs the same memory; what is
/// beyond this is refused, because a database that is so far behind will not catch up by more being queued.
const MOST_ITEMS: usize = 65_536;
const MOST_BYTES: usize = 256 * 1024 * 1024;

/// How long a batch is tried again while the database is away.
const AWAY: Duration = Duration::from_secs(10);
/// The same once a commit may have happened: giving up then leaves its callers in the dark.
const LOST: Duration = Duration::from_secs(60);

/// How long a batcher that lives takes at most to look into its queue.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Where batchers run, and how many.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Batchers {
    /// Tasks of this runtime. A session is always with the same one, so that a slow batch holds only some of them.
    Tasks(usize),
    /// One, on a thread of its own, whose database blocks.
    OneThread,
}

/// The way into the batchers.
#[derive(Debug)]
pub(crate) struct Queue {
    lanes: Vec<mpsc::UnboundedSender<Message>>,
    load: Arc<Load>,
}

#[derive(Debug)]
enum Message {
    Append(Vec<Entry>),
    /// Answered when what was queued before it is written: it shows that the batcher lives.
    Ping(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

#[derive(Debug, Default)]
struct Load {
    items: AtomicUsize,
    bytes: AtomicUsize,
    retries: AtomicU64,
    failures: AtomicU64,
}

/// What waits to be written by this process, and what the database cost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterLoad {
    pub items: u64,
    pub bytes: u64,
    /// How often a batch was tried again because the database was away.
    pub retries: u64,
    /// Appends that failed for want of the database, or because it refused them.
    pub failures: u64,
}

impl Queue {
    /// Starts the batchers. Each ends when the queue is closed or dropped and everything in it is written.
    pub(crate) fn start(backend: &Arc<dyn Backend>, batchers: Batchers) -> Result<Self, StoreError> {
        let load = Arc::new(Load::default());
        let batcher = || {
            let (sender, receiver) = mpsc::unbounded_channel();
            let (backend, load) = (Arc::clone(backend), Arc::clone(&load));
            (sender, Batcher { backend, receiver, line: Line::default(), load, pings: Vec::new() })
        };
        let lanes = match batchers {
            Batchers::Tasks(count) => (0..count)
                .map(|_| {
                    let (sender, batcher) = batcher();
                    tokio::spawn(batcher.run());
                    sender
                })
                .collect(),
            Batchers::OneThread => {
                let (sender, batcher) = batcher();
                batcher
                    .on_thread()
                    .map_err(|error| StoreError::file("start the thread that writes", &error))?;
                vec![sender]
            }
        };
        Ok(Self { lanes, load })
    }

    fn lane(&self, session: SessionId) -> Option<&mpsc::UnboundedSender<Message>> {
        let number = session.uuid().as_u128() % self.lanes.len().max(1) as u128;
        self.lanes.get(usize::try_from(number).unwrap_or_default())
    }

    pub(crate) fn append(&self, session: SessionId, command: Command) -> PendingAppend {
        let mut entries = Vec::with_capacity(1);
        let pending = self.entry(session, command, &mut entries);
        self.send(session, entries);
        pending
    }

    /// The batcher gets both at once, so that it does not begin with the first alone.
    pub(crate) fn append_both(
        &self,
        session: SessionId,
        first: Command,
        second: Command,
    ) -> (PendingAppend, PendingAppend) {
        let mut entries = Vec::with_capacity(2);
        let pending = (self.entry(session, first, &mut entries), self.entry(session, second, &mut entries));
        self.send(session, entries);
        pending
    }

    /// Those that nobody takes are dropped, and tell who waits for them.
    fn send(&self, session: SessionId, entries: Vec<Entry>) {
        if let Some(lane) = self.lane(session) {
            let _closed = lane.send(Message::Append(entries));
        }
    }

    /// Adds an entry, unless there is no room for it.
    fn entry(&self, session: SessionId, command: Command, entries: &mut Vec<Entry>) -> PendingAppend {
        let weight = weigh(&command);
        if weight.largest > EVENT_LIMIT {
            let error = AppendError::TooLarge { bytes: weight.largest, limit: EVENT_LIMIT };
            return PendingAppend::failed(error);
        }
        let waiting = self.load.items.fetch_add(1, Ordering::Relaxed);
        let bytes = self.load.bytes.fetch_add(weight.total, Ordering::Relaxed);
        if waiting >= MOST_ITEMS || bytes >= MOST_BYTES {
            self.load.remove(weight.total);
            return PendingAppend::failed(StoreError::Overloaded { waiting }.into());
        }
        let (reply, result) = oneshot::channel();
        entries.push(Entry::new(Item::new(session, command), weight.total, reply));
        PendingAppend::queued(result)
    }

    pub(crate) fn load(&self) -> WriterLoad {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed) as u64;
        WriterLoad {
            items: of(&self.load.items),
            bytes: of(&self.load.bytes),
            retries: self.load.retries.load(Ordering::Relaxed),
            failures: self.load.failures.load(Ordering::Relaxed),
        }
    }

    /// Whether the batchers take what is queued.
    pub(crate) async fn ready(&self) -> Result<(), StoreError> {
        let dead = StoreError::NoWriter { why: "has ended" };
        let mut answers = Vec::new();
        for lane in &self.lanes {
            let (pong, answered) = oneshot::channel();
            lane.send(Message::Ping(pong)).map_err(|_| dead.clone())?;
            answers.push(answered);
        }
        let all = async {
            for answered in answers {
                answered.await.map_err(|_| dead.clone())?;
            }
            Ok(())
        };
        let late = Err(StoreError::NoWriter { why: "waits for the database" });
        timeout(READY_WITHIN, all).await.unwrap_or(late)
    }

    /// Returns when everything queued before is written.
    pub(crate) async fn close(&self) {
        let mut closing = Vec::new();
        for lane in &self.lanes {
            let (done, closed) = oneshot::channel();
            if lane.send(Message::Close(done)).is_ok() {
                closing.push(closed);
            }
        }
        for closed in closing {
            // The batcher is gone either way.
            let _gone = closed.await;
        }
    }
}

impl Load {
    fn remove(&self, bytes: usize) {
        self.items.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

struct Batcher {
    backend: Arc<dyn Backend>,
    receiver: mpsc::UnboundedReceiver<Message>,
    line: Line,
    load: Arc<Load>,
    /// Answered when what was queued before them is written: a writer that hangs answers nobody.
    pings: Vec<oneshot::Sender<()>>,
}

impl Batcher {
    /// On a thread of its own, with a runtime for its timers.
    fn on_thread(self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let write = move || runtime.block_on(self.run());
        std::thread::Builder::new().name("holdstead-writer".to_owned()).spawn(write).map(drop)
    }

    async fn run(mut self) {
        let mut closing = Vec::new();
        loop {
            self.pong();
            while let Ok(message) = self.receiver.try_recv() {
                self.take(message, &mut closing);
            }
            if self.line.is_empty() {
                self.pong();
                if !closing.is_empty() {
                    break;
                }
                match self.receiver.recv().await {
                    Some(message) => self.take(message, &mut closing),
                    None => break,
                }
                continue;
            }
            let batch = self.line.take(Instant::now());
            match (batch.entries.is_empty(), self.line.next_ready()) {
                (false, _) => self.write(batch).await,
                (true, Some(ready)) => tokio::select! {
                    () = sleep_until(ready) => {}
                    Some(message) = self.receiver.recv() => self.take(message, &mut closing),
                },
                // Entries that are neither ready nor resting do not exist.
                (true, None) => {}
            }
        }
        self.receiver.close();
        drop(closing);
    }

    fn pong(&mut self) {
        for ping in self.pings.drain(..) {
            // Whoever asked may have stopped waiting.
            let _gone = ping.send(());
        }
    }

    fn take(&mut self, message: Message, closing: &mut Vec<oneshot::Sender<()>>) {
        match message {
            Message::Append(entries) => entries.into_iter().for_each(|entry| self.line.push(entry)),
            Message::Ping(ping) => self.pings.push(ping),
            Message::Close(done) => {
                self.receiver.close();
                closing.push(done);
            }
        }
    }

    /// Writes a batch, or as much of it as can be.
    async fn write(&mut self, batch: Batch) {
        let mut parts = vec![batch.entries];
        let mut trouble = Trouble::default();
        let mut busy = HashSet::new();
        let mut back = Vec::new();
        while let Some(part) = parts.pop() {
            // Nothing may overtake what was left out in front of it.
            let (behind, mut part): (Vec<_>, Vec<_>) =
                part.into_iter().partition(|entry| busy.contains(&entry.item.session));
            back.extend(behind);
            if part.is_empty() {
                continue;
            }
            let items: Vec<&Item> = part.iter().map(|entry| &entry.item).collect();
            match self.write_items(&items, batch.patience).await {
                Ok(written) => {
                    trouble = Trouble::default();
                    for (entry, written) in part.into_iter().zip(written) {
                        match written {
                            Written::Done(result) => self.finish(entry, *result),
                            Written::Busy => {
                                busy.insert(entry.item.session);
                                back.push(entry);
                            }
                        }
                    }
                }
                Err(WriteError::Refused(source)) => {
                    self.halve(part, &mut parts, StoreError::Refused { source });
                }
                Err(WriteError::WentBack(went_back)) => {
                    for entry in part {
                        self.finish(entry, Err(StoreError::WentBack(went_back.clone()).into()));
                    }
                }
                Err(WriteError::Corrupt(error)) => self.halve(part, &mut parts, error),
                Err(WriteError::Panicked(what)) => {
                    tracing::error!(%what, items = part.len(), "the database's code panicked; these appends fail");
                    for entry in part {
                        let source = Arc::new(std::io::Error::other("its own code panicked"));
                        self.finish(entry, Err(StoreError::Unknown { source }.into()));
                    }
                }
                Err(WriteError::Away(source)) => {
                    if trouble.wait(&source, &part).await {
                        self.load.retries.fetch_add(1, Ordering::Relaxed);
                        parts.push(part);
                    } else {
                        self.give_up(part, &source);
                    }
                }
                Err(WriteError::Lost { planned, source }) => {
                    for (entry, planned) in part.iter_mut().zip(planned) {
                        entry.item.maybe_at = planned.or(entry.item.maybe_at);
                    }
                    if trouble.wait(&source, &part).await {
                        self.load.retries.fetch_add(1, Ordering::Relaxed);
                        parts.push(part);
                    } else {
                        self.give_up(part, &source);
                    }
                }
            }
        }
        self.line.give_back(back, Instant::now());
    }

    /// A panic in the database's own code costs these items, and nobody knows whether they were written. The batcher
    /// goes on.
    async fn write_items(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError> {
        let mut writing = self.backend.write(items, patience);
        let write =
            poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| writing.as_mut().poll(context))) {
                Ok(polled) => polled.map(Ok),
                Err(panic) => Poll::Ready(Err(panic)),
            });
        write.await.unwrap_or_else(|panic| Err(WriteError::Panicked(words_of(&*panic))))
    }

    /// One of them is bad: halve until it stands alone, and fail it alone.
    fn halve(&self, mut part: Vec<Entry>, parts: &mut Vec<Vec<Entry>>, error: StoreError) {
        if part.len() > 1 {
            let second = part.split_off(part.len() / 2);
            parts.extend([second, part]);
            return;
        }
        for entry in part {
            tracing::error!(session = %entry.item.session, %error, "an append failed");
            self.finish(entry, Err(error.clone().into()));
        }
    }

    fn give_up(&self, part: Vec<Entry>, source: &Source) {
        for entry in part {
            let source = Arc::clone(source);
            let error = match entry.item.maybe_at {
                Some(_) => StoreError::Unknown { source },
                None => StoreError::Unreachable { source },
            };
            self.finish(entry, Err(error.into()));
        }
    }

    fn finish(&self, entry: Entry, result: Result<Appended, AppendError>) {
        self.load.remove(entry.bytes);
        if let Err(AppendError::Store(_)) = &result {
            self.load.failures.fetch_add(1, Ordering::Relaxed);
        }
        // Whoever asked may have stopped waiting; what was written stays written.
        let _nobody = entry.reply.send(result);
    }
}

/// How long the database has been away.
#[derive(Debug, Default)]
struct Trouble {
    since: Option<Instant>,
    tries: u32,
}

impl Trouble {
    /// Waits before the next try. `false`: it took too long.
    async fn wait(&mut self, source: &Source, part: &[Entry]) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let lost = part.iter().any(|entry| entry.item.maybe_at.is_some());
        if since.elapsed() >= if lost { LOST } else { AWAY } {
            tracing::error!(%source, items = part.len(), "the database stayed away; these appends fail");
            return false;
        }
        tracing::warn!(%source, items = part.len(), tries = self.tries, "the database is away; trying again");
        sleep(Duration::from_millis(5 << self.tries.min(7))).await;
        self.tries += 1;
        true
    }
}
