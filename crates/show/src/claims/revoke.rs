//! A browser is revoked while its stream, its socket and its long poll are open, and while it answers: within a second it
//! sees and decides nothing more. Half of them are revoked through the gateway, half beside it.

mod victim;

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use holdstead_protocol::api::{Interaction, LoginLink, Respond};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use self::victim::Victim;
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::responses::{APPROVE, DENY};
use crate::{Error, Result, ensure};

const RACES: usize = 200;
const AT_ONCE: usize = 8;
/// When a device that was revoked beside the gateway is out at the latest. Through the gateway it is out at once.
const LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revoked {
    /// `DELETE /v1/devices/{id}`.
    Here,
    /// `holdstead token revoke`, which writes to the database.
    Beside,
}

/// What a race came to: when the last connection of the device ended, and whether its answer was in time.
struct Race {
    revoked: Revoked,
    ended: Duration,
    answered: bool,
}

pub(crate) async fn show() -> Result<String> {
    let seed = match std::env::args().nth(2) {
        Some(seed) => seed.parse()?,
        None => rand::random(),
    };
    println!("seed {seed}");
    println!(
        "goal: in {RACES} races, nothing is seen or decided by a revoked device: at once through the gateway, after {} ms beside it",
        LIMIT.as_millis()
    );
    let begin = Instant::now();
    let gateway = GatewayProcess::serve(None).await?;
    let lanes = try_join_all((0..AT_ONCE).map(|lane| races(&gateway, seed, lane))).await?;
    let (mut races, mut through) = (Vec::new(), Vec::new());
    for race in lanes.into_iter().flatten() {
        match race {
            Ok(race) => races.push(race),
            Err(error) => through.push(error.to_string()),
        }
    }
    let mut figures = Vec::new();
    for (name, how) in [("through the gateway", Revoked::Here), ("beside it", Revoked::Beside)] {
        let of = || races.iter().filter(|race| race.revoked == how);
        let last = of().map(|race| race.ended).max().unwrap_or_default();
        let answered = of().filter(|race| race.answered).count();
        println!(
            "{name:<20} {} races, {answered} answers in time, the last connection ended after {} ms",
            of().count(),
            last.as_millis()
        );
        figures.push(format!("{} ms {name}", last.as_millis()));
    }
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    gateway.stop().await?;
    let count = races.len() + through.len();
    ensure!(through.is_empty(), "{} of {count} races: {}", through.len(), through.join("\n"));
    ensure!(count == RACES, "{count} races are not {RACES}");
    Ok(format!("{count} races, 0 through; everything open ended within {}", figures.join(", ")))
}

/// One after the other, in a session of their own.
async fn races(gateway: &GatewayProcess, seed: u64, lane: usize) -> Result<Vec<Result<Race>>> {
    let token = gateway.token(&format!("program {lane}"), TokenFor::Guest).await?;
    let (person, asker) = (gateway.person()?, Client::new(&gateway.url, &token)?);
    let lane_of = Lane { gateway, person, asker };
    let mut rng = StdRng::seed_from_u64(seed ^ (lane as u64) << 32);
    let mut done = Vec::new();
    for number in (lane..RACES).step_by(AT_ONCE) {
        let revoked =
            if (number / AT_ONCE + number).is_multiple_of(2) { Revoked::Here } else { Revoked::Beside };
        done.push(
            lane_of
                .race(number, revoked, &mut rng)
                .await
                .map_err(|error| format!("{number} {revoked:?}: {error}").into()),
        );
    }
    Ok(done)
}

struct Lane<'a> {
    gateway: &'a GatewayProcess,
    /// Who revokes, on a device that stays.
    person: Client,
    asker: Client,
}

impl Lane<'_> {
    async fn ask(&self, key: &str) -> Result<Interaction> {
        let call = json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {"key": key}});
        self.asker.post("/v1/interactions", &call).await
    }

    async fn revoke(&self, device: &str, how: Revoked) -> Result<Instant> {
        match how {
            Revoked::Here => self.person.tell(Method::DELETE, &format!("/v1/devices/{device}")).await?,
            Revoked::Beside => {
                let output = self.gateway.holdstead(&["token", "revoke", device]).await?;
                let words = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "`holdstead token revoke` failed: {words}");
            }
        }
        Ok(Instant::now())
    }

    async fn race(&self, number: usize, how: Revoked, rng: &mut StdRng) -> Result<Race> {
        let link: LoginLink = self.person.post("/v1/login-links", &json!({})).await?;
        let victim = Victim::log_in(&self.gateway.url, &link).await?;
        let device = victim.device().await?;
        let waits = self.ask(&format!("waits {number}")).await?;
        let wanted = self.ask(&format!("wanted {number}")).await?;
        let session = waits.session_id;

        let stream = victim.stream(session).await?;
        let socket = victim.socket(session).await?;
        let poll = victim.poll(waits.request.interaction_id).await?;

        // A race: the answer may come before, while, and after the device is revoked.
        let (first, spread) = (
            rng.random_range(0..40),
            match how {
                Revoked::Here => 80,
                Revoked::Beside => 1_500,
            },
        );
        let (revokes_in, answers_in) =
            (Duration::from_millis(first), Duration::from_millis(rng.random_range(0..spread)));
        let allowed = match how {
            Revoked::Here => Duration::ZERO,
            Revoked::Beside => LIMIT,
        };
        let after = format!("after race {number}.");
        let path = format!("/v1/interactions/{}/respond", wanted.request.interaction_id);
        let answer = Respond {
            prompt_id: wanted.request.prompt_id,
            idempotency_key: Uuid::new_v4().to_string(),
            response: APPROVE,
        };
        let revoking = async {
            sleep(revokes_in).await;
            let revoked = self.revoke(&device, how).await?;
            sleep(allowed.saturating_sub(revoked.elapsed())).await;
            Ok::<_, Error>((revoked, self.ask(&after).await?))
        };
        let answering = async {
            sleep(answers_in).await;
            Ok((Instant::now(), victim.respond(&path, &answer).await?))
        };
        let ((revoked, later), (sent, status)) = tokio::try_join!(revoking, answering)?;

        let mut ended = Duration::ZERO;
        for open in [stream, socket, poll] {
            let (at, seen) = open.ended().await?;
            ensure!(!seen.contains(&after), "a connection saw what happened after the revocation: {seen}");
            ended = ended.max(at.saturating_duration_since(revoked));
        }
        ensure!(ended <= LIMIT, "a connection ended after {} ms", ended.as_millis());
        ensure!(status == 200 || status == 401, "the answer got {status}");
        let answered = status == 200;
        let late = sent.saturating_duration_since(revoked);
        ensure!(
            !answered || late <= allowed,
            "an answer {} ms after the revocation was taken",
            late.as_millis()
        );
        let status = victim.respond(&path, &answer).await?;
        ensure!(status == 401, "its answer got {status} when it was out");
        for ask in [Some(waits), Some(wanted).filter(|_| !answered), Some(later)].into_iter().flatten() {
            self.person.win(&ask, DENY).await?;
        }
        Ok(Race { revoked: how, ended, answered })
    }
}
