//! Three nodes and two machines with agents, and everything that can break between them breaks, again and again: nothing is
//! lost, doubled, invented or run twice. Metrics are scraped meanwhile: they must move, and say nothing about people.

mod callers;
pub(crate) mod failover;
mod field;
mod hints;
mod menu;
mod server;
pub(crate) mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdstead_client::Http;
use holdstead_protocol::{AskChange, Delivery, Event, EventBody, InteractionId, Timestamp};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::fault_tests::kill::arena::{Arena, Pace, Person};
use crate::fault_tests::kill::history::{Finding, History, check, counted};
use crate::fault_tests::kill::plan::choices;
use crate::fault_tests::kill::play::{Played, slot};
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};
use callers::{Called, LAST, invented, program};
use field::Field;
use hints::HintsBy;
use menu::{Fault, Happened, make};
use watched::Watched;

const SECONDS: u64 = 960;
/// So many sessions of agents at a time, and so many programs: each waits while what it needs is broken. A debug build takes so many
/// that what is measured is not the machine's own slowness.
const SESSIONS: usize = if cfg!(debug_assertions) { 30 } else { 120 };
const PROGRAMS: u64 = if cfg!(debug_assertions) { 6 } else { 24 };
/// Each kind of fault, in a run of full length; what a shorter one must reach in proportion.
const EACH: usize = 10;
const PACE: Pace = Pace { tasks: 6, pause: Duration::from_millis(100), patience: Duration::from_secs(90) };
/// How often all nodes are restarted.
const ROUNDS: usize = 5;
/// A run of so many seconds has time for every metric to move.
const SCRAPED: u64 = 120;
/// What there is between two faults.
const BETWEEN: Duration = Duration::from_millis(800);
/// How long an accepted answer may take to the agent: the goal, and where the show fails.
const GOAL: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(30);
/// How many findings are written out.
const WRITTEN_OUT: usize = 20;
/// How many sessions with findings are printed as a whole, and how much of each line.
const JOURNALS: usize = 2;
const LINE: usize = 400;

pub(crate) async fn show() -> Result<String> {
    let mut args = std::env::args().skip(2);
    let seconds = args.next().map_or(Ok(SECONDS), |text| text.parse())?;
    let seed = args.next().map_or_else(|| Ok(rand::random()), |text| text.parse())?;
    println!("seconds {seconds}, seed {seed}");
    let half = Duration::from_secs(seconds) / 2;
    let mut run = Run::default();
    let mut kinds = BTreeSet::new();
    let watched = Watched::default();
    for by in [HintsBy::Notify, HintsBy::Nats] {
        println!("\nhints by {by}");
        let faults = Fault::all(by);
        kinds.extend(faults.iter().copied());
        let broken = async |field: &mut Field, slots: &mut Slots| {
            watched.during(field, async |field| break_things(field, &faults, half, seed, slots).await).await?
        };
        run.add(play(seed, by, broken).await?);
    }
    let figure = run.passed()?;
    let wanted = EACH * usize::try_from(seconds)? / usize::try_from(SECONDS)?;
    let rare: Vec<_> = kinds.into_iter().filter(|fault| run.times(*fault) < wanted).collect();
    ensure!(rare.is_empty(), "fewer than {wanted} of each: {rare:?}; {figure}");
    if seconds >= SECONDS {
        ensure!(2 * run.by_agents >= run.asks, "more than half of the asks are of programs; {figure}");
    }
    if seconds < SCRAPED {
        return Ok(figure);
    }
    Ok(format!("{figure}; {}", watched.check().await?))
}

/// All nodes are restarted one after the other, so many times; each as the other version, if there are two.
pub(crate) async fn rolling() -> Result<String> {
    let mut args = std::env::args().skip(2);
    let rounds = args.next().map_or(Ok(ROUNDS), |text| text.parse())?;
    let versions = [Some(crate::gateway_process::program()?), args.next().map(PathBuf::from)];
    let versions: Vec<_> = versions.into_iter().flatten().collect();
    let seed = rand::random();
    println!("rounds {rounds}, seed {seed}");
    let restart_all = async |field: &mut Field, slots: &mut Slots| {
        let mut happened = Vec::new();
        for restart in 0..rounds * field.nodes.len() {
            let node = restart % field.nodes.len();
            let from = menu::now()?;
            // All of them run the first at first.
            let version = (1 + restart / field.nodes.len()) % versions.len();
            field.nodes[node].gateway.replace(versions[version].clone());
            field.restart(node).await?;
            happened.push(Happened { fault: Fault::NodeRestarted, from, to: menu::now()? });
            still_at_it(slots)?;
            sleep(BETWEEN).await;
        }
        Ok(happened)
    };
    let run = play(seed, HintsBy::Notify, restart_all).await?;
    let figure = run.passed()?;
    Ok(format!("{} answers, 0 failed for clients that try again; {figure}", run.answers))
}

type Slots = JoinSet<Result<Vec<Played>>>;

