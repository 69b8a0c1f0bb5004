//! One program in its terminal: listened to while somebody speaks for its session.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdstead_agents::regular::{Links, read};
use holdstead_agents::{Agent, AgentEvent, AgentExit, AgentSide, Appeared, Terminal, TerminalEffect};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Reply;
use super::record::Record;

/// So often its record is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How many words may wait to be heard before its record is not read further.
const MOST_WAITING: usize = 256;
/// What was said before somebody listened, and is kept for them.
const MOST_UNHEARD: usize = 1_000;
/// So long it is kept for whoever listens next.
const UNHEARD: Duration = Duration::from_secs(60);
/// So long it takes to see that a program is gone.
const LEFT: Duration = Duration::from_millis(500);
/// It does not show itself more often than this.
const SHOWN: Duration = Duration::from_secs(1);
/// So many subagents are listened to.
const MOST_OTHERS: usize = 64;
/// The most of what a program says in the file about how it stands.
const MOST_STATUS: u64 = 64 * 1024;
/// What was decided while nobody listened, at most.
const MOST_MISSED: usize = 50;

#[derive(Debug)]
pub(super) enum Input {
    Said {
        text: String,
        pid: Option<u32>,
        record: Option<PathBuf>,
        waits: Option<(u64, oneshot::Sender<Reply>)>,
        /// It waits for nobody who does not listen now.
        brief: bool,
    },
    /// Whoever waited with this number is gone.
    Left { waits: u64 },
    /// Somebody listens from now on.
    Take { wire: Box<dyn Terminal>, in_turn: bool, given: oneshot::Sender<Agent> },
    /// If nobody listens, it says again that it is there.
    ShowAgain,
}

/// A number for whoever waits.
pub(super) fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

pub(super) fn begin(shows: Appeared, appeared: mpsc::Sender<Appeared>) -> mpsc::UnboundedSender<Input> {
    let (inputs, said) = mpsc::unbounded_channel();
    let task = Task {
        shows,
        appeared,
        said,
        records: Records::default(),
        pid: None,
        heard: None,
        unheard: VecDeque::new(),
        last_shown: None,
        leaving: Vec::new(),
        waiting: HashMap::new(),
        words: VecDeque::new(),
        is_over: false,
    };
    tokio::spawn(task.run());
    inputs
}

/// Something that was said while nobody listened.
#[derive(Debug)]
struct Unheard {
    text: String,
    waits: Option<u64>,
    since: Instant,
}

#[derive(Debug, Default)]
struct Records {
    own: Record,
    /// Those of subagents.
    others: Vec<Record>,
}

impl Records {
    fn new_lines(&mut self) -> Vec<String> {
        std::iter::once(&mut self.own).chain(&mut self.others).flat_map(Record::new_lines).collect()
    }

    fn also(&mut self, path: PathBuf) {
        if self.others.len() < MOST_OTHERS && !self.others.iter().any(|other| other.is_of(&path)) {
            self.others.push(Record::from_its_beginning(path));
        }
    }
}

#[derive(Debug)]
struct Task {
    shows: Appeared,
    appeared: mpsc::Sender<Appeared>,
    said: mpsc::UnboundedReceiver<Input>,
    records: Records,
    pid: Option<u32>,
    /// Whoever listens.
    heard: Option<(Box<dyn Terminal>, AgentSide)>,
    /// What was said while nobody listened.
    unheard: VecDeque<Unheard>,
    last_shown: Option<Instant>,
    /// Those who waited and went, since when.
    leaving: Vec<(u64, Instant)>,
    waiting: HashMap<u64, oneshot::Sender<Reply>>,
    /// On their way to whoever listens.
    words: VecDeque<AgentEvent>,
    is_over: bool,
}

impl Task {
    async fn run(mut self) {
        self.show();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !(self.is_over && self.words.is_empty()) {
            let listens = self.heard.is_some();
            tokio::select! {
                input = self.said.recv() => match input {
                    Some(input) => self.take_in(input).await,
                    None => return,
                },
                said = next(self.heard.as_mut(), &self.words), if listens => self.happened(said),
                _ = looks.tick() => self.look().await,
            }
        }
    }

