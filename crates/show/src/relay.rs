//! A relay between a runner and its gateway. It passes on every message, counts the questions that rules need answered, and
//! can hold one answer back, as a slow runner would.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_client::dial_runner;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

use crate::Result;

/// How long the answer to a question may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Relay {
    /// Where the runner finds its gateway.
    pub(crate) url: String,
    plan: Arc<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    questions: AtomicUsize,
    hold: Mutex<Option<Hold>>,
}

/// The first question where this path leads: its answer is held back.
#[derive(Debug)]
struct Hold {
    path: String,
    question: Option<u64>,
    arrived: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

/// The other end of a hold. The answer is let go when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    arrived: oneshot::Receiver<()>,
    _release: oneshot::Sender<()>,
}

impl Held {
    /// Waits until the runner has answered. The gateway waits for that answer as long as this lives.
    pub(crate) async fn arrived(&mut self) -> Result<()> {
        Ok(timeout(PATIENCE, &mut self.arrived).await??)
    }
}

impl Relay {
    /// For the runner with this token.
    pub(crate) async fn new(gateway: &str, token: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let plan = Arc::new(Plan::default());
        let (gateway, token, all) = (gateway.to_owned(), token.to_owned(), Arc::clone(&plan));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                // A connection that fails ends; the runner dials again.
                drop(carry(near, &gateway, &token, &all).await);
            }
        });
        Ok(Self { url, plan })
    }

    /// Holds back the answer to the first question where a path leads that ends like this.
    pub(crate) fn hold(&self, path: &str) -> Held {
        let ((arrived, has_arrived), (release, released)) = (oneshot::channel(), oneshot::channel());
        *self.plan.hold() = Some(Hold { path: path.to_owned(), question: None, arrived, released });
        Held { arrived: has_arrived, _release: release }
    }

    /// How many questions the gateway asked so far because rules needed the answers.
    pub(crate) fn questions(&self) -> usize {
        self.plan.questions.load(Ordering::Relaxed)
    }
}

impl Plan {
    fn hold(&self) -> MutexGuard<'_, Option<Hold>> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what the gateway says.
    fn look(&self, text: &str) -> Result<()> {
        let said: Value = serde_json::from_str(text)?;
        let question = &said["question"];
        if !matches!(question["type"].as_str(), Some("ground" | "places")) {
            return Ok(());
        }
        self.questions.fetch_add(1, Ordering::Relaxed);
        let paths = question["asked"].as_array().into_iter().flatten();
        let mut paths = paths.filter_map(|asked| asked["path"].as_str());
        if let Some(hold) = &mut *self.hold()
            && hold.question.is_none()
            && paths.any(|path| path.ends_with(&hold.path))
        {
            hold.question = said["id"].as_u64();
        }
        Ok(())
    }

    /// The hold that is for what the runner says.
    fn hold_for(&self, text: &str) -> Result<Option<Hold>> {
        let said: Value = serde_json::from_str(text)?;
        let is_for = |hold: &mut Hold| {
            said["type"] == "answer" && hold.question.is_some() && hold.question == said["id"].as_u64()
        };
        Ok(self.hold().take_if(is_for))
    }
}

/// Until one side ends it.
async fn carry(near: TcpStream, gateway: &str, token: &str, plan: &Plan) -> Result<()> {
    near.set_nodelay(true)?;
    let (mut to_runner, mut from_runner) = accept_async(near).await?.split();
    let (to_gateway, mut from_gateway) = dial_runner(gateway, token).await?;
    loop {
        tokio::select! {
            said = from_gateway.recv() => {
                let Some(text) = said else { return Ok(to_runner.close().await?) };
                plan.look(&text)?;
                to_runner.send(Message::text(text)).await?;
            }
            said = from_runner.next() => {
                let Some(Message::Text(text)) = said.transpose()? else { return Ok(()) };
                match plan.hold_for(&text)? {
                    None => to_gateway.send(text.to_string())?,
                    Some(Hold { arrived, released, .. }) => {
                        let to_gateway = to_gateway.clone();
                        let _gave_up = arrived.send(());
                        tokio::spawn(async move {
                            drop(released.await);
                            drop(to_gateway.send(text.to_string()));
                        });
                    }
                }
            }
        }
    }
}
