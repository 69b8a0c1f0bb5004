//! A runner on another machine, as the gateway sees it that speaks for its agents.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_protocol::api::HostedAgent;
use holdstead_protocol::{AgentSeq, Incarnation, InteractionId, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::runner::{Life, Runner, Unable};
use crate::running::{Running, Snapshot};
use crate::said::{AHEAD, KeptWord, Said};
use crate::wire::{self, Answer, FromRunner, HEARTBEAT, Question, SILENCE, ToRunner, VERSION, Wire};

/// So many agents at a time are believed of one machine.
const MOST_LIVES: usize = 10_000;
/// What it kept of their words is in memory here until the journal has it.
const MOST_KEPT: usize = 256 * 1024 * 1024;

/// The way to it.
#[derive(Debug)]
pub(crate) struct Afar {
    agents: Vec<HostedAgent>,
    frames: mpsc::UnboundedSender<ToRunner>,
    next: AtomicU64,
    waiting: Arc<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Nothing, once nobody will answer.
    answers: Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>,
}

impl Waiting {
    fn answers(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for its answer, until this is dropped.
struct Asking<'w> {
    id: u64,
    waiting: &'w Waiting,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(answers) = &mut *self.waiting.answers() {
            answers.remove(&self.id);
        }
    }
}

impl Afar {
    pub(crate) fn agents(&self) -> &[HostedAgent] {
        &self.agents
    }

    pub(crate) async fn ask(&self, question: Question) -> Result<Answer, Unable> {
        let waited = question.patience();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let _no_longer = Asking { id, waiting: &self.waiting };
        match &mut *self.waiting.answers() {
            Some(answers) => drop(answers.insert(id, answer)),
            None => return Err(Unable::Away),
        }
        self.frames.send(ToRunner::Ask { id, question: Box::new(question) }).map_err(|_| Unable::Away)?;
        match timeout(waited, answered).await {
            Ok(answer) => answer.map_err(|_| Unable::Away),
            Err(_) => Err(Unable::Silent { waited }),
        }
    }

    pub(crate) fn forget(&self, session: SessionId, incarnation: Incarnation) {
        // If it is not there now, it shows that life again when it is back, and is told then.
        drop(self.frames.send(ToRunner::Forget { session, incarnation }));
    }
}

/// A runner that has said hello and shown what it has.
#[derive(Debug)]
pub struct Arrived {
    pub runner: Arc<Runner>,
    /// Tells this process of it from another one.
    pub instance: Uuid,
    wire: Wire,
    frames: mpsc::UnboundedReceiver<ToRunner>,
    waiting: Arc<Waiting>,
    images: Images,
    kept: KeptOf,
}

/// Words of lives that it has not shown yet.
#[derive(Debug, Default)]
struct KeptOf {
    words: HashMap<(SessionId, Incarnation), Vec<KeptWord>>,
    /// Of all that came before it was ready, and of what came since for a life that is not shown.
    bytes: usize,
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    #[error("the other side is gone")]
    Gone,
    #[error("nothing came from it for too long")]
    Silent,
    #[error("it sent something that is not understood: {0}")]
    Confused(String),
    #[error("it may not attach: {0}")]
    Refused(String),
    #[error("nobody needs it here any more")]
    LetGo,
}

/// What goes to the images of its agents.
#[derive(Debug, Default)]
struct Images(HashMap<(SessionId, Incarnation), Image>);

#[derive(Debug)]
struct Image {
    last: AgentSeq,
    said: mpsc::Sender<Said>,
    written: mpsc::UnboundedSender<Vec<InteractionId>>,
}

/// Listens until the runner is ready.
pub async fn arrive(mut wire: Wire) -> Result<Arrived, Ended> {
    let (FromRunner::Hello { version, instance, agents }, _) = receive(&mut wire).await? else {
        return Err(Ended::Confused("it did not say hello first".to_owned()));
    };
    if version != VERSION {
        let why = format!(
            "this runner speaks version {version} and the gateway {VERSION}: install the same Holdstead on both"
        );
        refuse(&wire, &why);
        return Err(Ended::Refused(why));
    }
    let (sender, frames) = mpsc::unbounded_channel();
    let waiting = Arc::new(Waiting { answers: Mutex::new(Some(HashMap::new())) });
    let afar = Afar { agents, frames: sender, next: AtomicU64::new(0), waiting: Arc::clone(&waiting) };
    let runner = Arc::new(Runner::afar(afar));
    let (images, kept) = (Images::default(), KeptOf::default());
    let mut arrived = Arrived { runner, instance, wire, frames, waiting, images, kept };
    loop {
        let (frame, bytes) = receive(&mut arrived.wire).await?;
        match frame {
            FromRunner::Kept { session, incarnation, word } => {
                arrived.keep(session, incarnation, *word, bytes)?;
            }
            FromRunner::Life(snapshot) => arrived.show(*snapshot)?,
            FromRunner::Ready => {
                arrived.kept = KeptOf::default();
                return Ok(arrived);
            }
            FromRunner::Alive => {}
            FromRunner::Hello { .. }
            | FromRunner::Said { .. }
            | FromRunner::Written { .. }
            | FromRunner::Appeared(_)
            | FromRunner::Answer { .. } => {
                return Err(Ended::Confused("it spoke before it was ready".to_owned()));
            }
        }
    }
}