/// Sessions and programs, while this goes on; and what came of it.
async fn play(
    seed: u64,
    by: HintsBy,
    meanwhile: impl AsyncFnOnce(&mut Field, &mut Slots) -> Result<Vec<Happened>>,
) -> Result<Run> {
    let mut field = Field::new(by).await?;
    let folder = tempfile::TempDir::new()?;
    let mut people = Vec::new();
    for name in ["Ada", "Ben"] {
        let token = field.token(name, TokenFor::Person).await?;
        people.push(Person { name, client: Http::new(field.url(), token) });
    }
    let people = people.try_into().map_err(|_| "there are two people")?;
    let machines = field.machines.iter().map(|machine| machine.name.to_owned()).collect();
    let (folder_path, reader) = (folder.path().to_owned(), field.admin()?);
    let arena = Arc::new(Arena::new(seed, PACE, machines, folder_path, people, reader));
    let (mut slots, mut programs) = (JoinSet::new(), JoinSet::new());
    for _ in 0..SESSIONS {
        slots.spawn(slot(Arc::clone(&arena)));
    }
    for number in 0..PROGRAMS {
        let token = field.token(&format!("program {number}"), TokenFor::Guest).await?;
        programs.spawn(program(Arc::clone(&arena), Http::new(field.url(), token), number));
    }
    let begin = Instant::now();
    let happened = meanwhile(&mut field, &mut slots).await?;
    arena.set_over(true);
    let took = begin.elapsed();
    let (mut played, mut called) = (Vec::new(), Vec::new());
    let end = async {
        while let Some(slot) = slots.join_next().await {
            played.extend(slot??);
        }
        while let Some(program) = programs.join_next().await {
            called.push(program??);
        }
        Result::Ok(())
    };
    timeout(LAST, end).await.map_err(|_| "what had begun did not come to its end")??;
    let run = judge(&arena, played, called, happened, took).await?;
    let verdict = field.end().await?;
    ensure!(verdict.sound, "the journal does not verify:\n{}", verdict.words);
    println!("{}", verdict.words.trim_end());
    Ok(run)
}

fn still_at_it(slots: &mut Slots) -> Result<()> {
    match slots.try_join_next() {
        Some(slot) => slot?.and(Err("somebody stopped playing before the end".into())),
        None => Ok(()),
    }
}

/// One fault after the other, each kind as often as the others.
async fn break_things(
    field: &mut Field,
    faults: &[Fault],
    so_long: Duration,
    seed: u64,
    slots: &mut Slots,
) -> Result<Vec<Happened>> {
    let mut rng: StdRng = choices(seed, &[u64::MAX]);
    let (begin, mut happened, mut menu) = (Instant::now(), Vec::new(), Vec::new());
    while begin.elapsed() < so_long {
        if menu.is_empty() {
            menu = faults.to_vec();
            menu.shuffle(&mut rng);
        }
        let Some(fault) = menu.pop() else { continue };
        happened.push(make(field, fault, &mut rng).await.map_err(|error| format!("{fault}: {error}"))?);
        sleep(BETWEEN).await;
        still_at_it(slots)?;
    }
    Ok(happened)
}

async fn judge(
    arena: &Arena,
    played: Vec<Played>,
    called: Vec<Called>,
    happened: Vec<Happened>,
    took: Duration,
) -> Result<Run> {
    let mut found: BTreeMap<Finding, usize> = Finding::ALL.map(|finding| (finding, 0)).into();
    let (mut by_agents, mut by_programs, mut written, mut invented_answers, mut answers) = (0, 0, 0, 0, 0);
    let mut slowest: BTreeMap<Fault, Duration> = BTreeMap::new();
    let (sessions, mut journals) = (played.len(), 0);
    let mut note = |words: &str| {
        written += 1;
        if written <= WRITTEN_OUT {
            println!("{words}");
        }
    };
    for Played { session, mut history } in played {
        history.journal = arena.reader.pages(&session.to_string()).await?;
        by_agents += asks_in(&history);
        answers += history.sent.len();
        let wrong = check(&history);
        for wrong in &wrong {
            note(&format!("{session}: {}: {}", wrong.finding.words(), wrong.words));
            *found.entry(wrong.finding).or_default() += 1;
        }
        if !wrong.is_empty() && journals < JOURNALS {
            journals += 1;
            write_out(&history.journal, &happened)?;
        }
        for (accepted, handed) in handovers(&history.journal) {
            let waited = without(accepted, handed, &happened, Fault::DatabaseStopped);
            // The one it was accepted in, or the last before that.
            let before = happened.iter().filter(|one| one.from <= accepted);
            if let Some(one) = before.max_by_key(|one| one.from) {
                let most = slowest.entry(one.fault).or_default();
                *most = waited.max(*most);
                if waited > GOAL {
                    note(&format!(
                        "{session}: accepted {accepted}, handed over {:.1} s later",
                        waited.as_secs_f64()
                    ));
                }
            }
        }
    }
    for mut one in called {
        let Some(session) = one.session else { continue };
        one.history.journal = arena.reader.pages(&session.to_string()).await?;
        by_programs += asks_in(&one.history);
        answers += one.history.sent.len();
        for wrong in check(&one.history) {
            note(&format!("{session}: {}: {}", wrong.finding.words(), wrong.words));
            *found.entry(wrong.finding).or_default() += 1;
        }
        for wrong in invented(&one) {
            note(&wrong);
            invented_answers += 1;
        }
    }
    println!("{:<34}{:>6}  longest from accepted to the agent", "fault", "times");
    let kinds: BTreeSet<Fault> = happened.iter().map(|one| one.fault).collect();
    for fault in kinds {
        let times = happened.iter().filter(|one| one.fault == fault).count();
        let slowest =
            slowest.get(&fault).map_or("-".to_owned(), |most| format!("{:.1} s", most.as_secs_f64()));
        println!("{fault:<34}{times:>6}  {slowest}");
    }
    let asks = by_agents + by_programs;
    println!(
        "{asks} asks in {:.0} s: {by_agents} by agents in {sessions} sessions, {by_programs} by programs",
        took.as_secs_f64()
    );
    let longest = slowest.values().copied().max().unwrap_or_default();
    Ok(Run { found, invented_answers, happened, asks, by_agents, took, longest, answers })
}

