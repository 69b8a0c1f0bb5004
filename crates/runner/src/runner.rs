//! The agents of one machine: their processes, what each said that the journal may not have yet, and what each was told.
//!
//! A session's task comes and goes; the process stays. Whoever speaks for the session next is given what was said behind
//! the last number in the journal, and calls that have no reply yet.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdstead_agents::{Agent, Appeared, Driver, DriverCapabilities, FoundFiles, Launch, StartedBy, host};
use holdstead_core::Terminal;
use holdstead_core::policy::{Found, Lookup};
use holdstead_protocol::api::HostedAgent;
use holdstead_protocol::{Incarnation, SessionId};
use tokio::sync::mpsc;

use crate::afar::Afar;
use crate::facts::{self, FolderIs, Ground, TrustedFolder};
use crate::lookups;
use crate::running::{Running, Snapshot, Started, Tell};
use crate::terminals::{self, Terminals};
use crate::wire::{Answer, Question, ToStart, life};

/// Every agent of a machine: this one, or another that is connected.
#[derive(Debug)]
pub struct Runner {
    machine: Machine,
    lives: Mutex<HashMap<SessionId, Life>>,
    terminals: Terminals,
    /// Told of each terminal that shows itself.
    appears: tokio::sync::Mutex<mpsc::Receiver<Appeared>>,
    /// Sessions whose terminal showed itself, and which nobody has begun to listen to.
    shown: Mutex<HashSet<SessionId>>,
}

#[derive(Debug)]
enum Machine {
    Here {
        drivers: Vec<Arc<dyn Driver>>,
        /// That of the agents.
        home: Option<String>,
    },
    Afar(Afar),
}

#[derive(Debug, Clone)]
pub enum Life {
    /// Somebody is starting it.
    Starting,
    Running(Arc<Running>),
}

/// Why a machine did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unable {
    #[error("the machine that runs this agent is not connected now: it goes on when that is back")]
    Away,
    #[error("the machine that runs this agent is connected and did not answer within {} s", waited.as_secs())]
    Silent { waited: Duration },
    #[error("{0}")]
    NotStarted(String),
    #[error("process {pid} of an earlier life of the agent would not end: end it, then send a message")]
    StillAlive { pid: u32 },
}

impl Runner {
    /// This machine.
    pub fn new(drivers: Vec<Arc<dyn Driver>>) -> Self {
        Self::at_home(drivers, std::env::var("HOME").ok())
    }

    /// This machine, whose agents have this home.
    pub fn at_home(drivers: Vec<Arc<dyn Driver>>, home: Option<String>) -> Self {
        Self::on(Machine::Here { drivers, home })
    }

    pub(crate) fn afar(afar: Afar) -> Self {
        Self::on(Machine::Afar(afar))
    }

    fn on(machine: Machine) -> Self {
        let (appeared, appears) = mpsc::channel(terminals::MOST);
        Self {
            machine,
            lives: Mutex::default(),
            terminals: Terminals::new(appeared),
            appears: tokio::sync::Mutex::new(appears),
            shown: Mutex::default(),
        }
    }

    pub(crate) const fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// The next terminal that shows itself there.
    pub async fn appears(&self) -> Appeared {
        match self.appears.lock().await.recv().await {
            Some(appeared) => appeared,
            None => std::future::pending().await,
        }
    }

    fn shown(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal of this session showed itself.
    pub fn shows(&self, session: SessionId) {
        self.shown().insert(session);
    }

    /// Whether the terminal of this session can be listened to.
    pub fn terminal(&self, session: SessionId) -> Terminal {
        if self.shown().contains(&session) { Terminal::There } else { Terminal::Away }
    }

    fn home(&self) -> Option<String> {
        match &self.machine {
            Machine::Here { home, .. } => home.clone(),
            Machine::Afar(_) => None,
        }
    }

    /// The kinds of agents of this machine.
    pub fn drivers(&self) -> &[Arc<dyn Driver>] {
        match &self.machine {
            Machine::Here { drivers, .. } => drivers,
            Machine::Afar(_) => &[],
        }
    }

    /// Its agents go when this process does.
    pub const fn is_here(&self) -> bool {
        matches!(self.machine, Machine::Here { .. })
    }

    /// The agents that it can run, and what each needs there.
    pub fn agents(&self) -> Vec<HostedAgent> {
        match &self.machine {
            Machine::Here { drivers, .. } => {
                let ours = drivers.iter().filter(|driver| driver.started_by() == StartedBy::Us);
                ours.map(|driver| hosted(driver.as_ref())).collect()
            }
            Machine::Afar(afar) => afar.agents().to_vec(),
        }
    }

    pub(crate) fn lives(&self) -> MutexGuard<'_, HashMap<SessionId, Life>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions whose agents run there now.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.lives().keys().copied().collect()
    }

