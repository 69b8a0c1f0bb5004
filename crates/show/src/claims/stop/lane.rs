//! One owner with two sessions, one on each runner, and the rounds that are played in them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use holdstead_protocol::api::SavedRule;
use holdstead_protocol::{Event, EventBody};
use reqwest::Method;
use serde_json::json;
use tokio::process::Child;
use tokio::time::sleep;

use super::Act;
use super::work::{ALWAYS, GRANTED, RULED, Work, allows};
use crate::client::Client;
use crate::database::Database;
use crate::gateway_process::GatewayProcess;
use crate::relay::Relay;
use crate::{Result, ensure, runner_process};

/// The gateway's own runner has this name.
const OWN: &str = "gateway";
/// The calls that a race is about.
const RACED: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Remotely,
    InGateway,
}

#[derive(Debug)]
pub(super) struct Round {
    pub(super) act: Act,
    pub(super) runs: Runs,
    /// The act came before the end of the turn.
    pub(super) in_turn: bool,
    /// The files of the calls that were not durable as allowed before the act.
    pub(super) too_late: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Lane {
    person: Client,
    pub(super) relay: Relay,
    remote: Work,
    own: Work,
    _runner: Child,
}

impl Lane {
    pub(super) async fn new(
        gateway: &GatewayProcess,
        database: &Database,
        folder: &Path,
        number: usize,
    ) -> Result<Self> {
        let (owner, name) = (format!("owner-{number}"), format!("runner-{number}"));
        let person = Client::new(&gateway.url, &token(gateway, database, &owner, &owner, "person").await?)?;
        let token = token(gateway, database, &owner, &name, "runner").await?;
        let relay = Relay::new(&gateway.url, &token).await?;
        let of_runner = folder.join(&name);
        std::fs::create_dir(&of_runner)?;
        let _runner = runner_process::start(&of_runner, &relay.url, &token)?;
        runner_process::connected(&person, &[&name]).await?;
        let remote = Work::open(&person, folder.join(format!("{number}-remote")), &name).await?;
        let own = Work::open(&person, folder.join(format!("{number}-own")), OWN).await?;
        let lane = Self { person, relay, remote, own, _runner };
        lane.add_rule("allow", ALWAYS).await?;
        Ok(lane)
    }

    async fn add_rule(&self, effect: &str, folder: &str) -> Result<SavedRule> {
        self.person.post("/v1/rules", &json!({ "line": format!("{effect} Edit({folder}/**)") })).await
    }

    async fn revoke(&self, rule: &SavedRule, place: &str) -> Result<()> {
        self.person.tell(Method::DELETE, &format!("/v1/rules/{}{place}", rule.grant_id)).await
    }

    /// A turn with two calls before the act, which must be allowed, and those that the act is against.
    pub(super) async fn round(&mut self, number: usize, act: Act, runs: Runs) -> Result<Round> {
        let place = match act {
            Act::Stop | Act::AddRule => ALWAYS,
            Act::RevokeGrant => GRANTED,
            Act::RevokeRule => RULED,
        };
        let (work, against) = match runs {
            Runs::Remotely => (&self.remote, 1),
            Runs::InGateway => (&self.own, RACED),
        };
        let files: Vec<_> = (0..2 + against).map(|call| format!("{place}/{number}-{call}.txt")).collect();
        let mut rule = None;
        if act == Act::RevokeRule {
            rule = Some(self.add_rule("allow", place).await?);
        }
        let mut held = (runs == Runs::Remotely).then(|| self.relay.hold(&format!("/{}", files[2])));
        work.edit(&self.person, &files).await?;
        if act == Act::RevokeGrant {
            rule = Some(work.grant(&self.person, place).await?);
        }
        work.until_edited(&files[0]).await?;
        let first = Instant::now();
        work.until_edited(&files[1]).await?;
        match &mut held {
            Some(held) => held.arrived().await?,
            // At any moment while the calls are made, if each takes as long as the one before.
            None => sleep(first.elapsed().mul_f64(rand::random_range(0.0..RACED as f64))).await,
        }

        let session = &work.session;
        match (act, rule.take()) {
            (Act::Stop, _) => work.stop(&self.person).await?,
            (Act::RevokeGrant, Some(grant)) => self.revoke(&grant, &format!("?session={session}")).await?,
            (Act::RevokeRule, Some(allow)) => self.revoke(&allow, "").await?,
            (Act::AddRule, _) => rule = Some(self.add_rule("deny", place).await?),
            (Act::RevokeGrant | Act::RevokeRule, None) => return Err("there is nothing to revoke".into()),
        }
        let head = work.events(&self.person).await?.head;
        drop(held);

        let events = work.end(&self.person, usize::from(act == Act::RevokeGrant)).await?;
        if let Some(deny) = rule {
            self.revoke(&deny, "").await?;
        }
        let is_act = |event: &&Event| match act {
            Act::Stop => matches!(&event.body, EventBody::SessionStatus(status) if status.by.is_some()),
            Act::RevokeGrant => matches!(event.body, EventBody::GrantRevoked(_)),
            Act::RevokeRule | Act::AddRule => false,
        };
        // The journal of the owner has no order with the session's: what is there after the reply counts as before it.
        let last = events.iter().find(is_act).map_or(head, |event| event.seq);
        let in_time = |file: &str| events.iter().any(|event| event.seq <= last && allows(event, file));
        // No call that was held can be allowed in time.
        let late = files[2..].iter().filter(|file| runs == Runs::Remotely || !in_time(file));
        let too_late = late.map(|file| work.folder.join(file)).collect();
        let end = events.last().ok_or("there is no event")?.seq;
        let round = Round { act, runs, in_turn: last < end, too_late };
        let work = if runs == Runs::Remotely { &mut self.remote } else { &mut self.own };
        work.read = end;
        Ok(round)
    }

    /// Makes so many calls on the remote runner, and returns when all had their effect.
    pub(super) async fn allowed(&self, calls: usize) -> Result<()> {
        let files: Vec<_> = (0..calls).map(|call| format!("{ALWAYS}/allowed-{call}.txt")).collect();
        self.remote.edit(&self.person, &files).await?;
        for file in &files {
            self.remote.until_edited(file).await?;
        }
        Ok(())
    }

    /// Waits until the last turn on the remote runner is over, and reads on behind it.
    pub(super) async fn rest(&mut self) -> Result<()> {
        let events = self.remote.end(&self.person, 0).await?;
        self.remote.read = events.last().ok_or("there is no event")?.seq;
        Ok(())
    }
}

/// Makes a token for a person or a runner of this owner.
async fn token(
    gateway: &GatewayProcess,
    database: &Database,
    owner: &str,
    name: &str,
    role: &str,
) -> Result<String> {
    let mut command = gateway.command_here("token")?;
    command.arg("--dir").arg(gateway.folder()).args([
        "--store",
        &database.url(),
        "--name",
        name,
        "--role",
        role,
    ]);
    let output = command.env("HOLDSTEAD_OWNER", owner).output().await?;
    ensure!(output.status.success(), "`holdstead token` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