    fn show(&mut self) {
        self.last_shown = Some(Instant::now());
        // Without anybody to show it to, the runner is going.
        drop(self.appeared.try_send(self.shows.clone()));
    }

    /// Does what may look at the program's files. Nothing but this terminal waits for them.
    async fn with_files(
        &mut self,
        work: impl FnOnce(Option<&mut Box<dyn Terminal>>, &mut Records) -> Vec<TerminalEffect> + Send + 'static,
    ) {
        let (mut wire, side) = self.heard.take().unzip();
        let mut records = std::mem::take(&mut self.records);
        let done = tokio::task::spawn_blocking(move || {
            let effects = work(wire.as_mut(), &mut records);
            (wire, records, effects)
        });
        let Ok((wire, records, effects)) = done.await else {
            // The listener learns that nothing more comes.
            self.words.clear();
            self.is_over = true;
            return;
        };
        self.heard = wire.zip(side);
        self.records = records;
        self.follow(effects);
    }

    async fn take_in(&mut self, input: Input) {
        match input {
            Input::Said { text, pid, record, waits, brief } => {
                self.pid = pid.or(self.pid);
                let number = waits.map(|(number, reply)| {
                    self.waiting.insert(number, reply);
                    number
                });
                let now = Instant::now();
                if self.heard.is_none() {
                    if let Some(number) = number.filter(|_| brief) {
                        self.reply(number, Reply::Answer(None));
                    }
                    self.keep(text.clone(), number.filter(|_| !brief));
                    // The listener may have gone since it showed itself.
                    if self.last_shown.is_none_or(|shown| shown.elapsed() > SHOWN) {
                        self.show();
                    }
                }
                self.with_files(move |wire, records| {
                    records.own.is_at(record);
                    wire.map(|wire| wire.heard(&text, number, now)).unwrap_or_default()
                })
                .await;
            }
            Input::Left { waits } => {
                self.waiting.remove(&waits);
                if let Some((wire, _)) = &mut self.heard {
                    wire.gone(waits);
                }
                self.unheard.retain(|unheard| unheard.waits != Some(waits));
                self.leaving.push((waits, Instant::now()));
            }
            Input::Take { wire, in_turn, given } => self.is_heard(wire, in_turn, given).await,
            Input::ShowAgain if self.heard.is_none() => self.show(),
            Input::ShowAgain => {}
        }
    }

    fn keep(&mut self, text: String, waits: Option<u64>) {
        self.unheard.push_back(Unheard { text, waits, since: Instant::now() });
        while self.unheard.len() > MOST_UNHEARD {
            self.nobody_heard();
        }
    }

    /// The oldest is forgotten; if it waits, it is asked in the terminal alone.
    fn nobody_heard(&mut self) {
        if let Some(Unheard { waits: Some(number), .. }) = self.unheard.pop_front() {
            self.reply(number, Reply::Answer(None));
        }
    }

    async fn is_heard(&mut self, wire: Box<dyn Terminal>, in_turn: bool, given: oneshot::Sender<Agent>) {
        if self.heard.is_some() || self.is_over {
            return;
        }
        let (agent, side) = Agent::elsewhere(self.pid.unwrap_or_default());
        if given.send(agent).is_err() {
            return;
        }
        self.heard = Some((wire, side));
        let unheard = std::mem::take(&mut self.unheard);
        let now = Instant::now();
        self.with_files(move |wire, records| {
            let Some(wire) = wire else { return Vec::new() };
            let mut effects = Vec::new();
            if in_turn {
                let missed = records.own.last_lines();
                effects.extend(missed.iter().flat_map(|line| wire.missed(line)));
                effects.drain(..effects.len().saturating_sub(MOST_MISSED));
            }
            for Unheard { text, waits, .. } in unheard {
                effects.extend(wire.heard(&text, waits, now));
            }
            effects
        })
        .await;
    }

