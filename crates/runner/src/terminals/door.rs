//! The socket that hooks and plugins of this account come to: one line in, and one out for those who wait.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Take};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::task::Input;
use super::{Reply, Said};
use crate::Runner;

/// The longest line. A hook is told whole files.
const LONGEST: u64 = 16 * 1024 * 1024;
/// So long others wait for one who came before them.
const IN_TURN: Duration = Duration::from_millis(100);
/// So many may be there at once.
const MOST: usize = 4_096;

/// What a hook or plugin sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Whose program.
    pub agent: String,
    /// Its process.
    #[serde(default)]
    pub pid: Option<u32>,
    /// It waits for a line.
    #[serde(default)]
    pub waits: bool,
    /// The program's own words.
    pub said: String,
}

/// What one that waits is given.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyLine {
    /// What it tells its program; nothing, if the program goes on as if nobody had been asked.
    Answer(Option<Value>),
    /// A person's words for the program.
    Say(String),
}

/// Open as long as it is kept.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
    listens: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.listens.abort();
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whoever has the folder's lock may open it: what is left of an earlier one goes.
pub(super) fn open(runner: &Arc<Runner>, path: &Path) -> std::io::Result<Door> {
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    let listens = tokio::spawn(listen(Arc::clone(runner), listener));
    Ok(Door { path: path.to_owned(), listens })
}

async fn listen(runner: Arc<Runner>, listener: UnixListener) {
    let places = Arc::new(Semaphore::new(MOST));
    let (turns, come) = mpsc::unbounded_channel();
    tokio::spawn(in_order(runner, come));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let ours =
                    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
                let (comes, turn) = oneshot::channel();
                if ours && turns.send(turn).is_ok() {
                    tokio::spawn(read(stream, place, comes));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a terminal could not come in");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Somebody who has said what they came for.
struct Come {
    envelope: Envelope,
    read: BufReader<Take<OwnedReadHalf>>,
    write: OwnedWriteHalf,
    /// Until it goes.
    place: OwnedSemaphorePermit,
}

async fn read(stream: UnixStream, place: OwnedSemaphorePermit, comes: oneshot::Sender<Come>) {
    let (read, write) = stream.into_split();
    let mut read = BufReader::new(read.take(LONGEST));
    let mut line = String::new();
    if read.read_line(&mut line).await.is_err() || !line.ends_with('\n') {
        return;
    }
    if let Ok(envelope) = serde_json::from_str(&line) {
        // If nobody takes it, the door is closed.
        drop(comes.send(Come { envelope, read, write, place }));
    }
}

/// A program goes on when its hook has written, so whoever came first is heard first. One that takes long waits for nobody.
async fn in_order(runner: Arc<Runner>, mut come: mpsc::UnboundedReceiver<oneshot::Receiver<Come>>) {
    while let Some(mut turn) = come.recv().await {
        match tokio::time::timeout(IN_TURN, &mut turn).await {
            Ok(Ok(come)) => take(&runner, come),
            // It had nothing to say.
            Ok(Err(_)) => {}
            Err(_) => {
                let runner = Arc::clone(&runner);
                tokio::spawn(async move {
                    if let Ok(come) = turn.await {
                        take(&runner, come);
                    }
                });
            }
        }
    }
}

fn take(runner: &Arc<Runner>, come: Come) {
    let (reply, replied) = oneshot::channel();
    let Envelope { agent, pid, waits, said } = come.envelope;
    let said = Said { agent, pid, text: said, waits: waits.then_some(reply) };
    let told = runner.said_in_terminal(said);
    if let Some((terminal, number)) = told.filter(|_| waits) {
        let (mut read, mut write, place) = (come.read, come.write, come.place);
        tokio::spawn(async move {
            let mut rest = [0_u8; 64];
            tokio::select! {
                reply = replied => answer(&mut write, reply.ok()).await,
                // It has nothing more to say: this is its end.
                _ = read.read(&mut rest) => drop(terminal.send(Input::Left { waits: number })),
            }
            drop(place);
        });
    }
}

async fn answer(write: &mut OwnedWriteHalf, reply: Option<Reply>) {
    let line = match reply {
        Some(Reply::Answer(answer)) => ReplyLine::Answer(answer),
        Some(Reply::Say(words)) => ReplyLine::Say(words),
        // Nobody listens to it any more.
        None => return,
    };
    if let Ok(mut line) = serde_json::to_vec(&line) {
        line.push(b'\n');
        // If it is gone meanwhile, the program's own record tells.
        drop(write.write_all(&line).await);
    }
}
