//! Clients that count the frames that they are sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{Result, ensure};

/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Readers {
    /// They end with this.
    tasks: JoinSet<()>,
    count: usize,
    /// The frames that each of them had before counting began anew.
    before: usize,
    shared: Arc<Shared>,
    /// What the first of them is sent.
    sample: mpsc::UnboundedReceiver<Vec<u8>>,
}

/// All of them are sent the same, so all have everything when their sum is right.
#[derive(Debug, Default)]
struct Shared {
    frames: AtomicUsize,
    wanted: AtomicUsize,
    there: Notify,
}

impl Readers {
    pub(super) async fn connect(
        address: SocketAddr,
        count: usize,
        request: impl Fn(usize) -> Vec<u8>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (send_sample, sample) = mpsc::unbounded_channel();
        let mut sampled = Some(send_sample);
        let mut tasks = JoinSet::new();
        for number in 0..count {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(&request(number)).await?;
            tasks.spawn(read(stream, Arc::clone(&shared), sampled.take()));
        }
        Ok(Self { tasks, count, before: 0, shared, sample })
    }

    /// Returns when each has had so many frames.
    pub(super) async fn have(&mut self, frames: usize) -> Result<()> {
        let wanted = (self.before + frames) * self.count;
        self.shared.wanted.store(wanted, Ordering::SeqCst);
        let mut before = 0;
        loop {
            let there = self.shared.frames.load(Ordering::SeqCst);
            ensure!(self.tasks.try_join_next().is_none(), "a stream ended");
            if there == wanted {
                return Ok(());
            }
            let waited = timeout(PATIENCE, self.shared.there.notified()).await;
            let goes_on = waited.is_ok() || there > before;
            ensure!(goes_on, "{there} frames came to {} streams, not {wanted}", self.count);
            before = there;
        }
    }

    /// What they had until now does not count any more.
    pub(super) fn begin_anew(&mut self) {
        self.before = self.shared.wanted.load(Ordering::SeqCst) / self.count;
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
async fn read(mut stream: TcpStream, shared: Arc<Shared>, sample: Option<mpsc::UnboundedSender<Vec<u8>>>) {
    let mut buffer = vec![0; 4 * 1024];
    let mut was_end = false;
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let mut frames = 0;
        for byte in &buffer[..read] {
            frames += usize::from(was_end && *byte == b'\n');
            was_end = *byte == b'\n';
        }
        if let Some(sample) = &sample {
            // The show may not look at it any more.
            drop(sample.send(buffer[..read].to_vec()));
        }
        let all = shared.frames.fetch_add(frames, Ordering::SeqCst) + frames;
        if all >= shared.wanted.load(Ordering::SeqCst) {
            shared.there.notify_one();
        }
    }
    shared.there.notify_one();
}