    fn follow(&mut self, effects: Vec<TerminalEffect>) {
        for effect in effects {
            match effect {
                TerminalEffect::Event(event) => {
                    self.is_over |= matches!(event, AgentEvent::Exited(_));
                    self.words.push_back(event);
                }
                TerminalEffect::AlsoRecorded(path) => self.records.also(path),
                TerminalEffect::Answer { waits, answer } => self.reply(waits, Reply::Answer(answer)),
                TerminalEffect::Say { waits, words } => self.reply(waits, Reply::Say(words)),
            }
        }
    }

    fn reply(&mut self, waits: u64, reply: Reply) {
        if let Some(waiting) = self.waiting.remove(&waits) {
            // If it is gone, its end follows.
            drop(waiting.send(reply));
        }
    }

    fn happened(&mut self, what: Happened) {
        match what {
            Happened::Told(outgoing) => {
                if let Some((wire, _)) = &mut self.heard {
                    let effects = wire.told(outgoing);
                    self.follow(effects);
                }
            }
            Happened::Heard(permit) => {
                if let Some(event) = self.words.pop_front() {
                    permit.send(event);
                }
            }
            Happened::NotHeard => self.is_left(),
        }
    }

    /// Nobody speaks for its session any more. The program goes on.
    fn is_left(&mut self) {
        if let Some((_, side)) = self.heard.take() {
            let exit = AgentExit {
                parked: false,
                code: None,
                stderr: "nobody here listens to its terminal".to_owned(),
            };
            drop(side.events.try_send(AgentEvent::Exited(exit)));
        }
        self.words.clear();
        // Whoever waits comes again, and is heard by whoever listens next.
        self.waiting.clear();
    }

    /// A hook goes when somebody says no, and also when its program does: that is known a moment later.
    fn see_who_left(&mut self) {
        let gone = self.leaving.extract_if(.., |(_, since)| since.elapsed() > LEFT);
        let gone: Vec<_> = gone.map(|(waits, _)| waits).collect();
        if gone.is_empty() || self.pid.is_some_and(|pid| !is_alive(pid)) {
            return;
        }
        if let Some((wire, _)) = &mut self.heard {
            let effects = gone.into_iter().flat_map(|waits| wire.left(waits)).collect();
            self.follow(effects);
        }
    }

    async fn look(&mut self) {
        while self.unheard.front().is_some_and(|oldest| oldest.since.elapsed() > UNHEARD) {
            self.nobody_heard();
        }
        if self.heard.is_some() && self.words.len() < MOST_WAITING {
            let (now, pid) = (Instant::now(), self.pid);
            self.with_files(move |wire, records| {
                let Some(wire) = wire else { return Vec::new() };
                let lines = records.new_lines();
                let mut effects: Vec<_> = lines.iter().flat_map(|line| wire.recorded(line)).collect();
                if let Some(said) =
                    pid.and_then(|pid| wire.status_file(pid)).and_then(|path| status_in(&path))
                {
                    effects.extend(wire.status(&said, now));
                }
                effects.extend(wire.passed(now));
                effects
            })
            .await;
        }
        self.see_who_left();
        if !self.is_over && self.pid.is_some_and(|pid| !is_alive(pid)) {
            match &mut self.heard {
                Some((wire, _)) => {
                    let effects = wire.closed();
                    self.follow(effects);
                }
                None => self.is_over = true,
            }
        }
    }
}

enum Happened {
    Told(holdstead_agents::Outgoing),
    Heard(mpsc::OwnedPermit<AgentEvent>),
    /// Whoever listened is gone, or wants no more.
    NotHeard,
}

async fn next(heard: Option<&mut (Box<dyn Terminal>, AgentSide)>, words: &VecDeque<AgentEvent>) -> Happened {
    let Some((_, side)) = heard else { return std::future::pending().await };
    tokio::select! {
        told = side.input.recv() => told.map_or(Happened::NotHeard, |sent| Happened::Told(sent.take())),
        () = side.kill.notified() => Happened::NotHeard,
        permit = side.events.clone().reserve_owned(), if !words.is_empty() => permit.map_or(Happened::NotHeard, Happened::Heard),
    }
}

/// What a program says in its own file. Where that cannot be read, nothing is known of it.
fn status_in(path: &Path) -> Option<String> {
    String::from_utf8(read(path, Links::Refuse, MOST_STATUS, |_| true).ok()?).ok()
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_ok())
}