impl Arrived {
    /// It is not attached, for this reason.
    pub fn refuse(self, why: &str) {
        refuse(&self.wire, why);
    }

    /// Passes on what it says and is told, until the connection ends or nobody wants it any more.
    pub async fn attend(mut self, name: &str, until: CancellationToken) -> Ended {
        send(&self.wire, &ToRunner::Welcome { name: name.to_owned() });
        let mut beat = interval(HEARTBEAT);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                () = until.cancelled() => break Ended::LetGo,
                _ = beat.tick() => {
                    if heard.elapsed() > SILENCE {
                        break Ended::Silent;
                    }
                    send(&self.wire, &ToRunner::Alive);
                }
                frame = self.frames.recv() => match frame {
                    Some(frame) => send(&self.wire, &frame),
                    None => break Ended::LetGo,
                },
                text = self.wire.receive.recv() => {
                    let Some(text) = text else { break Ended::Gone };
                    heard = Instant::now();
                    let taken = match wire::read(&text) {
                        Ok(frame) => self.take(frame, text.len()),
                        Err(error) => Err(Ended::Confused(error.to_string())),
                    };
                    if let Err(ended) = taken {
                        break ended;
                    }
                }
            }
        }
    }

    fn take(&mut self, frame: FromRunner, bytes: usize) -> Result<(), Ended> {
        match frame {
            FromRunner::Kept { session, incarnation, word } => {
                self.keep(session, incarnation, *word, bytes)?;
            }
            FromRunner::Life(snapshot) => {
                self.show(*snapshot)?;
                if self.kept.words.is_empty() {
                    self.kept.bytes = 0;
                }
            }
            FromRunner::Said { session, incarnation, said } => {
                // Of a life that is over here it may go on for a moment.
                let Some(image) = self.images.0.get_mut(&(session, incarnation)) else { return Ok(()) };
                if said.number != image.last.next() {
                    return Err(Ended::Confused(format!("{} came behind {}", said.number, image.last)));
                }
                image.last = said.number;
                match image.said.try_send(*said) {
                    Ok(()) => {}
                    Err(mpsc::error::TrySendError::Closed(_)) => {
                        self.images.0.remove(&(session, incarnation));
                    }
                    Err(mpsc::error::TrySendError::Full(_)) => {
                        return Err(Ended::Confused("it did not wait to be heard".to_owned()));
                    }
                }
            }
            FromRunner::Written { session, incarnation, settlements } => {
                if let Some(image) = self.images.0.get(&(session, incarnation)) {
                    // If nobody speaks for it any more, nobody needs to know.
                    drop(image.written.send(settlements));
                }
            }
            FromRunner::Answer { id, answer } => {
                let waits = self.waiting.answers().as_mut().and_then(|answers| answers.remove(&id));
                if let Some(waits) = waits {
                    // Whoever asked may have stopped waiting.
                    drop(waits.send(answer));
                }
            }
            FromRunner::Appeared(appeared) => self.runner.terminals().pass_on(appeared),
            FromRunner::Alive => {}
            FromRunner::Hello { .. } | FromRunner::Ready => {
                return Err(Ended::Confused("it says hello again".to_owned()));
            }
        }
        Ok(())
    }

    /// Until the life is shown that it belongs to.
    fn keep(
        &mut self,
        session: SessionId,
        incarnation: Incarnation,
        word: KeptWord,
        bytes: usize,
    ) -> Result<(), Ended> {
        self.kept.bytes = self.kept.bytes.saturating_add(bytes);
        if self.kept.bytes > MOST_KEPT {
            let why = format!(
                "its agents said more than {} MB that no gateway has taken yet: end some of them there",
                MOST_KEPT >> 20
            );
            refuse(&self.wire, &why);
            return Err(Ended::Refused(why));
        }
        self.kept.words.entry((session, incarnation)).or_default().push(word);
        Ok(())
    }

    /// A life that it has.
    fn show(&mut self, mut snapshot: Snapshot) -> Result<(), Ended> {
        let (session, incarnation) = (snapshot.session, snapshot.incarnation);
        if self.images.0.len() >= MOST_LIVES {
            self.images.0.retain(|_, image| !image.said.is_closed());
            if self.images.0.len() >= MOST_LIVES {
                return Err(Ended::Confused(format!("it has more than {MOST_LIVES} agents")));
            }
        }
        for word in self.kept.words.remove(&(session, incarnation)).unwrap_or_default() {
            snapshot.put_back(word);
        }
        // What it may say ahead of the journal, and what is in the snapshot.
        let (said, heard) = mpsc::channel(AHEAD);
        let (written, handed) = mpsc::unbounded_channel();
        self.images.0.insert((session, incarnation), Image { last: snapshot.last(), said, written });
        if let Some(frames) = self.runner.frames() {
            let running = Running::image(snapshot, frames, heard, handed);
            self.runner.lives().insert(session, Life::Running(Arc::new(running)));
        }
        Ok(())
    }
}

