//! Clients that count the events they are sent, whoever sends them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::{Result, ensure};

/// How many connect at a time: more than a socket's queue holds would be turned away.
const AT_ONCE: usize = 100;
/// Nobody waits longer for anything here.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Readers {
    /// They end with this.
    _tasks: JoinSet<()>,
    count: usize,
    /// The frames all of them had before it was counted anew.
    before: usize,
    shared: Arc<Shared>,
    /// What the first of them is sent.
    sample: mpsc::UnboundedReceiver<Vec<u8>>,
}

#[derive(Debug)]
struct Shared {
    /// How many frames each must have.
    wanted: AtomicUsize,
    /// How many have them.
    there: AtomicUsize,
    changed: Notify,
    all: Notify,
    /// How many are gone.
    gone: AtomicUsize,
}

impl Readers {
    pub(super) async fn connect(
        address: SocketAddr,
        count: usize,
        request: impl Fn(usize) -> Vec<u8>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            wanted: AtomicUsize::new(0),
            there: AtomicUsize::new(0),
            changed: Notify::new(),
            all: Notify::new(),
            gone: AtomicUsize::new(0),
        });
        let (send_sample, sample) = mpsc::unbounded_channel();
        let mut sampled = Some(send_sample);
        let mut tasks = JoinSet::new();
        for first in (0..count).step_by(AT_ONCE) {
            for number in first..count.min(first + AT_ONCE) {
                let mut stream = TcpStream::connect(address).await?;
                stream.write_all(&request(number)).await?;
                let (shared, sampled) = (Arc::clone(&shared), sampled.take());
                tasks.spawn(async move {
                    read(stream, &shared, sampled).await;
                    shared.gone.fetch_add(1, Ordering::SeqCst);
                    shared.all.notify_one();
                });
            }
        }
        Ok(Self { _tasks: tasks, count, before: 0, shared, sample })
    }

    /// Returns when each has had so many frames.
    pub(super) async fn have(&mut self, frames: usize) -> Result<()> {
        let shared = &self.shared;
        shared.there.store(0, Ordering::SeqCst);
        shared.wanted.store(self.before + frames, Ordering::SeqCst);
        shared.changed.notify_waiters();
        loop {
            let there = shared.there.load(Ordering::SeqCst);
            ensure!(shared.gone.load(Ordering::SeqCst) == 0, "a stream ended");
            if there == self.count {
                return Ok(());
            }
            let waited = tokio::time::timeout(PATIENCE, shared.all.notified()).await;
            ensure!(waited.is_ok(), "only {there} of {} streams have {frames} frames", self.count);
        }
    }

    /// What they had until now does not count any more.
    pub(super) fn begin_anew(&mut self) {
        self.before = self.shared.wanted.load(Ordering::SeqCst);
        while self.sample.try_recv().is_ok() {}
    }

    /// The bytes of the first event since then.
    pub(super) async fn first_event(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while !bytes.windows(2).any(|two| two == b"\n\n") {
            bytes.extend(self.sample.recv().await.ok_or("the first stream ended")?);
        }
        Ok(bytes)
    }
}

/// A frame ends with an empty line, and nothing else has one: JSON has no line breaks, and those of HTTP are longer.
async fn read(mut stream: TcpStream, shared: &Shared, sample: Option<mpsc::UnboundedSender<Vec<u8>>>) {
    let mut buffer = vec![0; 4 * 1024];
    let (mut frames, mut reported, mut was_end) = (0, 0, false);
    loop {
        let wanted = shared.wanted.load(Ordering::SeqCst);
        if frames >= wanted && reported < wanted {
            reported = wanted;
            shared.there.fetch_add(1, Ordering::SeqCst);
            shared.all.notify_one();
        }
        let read = tokio::select! {
            biased;
            read = stream.read(&mut buffer) => read,
            () = shared.changed.notified() => continue,
        };
        let Ok(read @ 1..) = read else { return };
        for byte in &buffer[..read] {
            if was_end && *byte == b'\n' {
                frames += 1;
            }
            was_end = *byte == b'\n';
        }
        if let Some(sample) = &sample {
            // Whoever looks at it may be gone.
            drop(sample.send(buffer[..read].to_vec()));
        }
    }
}
