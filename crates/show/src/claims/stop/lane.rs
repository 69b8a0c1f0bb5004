//! One owner with two sessions, one on each runner, and the rounds that are played in them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdstead_protocol::api::{EventPage, SavedRule};
use holdstead_protocol::{Event, EventBody, ResponseDraft, Scope, Seq, Told};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::sleep;

use super::Act;
use crate::client::Client;
use crate::database::Database;
use crate::gateway_process::GatewayProcess;
use crate::relay::Relay;
use crate::waiting::until;
use crate::{Result, ensure, runner_process};

const BEFORE: &str = "before\n";
const AFTER: &str = "after\n";
/// The gateway's own runner has this name.
const OWN: &str = "gateway";
/// Where a rule of the owner's allows edits, all the time.
const ALWAYS: &str = "always";
/// Where a grant for the session allows them, until it is revoked.
const GRANTED: &str = "granted";
/// Where a rule of the owner's allows them, until it is revoked.
const RULED: &str = "ruled";
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

#[derive(Debug)]
struct Work {
    session: String,
    folder: PathBuf,
    /// Up to here its journal was read.
    read: Seq,
}

pub(super) fn is_edited(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text == AFTER)
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
        let rule = match act {
            Act::RevokeRule => Some(self.add_rule("allow", place).await?),
            Act::Stop | Act::RevokeGrant | Act::AddRule => None,
        };
        let mut held = (runs == Runs::Remotely).then(|| self.relay.hold(&format!("/{}", files[2])));
        work.edit(&self.person, &files).await?;
        let rule = match act {
            Act::RevokeGrant => Some(work.grant(&self.person, place).await?),
            Act::Stop | Act::RevokeRule | Act::AddRule => rule,
        };
        work.until_edited(&files[0]).await?;
        let first = Instant::now();
        work.until_edited(&files[1]).await?;
        match &mut held {
            Some(held) => held.arrived().await?,
            // At any moment while the calls are made, if each takes as long as the one before.
            None => sleep(first.elapsed().mul_f64(rand::random_range(0.0..RACED as f64))).await,
        }

        let session = &work.session;
        let mut added = None;
        match (act, &rule) {
            (Act::RevokeGrant, Some(rule)) => self.revoke(rule, &format!("?session={session}")).await?,
            (Act::RevokeRule, Some(rule)) => self.revoke(rule, "").await?,
            (Act::AddRule, _) => added = Some(self.add_rule("deny", place).await?),
            (Act::Stop | Act::RevokeGrant | Act::RevokeRule, _) => work.stop(&self.person).await?,
        }
        let head = work.events(&self.person).await?.head;
        drop(held);

        let answered = usize::from(act == Act::RevokeGrant);
        let events = work.end(&self.person, answered).await?;
        if let Some(rule) = added {
            self.revoke(&rule, "").await?;
        }
        let is_act = |event: &&Event| match act {
            Act::Stop => matches!(&event.body, EventBody::SessionStatus(status) if status.by.is_some()),
            Act::RevokeGrant => matches!(event.body, EventBody::GrantRevoked(_)),
            Act::RevokeRule | Act::AddRule => false,
        };
        // The journal of the owner has no order with the session's: what is there after the reply counts as before it.
        let last = events.iter().find(is_act).map_or(head, |event| event.seq);
        let allowed: Vec<_> =
            events.iter().filter(|event| runs == Runs::InGateway && event.seq <= last).collect();
        let in_time = |file: &&String| allowed.iter().any(|event| allows(event, file));
        let end = events.last().ok_or("there is no event")?.seq;
        let round = Round {
            act,
            runs,
            in_turn: last < end,
            too_late: files[2..]
                .iter()
                .filter(|file| !in_time(file))
                .map(|file| work.folder.join(file))
                .collect(),
        };
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

impl Work {
    async fn open(person: &Client, folder: PathBuf, runner: &str) -> Result<Self> {
        for place in [ALWAYS, GRANTED, RULED] {
            std::fs::create_dir_all(folder.join(place))?;
        }
        let open = json!({ "agent": "scripted", "cwd": folder, "runner": runner });
        let opened: Value = person.post("/v1/sessions", &open).await?;
        let session = opened["sessionId"].as_str().ok_or("the session has no id")?.to_owned();
        person.say(&session, "say ready").await?;
        let read = person.done(&session).await?.last().map_or(Seq::START, |event| event.seq);
        Ok(Self { session, folder, read })
    }

    /// Has the agent edit these files, one after the other.
    async fn edit(&self, person: &Client, files: &[String]) -> Result<()> {
        let mut script = String::new();
        for file in files {
            std::fs::write(self.folder.join(file), BEFORE)?;
            script.push_str(&format!("edit {file}\n-{BEFORE}+{AFTER}end\n"));
        }
        person.say(&self.session, &script).await
    }

    /// Approves the first call, and with it all that are like it in this session.
    async fn grant(&self, person: &Client, place: &str) -> Result<SavedRule> {
        let ask = person.open_ask(&self.session, "approval").await?;
        let lines = vec![format!("allow Edit({place}/**)")];
        let approve = ResponseDraft::Approve { scope: Some(Scope::Session), lines, edited_input: None };
        person.win(&ask, approve).await?;
        let events = self.events(person).await?.events;
        let granted = |event: &Event| {
            if let EventBody::GrantAdded(added) = &event.body { Some(added.grant.grant_id) } else { None }
        };
        Ok(SavedRule { grant_id: events.iter().find_map(granted).ok_or("no grant was saved")? })
    }

    async fn stop(&self, person: &Client) -> Result<()> {
        let _stopped: Value =
            person.post(&format!("/v1/sessions/{}/interrupt", self.session), &json!({})).await?;
        Ok(())
    }

    /// Looks more often than others do: the act must come while the next calls are made.
    async fn until_edited(&self, file: &str) -> Result<()> {
        for _ in 0..30_000 {
            if is_edited(&self.folder.join(file)) {
                return Ok(());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Err(format!("{file} was not edited, although a rule allows it").into())
    }

    async fn events(&self, person: &Client) -> Result<EventPage> {
        person.get(&format!("/v1/sessions/{}/events?after={}&limit=1000", self.session, self.read)).await
    }

    /// The events up to the end of the turn. A person who is asked meanwhile, but for the asks that were answered, stops it.
    async fn end(&self, person: &Client, answered: usize) -> Result<Vec<Event>> {
        let mut stopped = false;
        until("the turn ends", async || {
            let events = self.events(person).await?.events;
            let of = |is: fn(&EventBody) -> bool| events.iter().filter(|event| is(&event.body)).count();
            if of(|body| matches!(body, EventBody::InteractionRequest(_))) > answered && !stopped {
                stopped = true;
                self.stop(person).await?;
            }
            Ok((of(|body| matches!(body, EventBody::Done(_))) > 0).then_some(events))
        })
        .await
    }
}

/// Whether this event makes durable that the edit of this file is allowed.
fn allows(event: &Event, file: &str) -> bool {
    let EventBody::ToolCallEnd(call) = &event.body else { return false };
    call.input["file_path"] == file
        && call.decision.as_ref().is_some_and(|decision| decision.told == Told::Allowed)
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
