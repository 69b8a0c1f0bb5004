//! One store: sessions are played on a gateway that is killed again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdstead_client::Http;
use holdstead_protocol::{Event, EventBody, Timestamp, ToolCallId};
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::arena::{Arena, Life, Moment, Pace, Person};
use super::history::History;
use super::plan;
use super::play::{Played, slot};
use super::steps::{Step, hits};
use crate::Result;
use crate::database::{Database, Kind};
use crate::gateway_process::{GatewayProcess, TokenFor};

/// How many sessions are played at a time.
const AT_ONCE: usize = 5;
/// How often each step must be hit.
pub(super) const HITS: usize = 10;
/// How many more kills there may be to hit a step often enough, and how many at a time.
const MORE: usize = 400;
const MORE_AT_A_TIME: usize = 6;
/// How long a moment is waited for before the gateway is killed anyway.
const WAIT: Duration = Duration::from_secs(5);
/// How long the sessions may take to end after the last kill: each session by itself reports that it stands still.
const LAST: Duration = Duration::from_secs(300);
/// How long a gateway may run before it is killed at random.
const RANDOM: u64 = 200_000;

const PACE: Pace = Pace { tasks: 1, pause: Duration::from_millis(3), patience: Duration::from_secs(60) };

/// All that was seen on one store.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) histories: Vec<History>,
    /// Just before each restart.
    pub(super) deaths: Vec<Timestamp>,
}

/// What is waited for, and how many microseconds the gateway may live on after it.
#[derive(Debug, Clone, Copy)]
enum Aim {
    At(Moment, u64),
    /// The same, and from that moment on nobody looks.
    Unseen(Moment, u64),
    /// At any time.
    Anywhere,
}

/// What has a good chance to find an ask at this step.
const fn aims(step: Step) -> [Aim; 2] {
    match step {
        Step::Written => [Aim::At(Moment::Announced, 3_000), Aim::Unseen(Moment::Announced, 40_000)],
        Step::Shown => [Aim::At(Moment::Shown, 3_000), Aim::At(Moment::Shown, 0)],
        Step::Accepted => [Aim::At(Moment::Answering, 3_000), Aim::At(Moment::Accepted, 0)],
        Step::Delivering => [Aim::At(Moment::Accepted, 2_000), Aim::At(Moment::Delivering, 0)],
        Step::Delivered => [Aim::At(Moment::Delivering, 2_000), Aim::At(Moment::Delivered, 0)],
        Step::Acknowledged => [Aim::At(Moment::Acknowledged, 3_000), Aim::At(Moment::Delivered, 3_000)],
    }
}

#[derive(Debug)]
struct Killer {
    arena: Arc<Arena>,
    gateway: GatewayProcess,
    rng: StdRng,
    deaths: Vec<Timestamp>,
    /// What the files of the agents said while no gateway ran: conversation, call, when.
    taken: BTreeMap<(String, ToolCallId), Timestamp>,
}

pub(super) async fn run(kind: Kind, seed: u64, kills: usize) -> Result<Run> {
    let database = Database::new(kind).await?;
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    let folder = tempfile::TempDir::new()?;
    let mut people = Vec::new();
    for name in ["Ada", "Ben"] {
        let token = gateway.token(name, TokenFor::Person).await?;
        people.push(Person { name, client: Http::new(&gateway.url, token) });
    }
    let people = people.try_into().map_err(|_| "there are two people")?;
    let seed = seed.wrapping_add(kind as u64);
    let arena =
        Arc::new(Arena::new(seed, PACE, Vec::new(), folder.path().to_owned(), people, gateway.person()?));
    let rng = plan::choices(seed, &[u64::MAX]);
    let mut killer = Killer { arena, gateway, rng, deaths: Vec::new(), taken: BTreeMap::new() };
    let all: Vec<_> = Step::AIMED.iter().flat_map(|step| aims(*step)).chain([Aim::Anywhere; 2]).collect();
    let mut played = killer.section(&all, kills).await?;
    let mut histories = killer.histories(&played).await?;
    // Which step a kill finds is a matter of luck: those that were missed are aimed at again.
    while killer.deaths.len() < kills + MORE {
        let hit: Vec<_> = histories.iter().flat_map(|history| hits(history, &killer.deaths)).collect();
        let often = |step: &Step| hit.iter().filter(|hit| hit.step == *step).count() >= HITS;
        let missed: Vec<_> =
            Step::AIMED.iter().filter(|step| !often(step)).flat_map(|step| aims(*step)).collect();
        if missed.is_empty() {
            break;
        }
        played.extend(killer.section(&missed, MORE_AT_A_TIME).await?);
        histories = killer.histories(&played).await?;
    }
    let Killer { gateway, deaths, .. } = killer;
    gateway.stop().await?;
    database.remove().await?;
    Ok(Run { histories, deaths })
}

