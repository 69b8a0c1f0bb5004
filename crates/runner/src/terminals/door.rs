//! The socket that hooks and plugins of this account come to: one line in, and one out for those who wait.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use super::task::Input;
use super::{Reply, Said};
use crate::Runner;

/// The longest line. A hook is told whole files.
const LONGEST: u64 = 16 * 1024 * 1024;
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
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let ours =
                    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
                if ours {
                    let runner = Arc::clone(&runner);
                    tokio::spawn(async move {
                        serve(&runner, stream).await;
                        drop(place);
                    });
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a terminal could not come in");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(runner: &Arc<Runner>, stream: UnixStream) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read.take(LONGEST));
    let mut line = String::new();
    if read.read_line(&mut line).await.is_err() || !line.ends_with('\n') {
        return;
    }
    let Ok(envelope) = serde_json::from_str::<Envelope>(&line) else { return };
    let (reply, replied) = oneshot::channel();
    let Envelope { agent, pid, waits, said } = envelope;
    let said = Said { agent, pid, text: said, waits: waits.then_some(reply) };
    let Some((terminal, number)) = runner.said_in_terminal(said) else { return };
    if !waits {
        return;
    }
    let mut rest = [0_u8; 64];
    tokio::select! {
        reply = replied => {
            let line = match reply {
                Ok(Reply::Answer(answer)) => ReplyLine::Answer(answer),
                Ok(Reply::Say(words)) => ReplyLine::Say(words),
                // Nobody listens to it any more.
                Err(_) => return,
            };
            if let Ok(mut line) = serde_json::to_vec(&line) {
                line.push(b'\n');
                // If it is gone meanwhile, the program's own record tells.
                drop(write.write_all(&line).await);
            }
        }
        // It has nothing more to say: this is its end.
        _ = read.read(&mut rest) => drop(terminal.send(Input::Left { waits: number })),
    }
}