    /// The agent of this session, if it runs there.
    pub fn find(&self, session: SessionId) -> Option<Life> {
        self.lives().get(&session).cloned()
    }

    pub(crate) fn running(&self, session: SessionId, incarnation: Incarnation) -> Option<Arc<Running>> {
        match self.find(session)? {
            Life::Running(running) if running.incarnation == incarnation => Some(running),
            Life::Running(_) | Life::Starting => None,
        }
    }

    /// The life of this session's agent that can be told something: it runs, and nobody has ended it.
    pub fn listening(&self, session: SessionId) -> Option<Incarnation> {
        match self.lives().get(&session)? {
            Life::Starting => None,
            Life::Running(running) => running.ended_by().is_none().then_some(running.incarnation),
        }
    }

    /// A place for a process. `None` while another one has it.
    pub fn reserve(self: &Arc<Self>, session: SessionId) -> Option<Reserved> {
        let mut lives = self.lives();
        if lives.contains_key(&session) {
            return None;
        }
        lives.insert(session, Life::Starting);
        Some(Reserved { runner: Arc::clone(self), session })
    }

    /// It is gone, and the journal knows. If it is not gone, it goes now.
    pub fn forget(&self, session: SessionId, incarnation: Incarnation) {
        let mut lives = self.lives();
        if let Some(Life::Running(running)) = lives.get(&session)
            && running.incarnation == incarnation
        {
            lives.remove(&session);
        }
        drop(lives);
        if let Machine::Afar(afar) = &self.machine {
            afar.forget(session, incarnation);
        }
    }

    /// Returns when every process that was killed has ended.
    pub async fn all_gone(&self) {
        let running: Vec<_> = self.lives().values().cloned().collect();
        for life in running {
            if let Life::Running(running) = life {
                running.ended().await;
            }
        }
    }

    /// Kills all that runs here.
    pub fn kill_all(&self, why: holdstead_core::EndedBy) {
        for life in self.lives().values() {
            if let Life::Running(running) = life {
                running.tell(Tell::Kill { why });
            }
        }
    }

    pub(crate) fn snapshots(&self) -> Vec<Snapshot> {
        let lives = self.lives();
        let running = lives.iter().filter_map(|(session, life)| match life {
            Life::Starting => None,
            Life::Running(running) => Some(running.snapshot(*session)),
        });
        running.collect()
    }

    pub(crate) const fn link(&self) -> Option<&Afar> {
        match &self.machine {
            Machine::Here { .. } => None,
            Machine::Afar(afar) => Some(afar),
        }
    }

    async fn ask(self: &Arc<Self>, question: Question) -> Result<Answer, Unable> {
        match &self.machine {
            Machine::Here { .. } => Ok(self.answer(question).await),
            Machine::Afar(afar) => afar.ask(question).await,
        }
    }

    /// Whether this agent can work in this folder.
    pub async fn folder(self: &Arc<Self>, agent: &str, cwd: &str) -> Result<FolderIs, Unable> {
        let answer = self.ask(Question::Folder { agent: agent.to_owned(), cwd: cwd.to_owned() }).await?;
        if let Answer::Folder(folder) = answer { Ok(folder) } else { Err(confused()) }
    }

    /// What a folder brings for an agent.
    pub async fn files(self: &Arc<Self>, agent: &str, cwd: &Path) -> Result<Option<FoundFiles>, Unable> {
        let cwd = cwd.to_string_lossy().into_owned();
        let answer = self.ask(Question::Files { agent: agent.to_owned(), cwd }).await?;
        if let Answer::Files(files) = answer { Ok(files) } else { Err(confused()) }
    }

    /// What rules need to know of a folder.
    pub async fn ground(self: &Arc<Self>, cwd: &Path, trusted: Vec<TrustedFolder>) -> Result<Ground, Unable> {
        let cwd = cwd.to_string_lossy().into_owned();
        let answer = self.ask(Question::Ground { cwd, trusted }).await?;
        if let Answer::Ground(ground) = answer { Ok(ground) } else { Err(confused()) }
    }

    /// Looks up what a call in this folder depends on.
    pub async fn look_up(
        self: &Arc<Self>,
        folder: &str,
        lookups: Vec<Lookup>,
    ) -> Result<Vec<Option<Found>>, Unable> {
        let count = lookups.len();
        let answer = self.ask(Question::LookUp { folder: folder.to_owned(), lookups }).await?;
        if let Answer::Found(found) = answer
            && found.len() == count
        {
            Ok(found)
        } else {
            Err(Unable::Away)
        }
    }

