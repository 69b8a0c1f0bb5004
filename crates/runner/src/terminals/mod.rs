//! The agents that people started in terminals of their own on this machine.
//!
//! Their hooks and plugins come by a socket that only this account can open ([`door`]). Whoever comes there can ask and take
//! back; nothing that is said there answers anything. To a program that has a socket of its own we go ([`daemon`]). Each
//! conversation has a task ([`task`]) that stays while its program does.

mod daemon;
mod door;
mod record;
mod task;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_agents::{Agent, Appeared, Driver, Launch};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::Runner;

pub use door::{Door, Envelope, ReplyLine, secret_file};
use task::Input;

/// So many conversations at a time are listened to.
pub(crate) const MOST: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Terminals {
    open: Mutex<HashMap<Name, mpsc::UnboundedSender<Input>>>,
    appeared: mpsc::Sender<Appeared>,
}

/// Whose program, and its own name for the conversation.
type Name = (String, String);

/// What a hook or a plugin says to the runner.
#[derive(Debug)]
struct Said {
    agent: String,
    /// The program's process.
    pid: Option<u32>,
    text: String,
    /// It waits for what is answered.
    waits: Option<oneshot::Sender<Reply>>,
    /// For nobody who does not listen now.
    brief: bool,
}

/// What a hook or plugin that waits is given.
#[derive(Debug)]
enum Reply {
    /// As the program's hooks have it; nothing, if it goes on as if nobody had been asked here.
    Answer(Option<Value>),
    /// A person's words for the program.
    Say(String),
}

impl Terminals {
    pub(crate) fn new(appeared: mpsc::Sender<Appeared>) -> Self {
        Self { open: Mutex::default(), appeared }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Name, mpsc::UnboundedSender<Input>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One on the machine that this stands for.
    pub(crate) fn pass_on(&self, appeared: Appeared) {
        // A gateway that is slow to take them, or takes none, is shown them again when the machine dials in again.
        drop(self.appeared.try_send(appeared));
    }

    /// All that nobody listens to show themselves again.
    pub(crate) fn show_again(&self) {
        for terminal in self.open().values() {
            // One that is gone has nothing to show.
            drop(terminal.send(Input::ShowAgain));
        }
    }

    /// The agent in this terminal, from now on listened to by whoever has this.
    pub(crate) async fn take(&self, driver: Arc<dyn Driver>, launch: Launch, in_turn: bool) -> Option<Agent> {
        let name = (driver.name().to_owned(), launch.terminal.clone()?);
        let terminal = self.open().get(&name).cloned()?;
        let wire = tokio::task::spawn_blocking(move || driver.terminal(&launch, in_turn)).await.ok()??;
        let (given, taken) = oneshot::channel();
        terminal.send(Input::Take { wire, in_turn, given }).ok()?;
        taken.await.ok()
    }

    /// Something was said: to the terminal's task, which may have to be begun.
    fn said(&self, driver: &dyn Driver, said: Said) -> Option<(mpsc::UnboundedSender<Input>, u64)> {
        let introduced = driver.introduced(&said.text)?;
        let name = (said.agent.clone(), introduced.agent_ref.clone());
        let mut open = self.open();
        let known = open.get(&name).filter(|terminal| !terminal.is_closed()).cloned();
        let terminal = match known {
            Some(terminal) => terminal,
            None => {
                open.retain(|_, terminal| !terminal.is_closed());
                if open.len() >= MOST {
                    tracing::warn!("more than {MOST} terminals: another one is not listened to");
                    return None;
                }
                let shows =
                    Appeared { agent: said.agent, agent_ref: introduced.agent_ref, cwd: introduced.cwd };
                let terminal = task::begin(shows, self.appeared.clone());
                open.insert(name, terminal.clone());
                terminal
            }
        };
        drop(open);
        let number = task::number();
        let waits = said.waits.map(|reply| (number, reply));
        let Said { text, pid, brief, .. } = said;
        let input = Input::Said { text, pid, record: introduced.record, waits, brief };
        terminal.send(input).ok()?;
        Some((terminal, number))
    }
}

impl Runner {
    /// Opens a door for hooks and plugins of this account, for as long as the result is kept.
    pub fn open_door(self: &Arc<Self>, path: &Path) -> std::io::Result<Door> {
        door::open(self, path)
    }

    /// Listens to Codex in this account's terminals, by the socket of its daemon: whenever that is there, until the result
    /// is aborted.
    pub fn listen_to_codex(self: &Arc<Self>, socket: PathBuf) -> JoinHandle<()> {
        daemon::listen(self, socket)
    }

    /// Where what was said goes, with the number of whoever waits.
    fn said_in_terminal(&self, said: Said) -> Option<(mpsc::UnboundedSender<Input>, u64)> {
        let driver = self.drivers().iter().find(|driver| driver.name() == said.agent)?;
        self.terminals().said(driver.as_ref(), said)
    }
}
