//! Plays one cell: up to its step, the kill, and on to the end of the turn.

use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::api::{Interaction, InteractionPage};
use holdstead_protocol::transport::{EventFeed, Transport as _};
use holdstead_protocol::{AskState, Delivery, Event, EventBody, Seq, StopReason};
use holdstead_scripted_model::{Part, Script, Told, call, say};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Cell, Kind, Step, Victim};
use crate::claude::{MARKS, Scene, Stage, question};
use crate::gateway_process::kill;
use crate::processes::{self, Process, signal};
use crate::responses::{APPROVE, submit};
use crate::{Result, ensure};

const NAME: &str = "cell";
const AFTER: &str = "after";
const GATE: &str = "thinking";
/// How often the model makes its call before it gives up.
const TRIES: usize = 6;
/// The program writes its conversation down a little later than it speaks.
const SETTLED: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(60);

/// All that was seen of a cell.
#[derive(Debug)]
pub(super) struct History {
    /// The ask as it was just after the kill, if there was one.
    pub(super) at_death: Option<Interaction>,
    /// And at the end.
    pub(super) at_end: Option<Interaction>,
    pub(super) journal: Vec<Event>,
    /// How the turn ended.
    pub(super) end: StopReason,
    /// In the order in which the model was told it.
    pub(super) told: Vec<Told>,
    /// What a person approved.
    pub(super) approvals: usize,
    /// How often the command ran before a person had approved it.
    pub(super) ran_unasked: usize,
    pub(super) ran: usize,
    /// What the model was told after the next message.
    pub(super) told_after: Vec<Told>,
}

struct Player {
    cell: Cell,
    stage: Stage,
    scene: Scene,
    feed: Box<dyn EventFeed>,
    approvals: usize,
}

pub(super) async fn play(cell: Cell) -> Result<History> {
    let hold = if cell.step == Step::Answered { "0s" } else { "10m" };
    let stage = Stage::new(hold).await?;
    let scene = stage.play(NAME, "default", script(cell)).await?;
    let client = Http::new(stage.gateway.url.clone(), stage.gateway.own_token()?);
    let feed = client.subscribe(scene.session.parse()?, Seq::START).await?;
    let mut player = Player { cell, stage, scene, feed, approvals: 0 };
    player.up_to_the_step().await?;
    player.kill().await?;
    let at_death = player.asks().await?.into_iter().next();
    let ran_unasked = if player.approvals == 0 { player.ran() } else { 0 };
    let end = player.finish_the_turn().await?;
    let Player { stage, scene, .. } = &player;
    let at_end = match &at_death {
        Some(ask) => Some(stage.now(ask).await?),
        None => None,
    };
    let journal = stage.person.journal(&scene.session).await?;
    let told = stage.told(NAME);
    stage.send(scene, AFTER, Script::new().reply([say("I am here.")])).await?;
    let turns = 1 + journal.iter().filter(|event| matches!(event.body, EventBody::Done(_))).count();
    stage.person.turns(&scene.session, turns).await?;
    let told_after = stage.told(AFTER);
    ensure!(stage.model.requests(AFTER) > 0, "the next message did not reach the model");
    let (ran, approvals) = (player.ran(), player.approvals);
    player.stage.stop().await?;
    Ok(History { at_death, at_end, journal, end, told, approvals, ran_unasked, ran, told_after })
}

impl Kind {
    /// What the model is told when it has the answer.
    pub(super) const fn answer(self) -> &'static str {
        match self {
            Self::Question => "Teal",
            Self::Approval => "it ran",
        }
    }
}

fn script(cell: Cell) -> Script {
    let answer = cell.kind.answer();
    let call = match cell.kind {
        Kind::Question => question("Which colour?", [answer, "Amber"]),
        Kind::Approval => {
            let while_it_runs = if cell.step == Step::Running { "sleep 3; " } else { "" };
            let command = format!("echo mark >> {MARKS}; {while_it_runs}echo {answer}");
            call("Bash", json!({"command": command, "description": "Leaves a mark"}))
        }
    };
    let reply = || [say("Let me see."), call.clone()];
    if cell.step == Step::Acknowledged {
        return Script::new().reply(reply()).reply([say("Hm."), Part::Hold(GATE.to_owned())]);
    }
    (0..TRIES).fold(Script::new(), |script, _| script.reply(reply())).until(answer)
}

