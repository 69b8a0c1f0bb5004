//! `kill -9` of the gateway at every step of an ask, on every store: nothing is lost, doubled, invented or run twice.

pub(crate) mod arena;
mod follow;
pub(crate) mod history;
pub(crate) mod plan;
pub(crate) mod play;
mod run;
mod steps;
mod tries;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::database::Kind;
use crate::{Result, ensure};
use history::{Finding, check, counted};
use run::{HITS, Run};
use steps::{Hit, Step, hits};

/// Over all stores.
const KILLS: usize = 300;
/// How many findings are written out.
const WRITTEN_OUT: usize = 20;

pub(crate) async fn show() -> Result<String> {
    let given = given(std::env::args().skip(2))?;
    let seed = given.seed.unwrap_or_else(rand::random);
    println!("--seed {seed} --kills {}", given.kills);
    let mut found: BTreeMap<Finding, usize> = Finding::ALL.map(|finding| (finding, 0)).into();
    let (mut kills, mut missed) = (0, Vec::new());
    for kind in Kind::ALL {
        let begin = Instant::now();
        let run = run::run(kind, seed, given.kills.div_ceil(Kind::ALL.len())).await?;
        kills += run.deaths.len();
        let hits: Vec<Hit> = run.histories.iter().flat_map(|history| hits(history, &run.deaths)).collect();
        let hit = |step: Step| hits.iter().filter(|hit| hit.step == step).count();
        let reached: Vec<_> = Step::ALL.iter().map(|step| format!("{} at `{step}`", hit(*step))).collect();
        println!(
            "{kind}: {} kills in {:.0} s, {} sessions; asks that were hit: {}",
            run.deaths.len(),
            begin.elapsed().as_secs_f64(),
            run.histories.len(),
            reached.join(", ")
        );
        for step in Step::AIMED.into_iter().filter(|step| hit(*step) < HITS) {
            missed.push(format!("on {kind} only {} asks were hit at `{step}`", hit(step)));
        }
        judge(&run, &mut found);
    }
    for (finding, times) in &found {
        println!("{:<38}{times}", finding.words());
    }
    let figure = format!("{kills} kills, {}", counted(&found));
    let all: usize = found.values().sum();
    ensure!(all == 0, "{all} findings; {figure}");
    ensure!(missed.is_empty(), "{}; {figure}", missed.join("; "));
    Ok(figure)
}

fn judge(run: &Run, found: &mut BTreeMap<Finding, usize>) {
    for history in &run.histories {
        for wrong in check(history) {
            let all: usize = found.values().sum();
            if all < WRITTEN_OUT {
                println!("{}: {}", wrong.finding.words(), wrong.words);
            }
            *found.entry(wrong.finding).or_default() += 1;
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Given {
    seed: Option<u64>,
    kills: usize,
}

fn given(args: impl Iterator<Item = String>) -> Result<Given> {
    let mut given = Given { seed: None, kills: KILLS };
    let mut args = args;
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a number"))?;
        match arg.as_str() {
            "--seed" => given.seed = Some(value.parse()?),
            "--kills" => given.kills = value.parse()?,
            _ => return Err(format!("{arg} is not known: --seed N, --kills N").into()),
        }
    }
    Ok(given)
}