/// The database goes with the show: what somebody needs to understand a finding is printed.
fn write_out(journal: &[Event], happened: &[Happened]) -> Result<()> {
    for event in journal {
        let line: String = serde_json::to_string(event)?.chars().take(LINE).collect();
        println!("  {line}");
    }
    let (first, last) = (journal.first().map(|event| event.at), journal.last().map(|event| event.at));
    for one in happened.iter().filter(|one| Some(one.to) >= first && Some(one.from) <= last) {
        println!("  {} to {}: {}", one.from, one.to, one.fault);
    }
    Ok(())
}

/// What came of it.
#[derive(Debug, Default)]
struct Run {
    found: BTreeMap<Finding, usize>,
    /// What programs fetched that the journal does not have.
    invented_answers: usize,
    happened: Vec<Happened>,
    asks: usize,
    by_agents: usize,
    took: Duration,
    longest: Duration,
    answers: usize,
}

impl Run {
    fn add(&mut self, other: Self) {
        for (finding, count) in other.found {
            *self.found.entry(finding).or_default() += count;
        }
        self.invented_answers += other.invented_answers;
        self.happened.extend(other.happened);
        self.asks += other.asks;
        self.by_agents += other.by_agents;
        self.took += other.took;
        self.longest = self.longest.max(other.longest);
        self.answers += other.answers;
    }

    /// Fails if anything was found, or if an answer took too long.
    fn passed(&self) -> Result<String> {
        let findings = self.found.values().sum::<usize>() + self.invented_answers;
        let figure = self.figure();
        ensure!(findings == 0, "{findings} findings; {figure}");
        ensure!(self.longest <= LIMIT, "an answer took too long; {figure}");
        Ok(figure)
    }

    fn times(&self, fault: Fault) -> usize {
        self.happened.iter().filter(|one| one.fault == fault).count()
    }

    /// Asks a second.
    fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.asks).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }

    fn figure(&self) -> String {
        format!(
            "{} faults, {} asks ({:.0}/s, {} by agents), {}, answers programs were told otherwise {}; longest from accepted to the agent {:.1} s \
             (goal {})",
            self.happened.len(),
            self.asks,
            self.rate(),
            self.by_agents,
            counted(&self.found),
            self.invented_answers,
            self.longest.as_secs_f64(),
            GOAL.as_secs(),
        )
    }
}

fn asks_in(history: &History) -> usize {
    history.journal.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count()
}

/// When each answer was accepted, and when the agent had it.
fn handovers(journal: &[Event]) -> Vec<(Timestamp, Timestamp)> {
    let mut accepted: BTreeMap<InteractionId, Timestamp> = BTreeMap::new();
    let mut handed = Vec::new();
    for event in journal {
        if let EventBody::InteractionResponse(response) = &event.body {
            accepted.insert(response.interaction_id, event.at);
        } else if let EventBody::InteractionUpdate(update) = &event.body
            && let AskChange::Delivery { delivery: Delivery::Delivered { .. } | Delivery::Acknowledged } =
                &update.change
            && let Some(at) = accepted.remove(&update.interaction_id)
        {
            handed.push((at, event.at));
        }
    }
    handed
}

/// How long it took, without the time in which this was so.
fn without(from: Timestamp, to: Timestamp, happened: &[Happened], fault: Fault) -> Duration {
    let absent = happened.iter().filter(|one| one.fault == fault).map(|one| {
        let (from, to) = (one.from.max(from), one.to.min(to));
        if from < to { to.since(from) } else { Duration::ZERO }
    });
    to.since(from).saturating_sub(absent.sum())
}
