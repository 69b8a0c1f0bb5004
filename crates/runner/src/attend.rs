//! A runner's side of its connection to the gateway that speaks for its agents.

use std::sync::Arc;

use holdstead_protocol::{AgentSeq, SessionId};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use uuid::Uuid;

use crate::afar::Ended;
use crate::runner::{Life, Runner};
use crate::running::{Running, Snapshot, Tell};
use crate::wire::{self, Answer, FromRunner, HEARTBEAT, Question, SILENCE, ToRunner, VERSION, Wire};

impl Runner {
    /// Serves one gateway until the connection ends. Agents go on after that, and what they say is kept.
    ///
    /// `gateway` is where this machine reaches it: agents find the gateway's tools there.
    pub async fn attend(
        self: &Arc<Self>,
        instance: Uuid,
        gateway: &str,
        mut wire: Wire,
        welcomed: impl Fn(&str),
    ) -> Ended {
        let (frames, mut to_send) = mpsc::unbounded_channel();
        let mut lives = JoinSet::new();
        let hello = FromRunner::Hello { version: VERSION, instance, agents: self.agents() };
        drop(frames.send(hello));
        for snapshot in self.snapshots() {
            show(snapshot, &frames);
        }
        drop(frames.send(FromRunner::Ready));
        self.terminals().show_again();
        let mut beat = interval(HEARTBEAT);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                _ = beat.tick() => {
                    if heard.elapsed() > SILENCE {
                        return Ended::Silent;
                    }
                    drop(frames.send(FromRunner::Alive));
                }
                Some(frame) = to_send.recv() => {
                    match serde_json::to_string(&frame) {
                        Ok(text) => if wire.send.send(text).is_err() {
                            return Ended::Gone;
                        },
                        Err(error) => tracing::error!(%error, "something cannot be written for the gateway"),
                    }
                    if let FromRunner::Life(shown) = frame
                        && let Some(running) = self.running(shown.session, shown.incarnation)
                    {
                        lives.spawn(pass_on(running, shown.session, shown.last(), frames.clone()));
                    }
                }
                appeared = self.appears() => drop(frames.send(FromRunner::Appeared(appeared))),
                // One that ended has nothing more to pass on.
                Some(_) = lives.join_next() => {}
                text = wire.receive.recv() => {
                    let Some(text) = text else { return Ended::Gone };
                    heard = Instant::now();
                    match wire::read(&text) {
                        Ok(ToRunner::Refused { why }) => return Ended::Refused(why),
                        Ok(ToRunner::Welcome { name }) => welcomed(&name),
                        Ok(frame) => self.take(frame, gateway, &frames),
                        Err(error) => return Ended::Confused(error.to_string()),
                    }
                }
            }
        }
    }

    fn take(self: &Arc<Self>, frame: ToRunner, gateway: &str, frames: &mpsc::UnboundedSender<FromRunner>) {
        match frame {
            ToRunner::Ask { id, mut question } => {
                let (runner, frames) = (Arc::clone(self), frames.clone());
                if let Question::Start(start) = &mut *question
                    && let Some(tools) = &mut start.launch.tool_server
                {
                    tools.url = reached_at(&tools.url, gateway);
                }
                // Not one of those that end with the connection: what is being started is started.
                tokio::spawn(answer(runner, id, *question, frames));
            }
            ToRunner::Tell { session, incarnation, tell } => {
                if let Some(running) = self.running(session, incarnation) {
                    running.tell(*tell);
                }
            }
            ToRunner::Forget { session, incarnation } => {
                if let Some(running) = self.running(session, incarnation) {
                    // Dead by now, or nobody wants it.
                    running.tell(Tell::Kill { why: holdstead_core::EndedBy::Itself });
                }
                self.forget(session, incarnation);
            }
            ToRunner::Welcome { .. } | ToRunner::Refused { .. } | ToRunner::Alive => {}
        }
    }
}

/// The gateway's own address is one of its machine; from here it has another.
fn reached_at(url: &str, gateway: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    format!("{}{path}", gateway.trim_end_matches('/'))
}

async fn answer(runner: Arc<Runner>, id: u64, question: Question, frames: mpsc::UnboundedSender<FromRunner>) {
    let session = match &question {
        Question::Start(start) => Some(start.session),
        Question::Folder { .. }
        | Question::Files { .. }
        | Question::Ground { .. }
        | Question::LookUp { .. }
        | Question::End { .. }
        | Question::Copies
        | Question::Discard { .. } => None,
    };
    let answer = runner.answer(question).await;
    if let (Answer::Started, Some(session)) = (&answer, session)
        && let Some(Life::Running(running)) = runner.find(session)
    {
        // Shown before the answer, so that whoever waits for that finds it.
        show(running.snapshot(session), &frames);
    }
    // If the gateway is gone, it sees what came of it when it is back.
    drop(frames.send(FromRunner::Answer { id, answer }));
}

/// If nobody reads it any more, the end of the connection follows.
fn show(mut snapshot: Snapshot, frames: &mpsc::UnboundedSender<FromRunner>) {
    let (session, incarnation) = (snapshot.session, snapshot.incarnation);
    for word in snapshot.take_words() {
        drop(frames.send(FromRunner::Kept { session, incarnation, word: Box::new(word) }));
    }
    drop(frames.send(FromRunner::Life(Box::new(snapshot))));
}

/// Passes on what one agent says, as long as there is room for it, and what it was handed.
async fn pass_on(
    running: Arc<Running>,
    session: SessionId,
    mut last: AgentSeq,
    frames: mpsc::UnboundedSender<FromRunner>,
) {
    let incarnation = running.incarnation;
    loop {
        let listen = async {
            running.said().room().await;
            running.says(last).await
        };
        let frame = tokio::select! {
            settlements = running.written() => FromRunner::Written { session, incarnation, settlements },
            said = listen => {
                last = said.number;
                FromRunner::Said { session, incarnation, said: Box::new(said) }
            }
        };
        if frames.send(frame).is_err() {
            return;
        }
    }
}
