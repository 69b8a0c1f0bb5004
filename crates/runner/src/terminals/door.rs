//! The socket that hooks and plugins of this account come to: the secret and one line in, and one line out for those that
//! wait.

mod newcomers;
mod places;
mod secret;

use std::future::poll_fn;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::newcomers::Newcomers;
use self::places::{Place, Places};
use self::secret::Secret;
pub use self::secret::secret_file;
use super::task::Input;
use super::{Reply, Said};
use crate::Runner;

/// What a hook or plugin sends, in a line after the one with the secret.
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
    /// It waits for nobody who does not listen now.
    #[serde(default)]
    pub brief: bool,
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
        drop(std::fs::remove_file(secret_file(&self.path)));
    }
}

/// Whoever has the folder's lock may open it: what is left of an earlier one goes.
pub(super) fn open(runner: &Arc<Runner>, path: &Path) -> std::io::Result<Door> {
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    let secret = Secret::write(path)?;
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    let listens = tokio::spawn(listen(Arc::clone(runner), listener, secret));
    Ok(Door { path: path.to_owned(), listens })
}

async fn listen(runner: Arc<Runner>, listener: UnixListener, secret: Secret) {
    let places = Places::default();
    let mut newcomers = Newcomers::default();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let Some(place) = place_for(&stream, &places) else { continue };
                    newcomers.add(stream, place);
                }
                Err(error) => {
                    tracing::warn!(%error, "a terminal could not come in");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            () = poll_fn(|context| newcomers.poll_more(context)) => {}
            () = sleep_until(newcomers.due()) => {}
        }
        // With each that comes, those before it are read first.
        for said in newcomers.read(&secret) {
            take(&runner, said);
        }
    }
}

/// Only this account comes in, and each of its processes so often at once.
fn place_for(stream: &UnixStream, places: &Places) -> Option<Place> {
    let peer = stream.peer_cred().ok()?;
    let ours = peer.uid() == rustix::process::geteuid().as_raw();
    let process = peer.pid().unwrap_or_default();
    let place = places.take(process).filter(|_| ours);
    if ours && place.is_none() {
        tracing::debug!(process, "too many connections of terminals");
    }
    place
}

/// Never, if there is nothing to wait for.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn take(runner: &Arc<Runner>, said: newcomers::Said) {
    let Ok(Envelope { agent, pid, waits, brief, said: text }) = serde_json::from_slice(&said.line) else {
        return;
    };
    let (reply, replied) = oneshot::channel();
    let told = runner.said_in_terminal(Said { agent, pid, text, waits: waits.then_some(reply), brief });
    if let Some((terminal, number)) = told.filter(|_| waits) {
        let place = said.place;
        let (mut read, mut write) = said.stream.into_split();
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
