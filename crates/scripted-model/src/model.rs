//! The running model, as a test holds it.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::messages::{Conversation, Told, told_by_all};
use crate::script::{INTERACTION_ID, PLAN_FILE, Part, Picked, Script};
use crate::server;

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    board: Arc<Board>,
    serving: JoinHandle<()>,
}

impl Model {
    pub async fn start() -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    pub async fn start_at(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let board = Arc::new(Board::default());
        let serving = tokio::spawn(server::serve(listener, board.clone()));
        Ok(Self { address, board, serving })
    }

    /// What an agent is given as `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on, prompts with the line `script: NAME` play this one.
    pub fn script(&self, name: impl Into<String>, script: Script) {
        self.board.state().scripts.insert(name.into(), script);
    }

    /// Everything the model was told in this conversation, over all its requests, since its script was picked.
    pub fn told(&self, name: &str) -> Vec<Told> {
        self.board.told(name)
    }

    /// Waits until the model was told what makes `ready` true. Has no time limit of its own.
    pub async fn told_when(&self, name: &str, ready: impl Fn(&[Told]) -> bool) -> Vec<Told> {
        let mut changes = self.board.changed.subscribe();
        loop {
            changes.borrow_and_update();
            let told = self.told(name);
            if ready(&told) || changes.changed().await.is_err() {
                return told;
            }
        }
    }

    /// How many requests this conversation has made.
    pub fn requests(&self, name: &str) -> usize {
        self.board.state().requests.get(name).map_or(0, Vec::len)
    }

    /// Every request body that ever came, of all conversations and beside them, in order.
    pub fn bodies(&self) -> Vec<Value> {
        self.board.state().bodies.clone()
    }

    /// Waits until a reply stands still at this gate.
    pub async fn held(&self, gate: &str) {
        let mut changes = self.board.changed.subscribe();
        loop {
            changes.borrow_and_update();
            let held = self.board.state().gates.get(gate).is_some_and(|gate| gate.arrived);
            if held || changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Opens the gate, for good: those who come later do not stop at it.
    pub fn release(&self, gate: &str) {
        self.board.release(gate);
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Gate {
    arrived: bool,
    open: bool,
}

#[derive(Debug, Default)]
struct State {
    scripts: HashMap<String, Script>,
    requests: HashMap<String, Vec<Vec<Told>>>,
    bodies: Vec<Value>,
    gates: HashMap<String, Gate>,
}

/// What the server and the test share.
#[derive(Debug, Default)]
pub(crate) struct Board {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn received(&self, body: &Value) {
        self.state().bodies.push(body.clone());
    }

    /// Keeps what the model is told now; the reply is the script's next one, or the echo after its end.
    pub(crate) fn reply(&self, conversation: Conversation) -> Result<Vec<Part>, String> {
        let Conversation { picked, position, told, plan_file, interaction } = conversation;
        let name = picked.name().to_owned();
        let parts = {
            let mut state = self.state();
            let script = match &picked {
                Picked::Named(name) => {
                    state.scripts.get(name).ok_or_else(|| format!("there is no script {name:?}"))?
                }
                Picked::Carried { script, .. } => script,
            };
            let mut parts = script.reply_at(position, &told).cloned().unwrap_or_else(|| vec![echo(&told)]);
            for (stands_for, known) in [(PLAN_FILE, plan_file), (INTERACTION_ID, interaction)] {
                let Some(known) = known else { continue };
                parts.iter_mut().for_each(|part| part.fill_in(stands_for, &known));
            }
            state.requests.entry(name).or_default().push(told);
            parts
        };
        self.changed.send_replace(());
        Ok(parts)
    }

    pub(crate) fn told(&self, name: &str) -> Vec<Told> {
        told_by_all(self.state().requests.get(name).into_iter().flatten())
    }

    pub(crate) async fn pass(&self, gate: &str) {
        let mut changes = self.changed.subscribe();
        self.state().gates.entry(gate.to_owned()).or_default().arrived = true;
        self.changed.send_replace(());
        while !self.state().gates.get(gate).is_some_and(|gate| gate.open) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn release(&self, gate: &str) {
        self.state().gates.entry(gate.to_owned()).or_default().open = true;
        self.changed.send_replace(());
    }
}

fn echo(told: &[Told]) -> Part {
    let words: Vec<&str> =
        told.iter().filter(|told| !matches!(told, Told::Reminder { .. })).map(Told::words).collect();
    Part::Say(format!("told: {}", Value::from(words)))
}