    /// Makes sure that nothing is left of an earlier life.
    pub async fn end(
        self: &Arc<Self>,
        session: SessionId,
        incarnation: Incarnation,
        pid: Option<u32>,
    ) -> Result<(), Unable> {
        let answer = self.ask(Question::End { session, incarnation, pid }).await?;
        if let Answer::StillAlive(pid) = answer {
            return Err(Unable::StillAlive { pid });
        }
        if let Answer::Ended = answer { Ok(()) } else { Err(confused()) }
    }

    /// The sessions of whose conversations it has copies.
    pub async fn copies(self: &Arc<Self>) -> Result<Vec<SessionId>, Unable> {
        let answer = self.ask(Question::Copies).await?;
        if let Answer::Copies(sessions) = answer { Ok(sessions) } else { Err(confused()) }
    }

    /// Deletes the copies of these sessions, which are over.
    pub async fn discard(self: &Arc<Self>, sessions: Vec<SessionId>) -> Result<(), Unable> {
        let answer = self.ask(Question::Discard { sessions }).await?;
        if let Answer::Discarded = answer { Ok(()) } else { Err(confused()) }
    }

    fn driver(&self, name: &str) -> Option<Arc<dyn Driver>> {
        match &self.machine {
            Machine::Here { drivers, .. } => drivers.iter().find(|driver| driver.name() == name).cloned(),
            Machine::Afar(_) => None,
        }
    }

    /// Looks, or does what was asked, on this machine.
    pub(crate) async fn answer(self: &Arc<Self>, question: Question) -> Answer {
        match question {
            Question::Folder { agent, cwd } => {
                Answer::Folder(folder(self.driver(&agent), PathBuf::from(cwd)).await)
            }
            Question::Files { agent, cwd } => {
                // If it fails, nothing is trusted.
                let look = self.driver(&agent).map(|driver| {
                    tokio::task::spawn_blocking(move || driver.project_files(&PathBuf::from(cwd)))
                });
                Answer::Files(match look {
                    Some(look) => look.await.ok().flatten(),
                    None => None,
                })
            }
            Question::Ground { cwd, trusted } => {
                let cwd = PathBuf::from(cwd);
                let unknown = Ground::unknown(&cwd);
                let home = self.home();
                let drivers = self.drivers().to_vec();
                let found = move |agent: &str, folder: &Path| {
                    drivers.iter().find(|driver| driver.name() == agent)?.project_files(folder)
                };
                let look = tokio::task::spawn_blocking(move || facts::ground(&cwd, home, &trusted, found));
                Answer::Ground(look.await.unwrap_or(unknown))
            }
            Question::LookUp { folder, lookups } => {
                let (nothing, home) = (vec![None; lookups.len()], self.home());
                let look = move || lookups::look_up(&lookups, &folder, home.as_deref());
                Answer::Found(tokio::task::spawn_blocking(look).await.unwrap_or(nothing))
            }
            Question::Start(start) => match self.reserve(start.session) {
                Some(place) => match place.fill(*start).await {
                    Ok(()) => Answer::Started,
                    Err(why) => Answer::NotStarted(why),
                },
                None => Answer::NotStarted("another process of this session is here already".to_owned()),
            },
            Question::End { session, incarnation, pid } => self.see_gone(session, incarnation, pid).await,
            Question::Copies => {
                let drivers = self.drivers().to_vec();
                let look = move || drivers.iter().flat_map(|driver| driver.kept()).collect();
                Answer::Copies(tokio::task::spawn_blocking(look).await.unwrap_or_default())
            }
            Question::Discard { sessions } => {
                let drivers = self.drivers().to_vec();
                let discard = move || discard(&drivers, &sessions);
                drop(tokio::task::spawn_blocking(discard).await);
                Answer::Discarded
            }
        }
    }

    async fn see_gone(&self, session: SessionId, incarnation: Incarnation, pid: Option<u32>) -> Answer {
        match self.find(session) {
            // Whoever starts it does not know yet that nobody wants it.
            Some(Life::Starting) => return Answer::StillAlive(pid.unwrap_or_default()),
            Some(Life::Running(running)) if running.incarnation == incarnation => {
                running.tell(Tell::Kill { why: holdstead_core::EndedBy::Itself });
                self.forget(session, incarnation);
            }
            Some(Life::Running(_)) | None => {}
        }
        let life = life(session, incarnation);
        // Whatever an earlier process of ours left was ended when this one started, and what a host of this one left when that
        // ended. So processes are only looked through where the host lives, or where no number of it was written down.
        let left = move || match pid {
            Some(pid) if !host::is_alive(pid, &life) => None,
            Some(_) | None => host::end(&life),
        };
        match tokio::task::spawn_blocking(left).await.unwrap_or(pid) {
            Some(pid) => Answer::StillAlive(pid),
            None => Answer::Ended,
        }
    }
}