impl Runner {
    /// Nobody attends it any more: whoever waits for an answer of its learns that none comes. Those who speak for its agents
    /// have to know before that they do not any more.
    pub fn is_left(&self) {
        if let Some(afar) = self.link() {
            afar.waiting.answers().take();
        }
    }

    fn frames(&self) -> Option<mpsc::UnboundedSender<ToRunner>> {
        self.link().map(|afar| afar.frames.clone())
    }
}

/// The next frame, and how large it was.
async fn receive(wire: &mut Wire) -> Result<(FromRunner, usize), Ended> {
    let text = timeout(SILENCE, wire.receive.recv()).await.map_err(|_| Ended::Silent)?.ok_or(Ended::Gone)?;
    let frame = wire::read(&text).map_err(|error| Ended::Confused(error.to_string()))?;
    Ok((frame, text.len()))
}

fn refuse(wire: &Wire, why: &str) {
    send(wire, &ToRunner::Refused { why: why.to_owned() });
}

fn send(wire: &Wire, frame: &ToRunner) {
    match serde_json::to_string(frame) {
        // If it is gone, its end follows.
        Ok(text) => drop(wire.send.send(text)),
        Err(error) => tracing::error!(%error, "something cannot be written for a runner"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_lives_and_never_answers_is_waited_for_so_long_and_no_longer() {
        let (send, _sent) = mpsc::unbounded_channel();
        let (says, receive) = mpsc::channel(8);
        let hello = FromRunner::Hello { version: VERSION, instance: Uuid::nil(), agents: Vec::new() };
        for frame in [hello, FromRunner::Ready] {
            says.send(serde_json::to_string(&frame).expect("a frame")).await.expect("it is read");
        }
        let arrived = arrive(Wire { send, receive }).await.expect("it said hello");
        let runner = Arc::clone(&arrived.runner);
        tokio::spawn(arrived.attend("laptop", CancellationToken::new()));
        let lives = async {
            loop {
                says.send(serde_json::to_string(&FromRunner::Alive).expect("a frame"))
                    .await
                    .expect("it is read");
                tokio::time::sleep(HEARTBEAT).await;
            }
        };
        let begin = Instant::now();
        let told = tokio::select! {
            told = runner.folder("claude", "/src") => told,
            () = lives => unreachable!("it lives on"),
        };
        assert_eq!(told, Err(Unable::Silent { waited: begin.elapsed() }));
        assert!(
            runner.link().is_some_and(|afar| afar.waiting.answers().as_ref().is_some_and(HashMap::is_empty))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_a_runner_that_nobody_attends_any_more_is_told() {
        let (send, mut sent) = mpsc::unbounded_channel();
        let (says, receive) = mpsc::channel(8);
        let hello = FromRunner::Hello { version: VERSION, instance: Uuid::nil(), agents: Vec::new() };
        for frame in [hello, FromRunner::Ready] {
            says.send(serde_json::to_string(&frame).expect("a frame")).await.expect("somebody listens");
        }
        let arrived = arrive(Wire { send, receive }).await.expect("it said hello");
        let (runner, left) = (Arc::clone(&arrived.runner), Arc::clone(&arrived.runner));
        let asks = tokio::spawn(async move { runner.folder("claude", "/src").await });
        let attending = tokio::spawn(arrived.attend("laptop", CancellationToken::new()));
        let asked = async { while !sent.recv().await.expect("it is attended").contains("folder") {} };
        timeout(SILENCE, asked).await.expect("the question is sent");
        // As a gateway does that goes away.
        attending.abort();
        left.is_left();
        let told = timeout(SILENCE, asks).await.expect("it is told").expect("no panic");
        assert!(matches!(told, Err(Unable::Away)), "{told:?}");
    }
}