impl Killer {
    /// What [`Self::play`] does. If it fails, what the gateway wrote to its log tells why.
    async fn section(&mut self, aims: &[Aim], kills: usize) -> Result<Vec<Played>> {
        let played = self.play(aims, kills).await;
        played.map_err(|why| format!("{why}\nthe gateway's log:\n{}", self.gateway.log_end()).into())
    }

    /// So many kills with sessions at play, and then those sessions to their end.
    async fn play(&mut self, aims: &[Aim], kills: usize) -> Result<Vec<Played>> {
        self.arena.set_over(false);
        let mut slots = JoinSet::new();
        for _ in 0..AT_ONCE {
            slots.spawn(slot(Arc::clone(&self.arena)));
        }
        for _ in 0..kills {
            let aim = *aims.choose(&mut self.rng).ok_or("there is nothing to aim at")?;
            self.kill(aim).await?;
            if let Some(slot) = slots.try_join_next() {
                slot??;
                return Err("a slot ended before its time".into());
            }
        }
        self.arena.set_over(true);
        let mut played = Vec::new();
        let end = async {
            while let Some(slot) = slots.join_next().await {
                played.extend(slot??);
            }
            Result::Ok(())
        };
        timeout(LAST, end).await.map_err(|_| "the sessions did not come to an end")??;
        Ok(played)
    }

    /// One `kill -9`, and the next life.
    async fn kill(&mut self, aim: Aim) -> Result<()> {
        let life_on = match aim {
            Aim::At(moment, most) => {
                // If it does not come, any other moment is as good.
                let _came = timeout(WAIT, self.arena.next(moment)).await;
                self.rng.random_range(0..=most)
            }
            Aim::Unseen(moment, most) => {
                let _came = timeout(WAIT, self.arena.next(moment)).await;
                self.arena.set_looking(false);
                self.rng.random_range(0..=most)
            }
            Aim::Anywhere => self.rng.random_range(0..RANDOM),
        };
        // The runtime's own timer counts whole milliseconds.
        tokio::task::spawn_blocking(move || std::thread::sleep(Duration::from_micros(life_on))).await?;
        self.gateway.kill_now().await?;
        let number = self.deaths.len();
        self.arena.set(Life { number, up: false });
        let death = now()?;
        self.look_at_agents(death)?;
        self.deaths.push(death);
        self.gateway.serve_again().await?;
        self.arena.set_looking(true);
        self.arena.set(Life { number: number + 1, up: true });
        Ok(())
    }

    /// The agents go with their gateway; their files stay.
    fn look_at_agents(&mut self, death: Timestamp) -> Result<()> {
        let Ok(files) = fs::read_dir(self.gateway.folder().join("scripted")) else { return Ok(()) };
        for file in files {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let conversation: Value = serde_json::from_slice(&fs::read(&path)?)?;
            let name = conversation["id"].as_str().unwrap_or_default();
            let resolved = conversation["place"]["resolved"].as_array();
            for call in resolved.into_iter().flatten().filter_map(Value::as_str) {
                self.taken.entry((name.to_owned(), ToolCallId::new(call)?)).or_insert(death);
            }
        }
        Ok(())
    }

    /// What was seen of each session, with its journal as it is now.
    async fn histories(&self, played: &[Played]) -> Result<Vec<History>> {
        let mut histories = Vec::with_capacity(played.len());
        for Played { session, history } in played {
            let mut history = history.clone();
            history.journal = self.arena.reader.pages(&session.to_string()).await?;
            let names = conversations(&history.journal);
            let taken = self.taken.iter().filter(|((name, _), _)| names.contains(name.as_str()));
            history.taken = taken.map(|((_, call), at)| (call.clone(), *at)).collect();
            histories.push(history);
        }
        Ok(histories)
    }
}

/// The agent's own names for the conversations of a session.
fn conversations(journal: &[Event]) -> BTreeSet<String> {
    let name = |event: &Event| {
        if let EventBody::SessionStatus(status) = &event.body { status.agent_ref.clone() } else { None }
    };
    journal.iter().filter_map(name).collect()
}

fn now() -> Result<Timestamp> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(Timestamp::from_micros(i64::try_from(micros)?))
}