/// What cannot be deleted now is asked about again when this machine is connected again.
fn discard(drivers: &[Arc<dyn Driver>], sessions: &[SessionId]) {
    for session in sessions {
        for driver in drivers {
            if let Err(error) = driver.discard(*session) {
                tracing::warn!(%session, %error, "the copy of a conversation could not be deleted");
            }
        }
    }
}

async fn folder(driver: Option<Arc<dyn Driver>>, path: PathBuf) -> FolderIs {
    let look = move || match &*path {
        path if !path.is_dir() => FolderIs::Missing,
        path if driver.is_some_and(|driver| driver.is_private(path)) => FolderIs::Private,
        _ => FolderIs::There,
    };
    tokio::task::spawn_blocking(look).await.unwrap_or(FolderIs::Missing)
}

fn hosted(driver: &dyn Driver) -> HostedAgent {
    let missing = driver.program().filter(|program| program.find().is_none());
    HostedAgent {
        name: driver.name().to_owned(),
        installed: missing.is_none(),
        missing: missing.map(|program| program.missing()),
    }
}

/// It answered another question.
fn confused() -> Unable {
    tracing::error!("a runner gave an answer to something else");
    Unable::Away
}

/// Where a process will be. Given up when it is dropped before that.
#[derive(Debug)]
pub struct Reserved {
    runner: Arc<Runner>,
    session: SessionId,
}

impl Reserved {
    /// Starts it there.
    pub async fn start(
        self,
        incarnation: Incarnation,
        agent: &str,
        launch: Launch,
        started: Started,
    ) -> Result<(), Unable> {
        let start = ToStart { session: self.session, incarnation, agent: agent.to_owned(), launch, started };
        // If it comes to nothing, it has to show itself again.
        self.runner.shown().remove(&self.session);
        let afar = match &self.runner.machine {
            Machine::Here { .. } => return self.fill(start).await.map_err(Unable::NotStarted),
            Machine::Afar(afar) => afar,
        };
        let answer = afar.ask(Question::Start(Box::new(start))).await?;
        if let Answer::NotStarted(why) = answer {
            return Err(Unable::NotStarted(why));
        }
        // It was shown before this answer.
        if let Answer::Started = answer { Ok(()) } else { Err(confused()) }
    }

    async fn fill(&self, start: ToStart) -> Result<(), String> {
        let Some(driver) = self.runner.driver(&start.agent) else {
            return Err(format!("there is no agent called `{}` on this machine", start.agent));
        };
        if start.launch.terminal.is_some() {
            let in_turn = start.started.turn.is_some();
            let capabilities = driver.capabilities().in_terminal();
            let taken = self.runner.terminals.take(driver, start.launch, in_turn).await;
            let agent = taken.ok_or_else(|| "its terminal is closed".to_owned())?;
            self.is_running(capabilities, agent, start.incarnation, start.started);
            return Ok(());
        }
        let cwd = start.launch.cwd.clone();
        match folder(Some(Arc::clone(&driver)), cwd.clone()).await {
            FolderIs::There => {}
            // It was there when the session was opened, or nobody could look.
            FolderIs::Missing => {
                return Err(format!("the folder `{}` is not there on this machine", cwd.display()));
            }
            FolderIs::Private => {
                let words = "is Holdstead's own, with its tokens and keys: no agent works there";
                return Err(format!("the folder `{}` {words}", cwd.display()));
            }
        }
        let agent = driver.start(start.launch).await.map_err(|error| error.to_string())?;
        self.is_running(driver.capabilities(), agent, start.incarnation, start.started);
        Ok(())
    }

    fn is_running(
        &self,
        capabilities: DriverCapabilities,
        agent: Agent,
        incarnation: Incarnation,
        started: Started,
    ) {
        let running = Running::new(incarnation, capabilities, agent, started);
        self.runner.lives().insert(self.session, Life::Running(Arc::new(running)));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut lives = self.runner.lives();
        if let Some(Life::Starting) = lives.get(&self.session) {
            lives.remove(&self.session);
        }
    }
}