impl Player {
    async fn up_to_the_step(&mut self) -> Result<()> {
        if self.cell.step == Step::Announced {
            return self.until(|event| matches!(event, EventBody::ToolCallStart(_))).await;
        }
        self.until(|event| matches!(event, EventBody::InteractionRequest(_))).await?;
        if self.cell.step == Step::Shown {
            return Ok(());
        }
        sleep(SETTLED).await;
        let ask = self.asks().await?.into_iter().next().ok_or("the ask is gone")?;
        match self.cell.step {
            Step::Announced | Step::Shown | Step::Open => Ok(()),
            Step::Answered => {
                self.stage.until_parked(&self.scene).await?;
                self.answer(&ask).await?;
                // The process that will be told is there; it takes a second to come to its call.
                self.until(|event| matches!(event, EventBody::InteractionResponse(_))).await?;
                self.until(|event| matches!(event, EventBody::SessionStatus(status) if status.pid.is_some()))
                    .await
            }
            Step::Delivering => {
                let agent = self.agent().await?;
                signal("-STOP", &below(&processes::with_home(self.stage.home())?, agent))?;
                self.answer(&ask).await?;
                self.until_delivery(|delivery| matches!(delivery, Delivery::Delivered { .. })).await
            }
            Step::Running => {
                self.answer(&ask).await?;
                let deadline = Instant::now() + PATIENCE;
                while self.ran() == 0 {
                    ensure!(Instant::now() < deadline, "the command does not run");
                    sleep(SETTLED / 10).await;
                }
                Ok(())
            }
            Step::Acknowledged => {
                self.answer(&ask).await?;
                self.until_delivery(|delivery| *delivery == Delivery::Acknowledged).await?;
                tokio::time::timeout(PATIENCE, self.stage.model.held(GATE)).await?;
                sleep(SETTLED).await;
                Ok(())
            }
        }
    }

    async fn until(&mut self, wanted: impl Fn(&EventBody) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let next = timeout_at(deadline, self.feed.next()).await;
            let event = next.map_err(|_| "the step did not come")??.ok_or("the stream ended")?;
            if wanted(&event.body) {
                return Ok(());
            }
        }
    }

    async fn until_delivery(&mut self, wanted: impl Fn(&Delivery) -> bool) -> Result<()> {
        self.until(|event| {
            let EventBody::InteractionUpdate(update) = event else { return false };
            matches!(&update.change, holdstead_protocol::AskChange::Delivery { delivery } if wanted(delivery))
        })
        .await
    }

    /// The program itself: what the host of its gateway started.
    async fn agent(&self) -> Result<u32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let all = processes::with_home(self.stage.home())?;
            let started_by = |parent: Option<u32>| all.iter().find(|process| Some(process.parent) == parent);
            let host = started_by(self.stage.gateway.pid());
            if let Some(agent) = host.and_then(|host| started_by(Some(host.pid))) {
                return Ok(agent.pid);
            }
            ensure!(Instant::now() < deadline, "there is no agent");
            sleep(Duration::from_millis(1)).await;
        }
    }

    async fn kill(&mut self) -> Result<()> {
        match self.cell.victim {
            Victim::Gateway => self.stage.gateway.kill_now().await?,
            Victim::Agent => {
                kill(self.agent().await?).await?;
                // The gateway notices; no answer comes in that very moment.
                sleep(SETTLED).await;
                return Ok(());
            }
            Victim::Both => {
                let gateway = self.stage.gateway.pid().ok_or("there is no gateway")?;
                // The agent first: it dies with its gateway, and then there would be nothing to kill.
                signal("-KILL", &[self.agent().await?, gateway])?;
                self.stage.gateway.kill_now().await?;
            }
        }
        self.stage.gateway.serve_again().await?;
        self.stage.person.ready().await
    }

    /// Answers what is open until the turn is over, and says how it ended.
    async fn finish_the_turn(&mut self) -> Result<StopReason> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let events = self.stage.person.journal(&self.scene.session).await?;
            let end = events.iter().find_map(|event| {
                if let EventBody::Done(done) = &event.body { Some(done.reason) } else { None }
            });
            if let Some(end) = end {
                return Ok(end);
            }
            ensure!(
                Instant::now() < deadline,
                "the turn does not end: {:?}",
                events.iter().map(|event| event.body.event_type().as_str()).collect::<Vec<_>>()
            );
            for ask in self.asks().await? {
                if ask.state == AskState::Open {
                    self.answer(&ask).await?;
                }
            }
            sleep(SETTLED / 5).await;
        }
    }

    async fn answer(&mut self, ask: &Interaction) -> Result<()> {
        let draft = match self.cell.kind {
            Kind::Question => submit(&json!({ "q1": self.cell.kind.answer() })),
            Kind::Approval => {
                self.approvals += 1;
                ensure!(self.approvals <= TRIES, "it asks again and again");
                APPROVE
            }
        };
        self.stage.person.win(ask, draft).await?;
        Ok(())
    }

    /// All asks of the session, oldest first.
    async fn asks(&self) -> Result<Vec<Interaction>> {
        let path = format!("/v1/interactions?state=all&session={}", self.scene.session);
        let mut page: InteractionPage = self.stage.person.get(&path).await?;
        page.interactions.sort_by_key(|ask| ask.opened_at);
        Ok(page.interactions)
    }

    fn ran(&self) -> usize {
        self.scene.marks().lines().count()
    }
}

/// A process and all that it started: between the host and the program stands its box.
fn below(all: &[Process], pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        next += 1;
    }
    found
}
