//! A person stops a turn, revokes a grant or changes a rule while rules judge a call that they allow. Once the person has the
//! reply, the call has no effect on disk. On a remote runner the judgement is held open until that reply; on the gateway's own
//! runner both race.

mod costs;
mod lane;
mod work;

use std::time::Instant;

use futures_util::future::try_join_all;

use self::lane::{Lane, Round, Runs};
use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::{Result, ensure};

/// How many owners act at once, each in sessions of their own.
const LANES: usize = 8;
/// So many acts of a whole run must fall between the judgement of a call and its append.
const INSIDE: usize = 500;
const ALL: usize = 2_000;

/// What a person does against a call that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Stop,
    RevokeGrant,
    RevokeRule,
    AddRule,
}

impl Act {
    const EACH: [Self; 4] = [Self::Stop, Self::RevokeGrant, Self::RevokeRule, Self::AddRule];
}

pub(crate) async fn show() -> Result<String> {
    let count = std::env::args().nth(2).map_or(Ok(ALL), |count| count.parse())?;
    let mut rounds = Vec::new();
    let mut late = Vec::new();
    for (kind, count) in [(Kind::Sqlite, count / 2), (Kind::Postgres, count - count / 2)] {
        let begin = Instant::now();
        let (database, folder) = (Database::new(kind).await?, tempfile::tempdir()?);
        let gateway = GatewayProcess::serve(Some(&database.url())).await?;
        let lanes = (0..LANES).map(|lane| Lane::new(&gateway, &database, folder.path(), lane));
        let mut lanes = try_join_all(lanes).await?;
        if kind == Kind::Postgres {
            println!("{}", costs::of_allowed_call(&mut lanes[0], &database).await?);
        }
        let each =
            lanes.iter_mut().enumerate().map(|(lane, owner)| play(owner, (lane..count).step_by(LANES)));
        let played: Vec<Round> = try_join_all(each).await?.into_iter().flatten().collect();
        drop(lanes);
        gateway.stop().await?;
        // No agent is left: what is on disk now stays.
        for (runs, name) in [(Runs::Remotely, "remote runner"), (Runs::InGateway, "gateway's runner")] {
            let of = || played.iter().filter(|round| round.runs == runs);
            println!(
                "{kind}, {name}: {} acts, {} while the turn ran; they came before {} calls were allowed",
                of().count(),
                of().filter(|round| round.in_turn).count(),
                of().map(|round| round.too_late.len()).sum::<usize>()
            );
            for act in Act::EACH {
                let calls = of().filter(|round| round.act == act).flat_map(|round| &round.too_late);
                let effects = calls.filter(|file| work::is_edited(file)).count();
                if effects > 0 {
                    late.push(format!("{kind}, {name}, {act:?}: {effects} effects afterwards"));
                }
            }
        }
        println!("took {:.0} s", begin.elapsed().as_secs_f64());
        database.remove().await?;
        rounds.extend(played);
    }
    let inside = rounds.iter().filter(|round| round.runs == Runs::Remotely).count();
    let acts = |act| rounds.iter().filter(|round| round.act == act).count();
    let counted = format!(
        "{} acts ({} stops, {} revoked grants, {} revoked rules, {} new rules) on both stores: {inside} inside the window, \
         held there on a remote runner, and {} raced on the gateway's own",
        rounds.len(),
        acts(Act::Stop),
        acts(Act::RevokeGrant),
        acts(Act::RevokeRule),
        acts(Act::AddRule),
        rounds.len() - inside
    );
    ensure!(late.is_empty(), "{counted}\n{}", late.join("\n"));
    ensure!(inside >= INSIDE * rounds.len() / ALL, "{counted}: too few inside the window");
    Ok(format!("{counted}; 0 effects afterwards"))
}

/// Each act in turn, first on one runner, then on the other.
async fn play(lane: &mut Lane, numbers: impl Iterator<Item = usize>) -> Result<Vec<Round>> {
    let mut rounds = Vec::new();
    for (turn, number) in numbers.enumerate() {
        let runs = if turn.is_multiple_of(2) { Runs::Remotely } else { Runs::InGateway };
        let act = Act::EACH[(turn / 2 + number) % Act::EACH.len()];
        let round = lane.round(number, act, runs).await;
        rounds.push(round.map_err(|error| format!("round {number}, {act:?}, {runs:?}: {error}"))?);
    }
    Ok(rounds)
}
