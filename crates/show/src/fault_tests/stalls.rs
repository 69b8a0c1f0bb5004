//! A store that fails again and again, under sessions that ask: no answer is stuck, none is lost, nothing is restarted.
//!
//! The gateway runs in this process, because only here its journal can be made to fail.

mod agents;
mod person;
mod storm;

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdstead_gateway::Gateway;
use holdstead_store::Journal;
use holdstead_store::faulty::FaultyJournal;
use rand::{SeedableRng as _, rngs::StdRng};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::database::{Database, Kind};
use crate::{Result, ensure};
use agents::Agents;
use person::Scene;
use storm::Storm;

const SCRIPTED: usize = 50;
const CLAUDE: usize = 10;
/// How many of Claude Code start at the same time: starting one is work.
const CLAUDE_AT_ONCE: usize = 3;
/// How long sessions go on asking.
const STORM: Duration = Duration::from_secs(60);
/// When the store is away altogether, from the beginning, and for how long.
const AWAY_AT: [Duration; 2] = [Duration::from_secs(12), Duration::from_secs(38)];
const AWAY_FOR: Duration = Duration::from_secs(10);
/// How long after the last fault an answer may be on its way.
const LIMIT: Duration = Duration::from_secs(30);
/// How long what has begun may take to end when nothing fails any more.
const END: Duration = Duration::from_secs(120);

pub(crate) async fn show() -> Result<String> {
    let program = std::env::args().nth(2).ok_or("say where Claude Code is: `scripts/agents claude` knows")?;
    let seed = match std::env::args().nth(3) {
        Some(seed) => seed.parse()?,
        None => rand::random(),
    };
    println!("seed {seed}");
    let folder = TempDir::new()?;
    let database = Database::new(Kind::Sqlite).await?;
    let sound = holdstead_store::open(&database.url()).await?;
    let storm = Arc::new(Storm::new(seed));
    let faults = Arc::clone(&storm);
    let faulty: Arc<dyn Journal> =
        Arc::new(FaultyJournal::new(Arc::clone(&sound), move |call| faults.next(call)));
    let agents = Agents::new(folder.path(), &program).await?;
    let gateway = Gateway::start(faulty, agents.drivers()?, agents.config()).await?;

    storm.begin();
    let begin = Instant::now();
    let mut playing = JoinSet::new();
    let starting = Arc::new(tokio::sync::Semaphore::new(CLAUDE_AT_ONCE));
    for number in 0..SCRIPTED + CLAUDE {
        let scene = Scene {
            gateway: gateway.clone(),
            sound: Arc::clone(&sound),
            number,
            folder: folder.path().join(format!("session-{number}")),
            until: begin + STORM,
            starting: Arc::clone(&starting),
            rng: StdRng::seed_from_u64(seed ^ (number as u64) << 32),
        };
        let model = (number >= SCRIPTED).then(|| Arc::clone(&agents.model));
        playing.spawn(scene.play(model));
    }
    for at in AWAY_AT {
        sleep((begin + at).saturating_duration_since(Instant::now())).await;
        println!("{:>3.0} s: the store is away for {} s", begin.elapsed().as_secs_f64(), AWAY_FOR.as_secs());
        storm.away_for(AWAY_FOR);
    }
    sleep((begin + STORM).saturating_duration_since(Instant::now())).await;
    let last_fault = storm.end();
    println!("{:>3.0} s: the store is well again; {}", begin.elapsed().as_secs_f64(), storm.count());

    let mut played = Vec::new();
    let mut tally = person::Tally::default();
    let mut stuck = Vec::new();
    let mut look = tokio::time::interval(Duration::from_secs(5));
    while !playing.is_empty() && last_fault.elapsed() < END {
        tokio::select! {
            Some(one) = playing.join_next() => match one? {
                Ok(scene) => played.push(scene),
                Err(error) => stuck.push(error.to_string()),
            },
            _ = look.tick() => person::stalled(&*sound, last_fault, LIMIT, &mut tally).await?,
        }
    }
    let standing = playing.len();
    println!("{:>3.0} s: {} sessions are done", begin.elapsed().as_secs_f64(), played.len());
    for scene in &played {
        scene.check(&agents.model, &mut tally).await?;
    }
    gateway.stop().await;
    ensure!(stuck.is_empty(), "{}", stuck.join("\n"));
    ensure!(standing == 0, "{standing} sessions stand still");
    ensure!(tally.stalled.is_empty(), "stalled: {:#?}", tally.stalled);
    ensure!(tally.lost.is_empty(), "lost: {:#?}", tally.lost);
    ensure!(storm.faults() >= 500, "only {} faults: that is no storm", storm.faults());
    ensure!(tally.told >= 200, "only {} answers: that is no crowd", tally.told);
    sound.close().await;
    database.remove().await?;
    Ok(format!(
        "0 stalls, 0 lost, no restart: {} answers in {SCRIPTED} scripted sessions and {CLAUDE} of Claude Code, each with \
         its agent once; {}",
        tally.told,
        storm.count(),
    ))
}
