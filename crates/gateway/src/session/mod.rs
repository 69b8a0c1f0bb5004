//! One task per session that has something to do: it hosts the agent's process.
//!
//! The task is told that something changed, reads the journal, and acts on what it finds there. It never trusts
//! what it was told; it could be started again at any moment and would do the same.

mod asks;
mod calls;
mod deltas;
mod handle;
mod holds;
mod journal;
mod left;
mod lifecycle;
mod listen;
mod loss;
mod process;
mod start;
mod stopping;
mod trouble;
mod words;

use std::sync::Arc;

use holdstead_agents::{AgentEvent, Reasks};
use holdstead_core::{
    Ask, CALLER, Command, EndedBy, FailedTurn, Fence, Head, Hosted, Hosting, ProcessHere, Rejection, Step,
    next_step,
};
use holdstead_protocol::{Incarnation, Seq, SessionId};
use holdstead_runner::{Life, Runner, Tell};
use holdstead_store::{Appended, SessionRecord};
use tokio::time::Instant;

use crate::copies::is_over;
use crate::policy::RulesRead;
use crate::runners::Attached;
use crate::{Gateway, GatewayError};
use deltas::Deltas;
pub(crate) use handle::SessionHandle;
use handle::Woken;
use holds::Holds;
use process::{Heard, Process};
use start::Untold;
pub(crate) use stopping::PARKING_AT_STOP;
use trouble::Trouble;
use words::Words;

#[derive(Debug)]
pub(crate) struct SessionTask {
    gateway: Gateway,
    session: SessionId,
    /// The machine that has its agent.
    runner: Arc<Runner>,
    handle: SessionHandle,
    process: Option<Process>,
    /// The session as it was last seen.
    known: Option<SessionRecord>,
    /// The rules as they were last read, until an append says that they changed.
    rules: Option<RulesRead>,
    /// The process that lived when the journal was last seen, and how many had.
    lives: (Option<Incarnation>, u32),
    deltas: Deltas,
    words: Words,
    holds: Holds,
    /// What the process brought about and the store did not take: done again before anything else, so that nothing of
    /// the agent's is lost or overtaken.
    unfinished: Option<Heard>,
    trouble: Trouble,
    /// The life of which the journal lacks something, since that was told.
    lacking: Option<Incarnation>,
    fruitless_starts: u32,
}

impl SessionTask {
    pub(crate) fn new(
        gateway: Gateway,
        session: SessionId,
        attached: Arc<Attached>,
    ) -> (Self, SessionHandle) {
        let runner = Arc::clone(&attached.runner);
        let handle = SessionHandle::new(attached);
        let task = Self {
            gateway,
            session,
            runner,
            handle: handle.clone(),
            process: None,
            known: None,
            rules: None,
            lives: (None, 0),
            deltas: Deltas::default(),
            words: Words::default(),
            holds: Holds::default(),
            unfinished: None,
            trouble: Trouble::default(),
            lacking: None,
            fruitless_starts: 0,
        };
        (task, handle)
    }

    pub(crate) async fn run(mut self) {
        let shutdown = self.gateway.shutdown_token();
        while !shutdown.is_cancelled() {
            let patience = self.process.as_ref().and_then(Process::patience_ends);
            let idle = self.process.as_ref().and_then(Process::idle_ends);
            if let Some(rested) = self.trouble.resting_until() {
                self.handle.is_taken_up();
                tokio::select! {
                    () = shutdown.cancelled() => {}
                    // Somebody appended something, so the store is back.
                    () = self.handle.told() => self.trouble.rested(),
                    () = tokio::time::sleep_until(rested) => {}
                    () = sleep_until(patience) => self.kill(EndedBy::Itself),
                }
                continue;
            }
            if self.catch_up().await {
                continue;
            }
            self.handle.is_taken_up();
            if self.process.is_none()
                && self.lacking.is_none()
                && self.words.is_empty()
                && self.gateway.retire(self.session, &self.handle)
            {
                return;
            }
            let listening = !self.words.is_full() && !self.deltas.is_full();
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.handle.told() => {}
                heard = Process::next(self.process.as_mut(), listening) => self.heard(heard).await,
                appended = self.words.written() => {
                    let result = self.words_written(appended);
                    self.tried(result);
                }
                () = sleep_until(self.deltas.due()) => self.write_gathered(),
                () = sleep_until(self.holds.due()) => self.hold_ran_out().await,
                () = sleep_until(patience) => self.kill(EndedBy::Itself),
                () = sleep_until(idle) => self.handle.wake(),
            }
        }
        self.go_away().await;
    }

    /// Does what waits to be done. Says whether there was anything.
    async fn catch_up(&mut self) -> bool {
        if let Some(heard) = self.unfinished.take() {
            self.heard(heard).await;
        } else {
            match self.handle.take_wake() {
                Woken::No => {
                    self.write_words();
                    return false;
                }
                Woken::Look => self.look_again(None).await,
                Woken::At(seq, head) => self.look_again(Some((seq, *head))).await,
            }
        }
        true
    }

    /// The gateway is going away. What was said is kept; the process goes, parked if it can be; asks stay open. What the
    /// store does not take now is found by the gateway that starts next.
    async fn go_away(mut self) {
        if !self.runner.is_here() {
            // Its agent goes on without us, and what it says is kept there, until whoever speaks for it next has written it.
            self.process = None;
            self.deltas = Deltas::default();
            self.words = Words::default();
        }
        self.park_at_stop().await;
        self.kill(EndedBy::GatewayStopping);
        // One that was only just started goes, too: the next gateway sees that it is gone.
        if self.process.is_none()
            && self.runner.is_here()
            && let Some(Life::Running(running)) = self.runner.find(self.session)
        {
            running.tell(Tell::Kill { why: EndedBy::GatewayStopping });
            self.runner.forget(self.session, running.incarnation);
        }
        while self.process.is_some() {
            let heard = match self.unfinished.take() {
                Some(heard) => heard,
                None => Process::next(self.process.as_mut(), true).await,
            };
            let last = matches!(&heard, Heard::Said(said) if matches!(*said.event, AgentEvent::Exited(_)));
            if let Err(error) = self.take_in(&heard).await {
                tracing::error!(session = %self.session, %error, "the end of an agent could not be kept whole");
            }
            if last {
                break;
            }
        }
        if let Err(error) = self.keep_words().await {
            tracing::error!(session = %self.session, %error, "the agent's last words could not be kept");
        }
    }

    /// Does what the journal asks for. If that fails it is not forgotten.
    async fn look_again(&mut self, told: Option<(Seq, Head)>) {
        let result = self.advance(told).await;
        if !self.tried(result) {
            self.handle.keep_awake();
        }
    }

    async fn advance(&mut self, told: Option<(Seq, Head)>) -> Result<(), GatewayError> {
        let Some(record) = self.seen(told).await? else { return Ok(()) };
        let record = self.attach(record).await?;
        if self.process.is_none() && is_over(&record) {
            // A machine that is away is asked when it is back.
            drop(self.runner.discard(vec![self.session]).await);
        }
        self.retell_orphaned_answers(&record.state).await?;
        let untold = self.untold(&record.state).await?;
        let first_message = self.first_message(&record.state).await?;
        let (ids, asks): (Vec<_>, Vec<_>) = untold.into_iter().unzip();
        let step = next_step(&record.state, &self.hosting(&record, first_message.is_some(), &asks));
        match step {
            Step::Nothing => {
                if let Some(process) = self.process.as_mut().filter(|process| process.is_idle()) {
                    process.keep_idle();
                }
                Ok(())
            }
            // Its end wakes us again.
            Step::Kill => {
                self.kill(EndedBy::Itself);
                Ok(())
            }
            Step::LetGo => {
                self.kill(EndedBy::LetGo);
                Ok(())
            }
            Step::Stop => {
                if let Some(process) = &mut self.process {
                    process.stop_turn();
                }
                // Its asks are closed by now, and it waits for others.
                self.handle.wake();
                Ok(())
            }
            Step::SeeGone { incarnation, pid } => self.see_gone(incarnation, pid).await,
            Step::Attend => {
                self.tell_of_loss().await?;
                self.resolve_asks(&record.state).await?;
                self.go_on_parking(&record.state);
                self.park_overdue().await
            }
            Step::Begin(next) => self.begin(next).await,
            Step::SayBegun => self.say_begun(&record.state).await,
            Step::Start(at) => self.start(record, at, Untold { first_message, asks: ids }).await,
            Step::FailTurn { turn_id, why } => self.fail_turn(turn_id, why).await,
            Step::GiveUpStarting => {
                self.fruitless_starts = 0;
                self.say_error(FailedTurn::NeverTookIt.words().to_owned());
                Ok(())
            }
        }
    }

    /// The session as it is. While its agent runs, what an append came to is as good as reading it again.
    async fn seen(&mut self, told: Option<(Seq, Head)>) -> Result<Option<SessionRecord>, GatewayError> {
        if let (Some(known), Some((head, state)), Some(_)) = (&mut self.known, told, &self.process)
            && known.head < head
        {
            (known.head, known.state) = (head, state);
        } else {
            self.known = self.gateway.inner.journal.session(self.session).await?;
        }
        Ok(self.known.clone())
    }

    /// What only we know, for the next step.
    fn hosting<'a>(&self, record: &SessionRecord, first_message: bool, untold: &'a [Ask]) -> Hosting<'a> {
        let process = match &self.process {
            None if self.runner.find(self.session).is_some() => ProcessHere::Starting,
            None => ProcessHere::None,
            Some(process) if process.is_leaving() => ProcessHere::Leaving,
            Some(Process { turn: Some(_), stop_by: Some(_), .. }) => ProcessHere::Stopping,
            Some(Process { turn: Some(_), .. }) => ProcessHere::InTurn,
            Some(Process { running, .. })
                if record.state.turn.is_some() && running.turn() != record.state.turn =>
            {
                ProcessHere::Untold
            }
            Some(process) if process.is_idle() => ProcessHere::Idle,
            Some(_) => ProcessHere::Free,
        };
        let terminal = record.opened.terminal.is_some();
        let agent = match self.gateway.driver(&record.opened.agent).map(|driver| driver.capabilities().reasks)
        {
            _ if record.opened.agent == CALLER => Hosted::Nobody,
            _ if terminal => Hosted::InTerminal(self.runner.terminal(self.session)),
            Ok(Reasks::Parked) => Hosted::ReasksParked,
            // One that this gateway does not know fails to start, and says so.
            Ok(Reasks::Any) | Err(_) => Hosted::ReasksAll,
        };
        let (forgotten, fruitless_starts) = (record.state.forgotten, self.fruitless_starts);
        Hosting { agent, process, forgotten, fruitless_starts, first_message, untold }
    }

    /// The person who stops the turn, as the session was last seen.
    fn stopped_by(&self) -> Option<String> {
        self.known.as_ref().and_then(|known| known.state.stopped_by.clone())
    }

    /// The agent's own name for its conversation, if that is in a person's own terminal.
    fn terminal(&self) -> Option<&str> {
        self.known.as_ref().and_then(|known| known.opened.terminal.as_deref())
    }

    /// Ends the process. What it managed to say, and then its end, are heard as usual.
    fn kill(&self, why: EndedBy) {
        if let Some(process) = &self.process {
            process.kill(why);
        }
    }

    async fn heard(&mut self, heard: Heard) {
        let result = self.take_in(&heard).await;
        if !self.tried(result) {
            self.unfinished = Some(heard);
        }
    }

    /// Must bear being done again with what it did before it failed.
    async fn take_in(&mut self, heard: &Heard) -> Result<(), GatewayError> {
        match heard {
            Heard::Said(said) => {
                if let Some(process) = &mut self.process {
                    process.takes_in(said);
                }
                self.agent_said(said).await
            }
            Heard::Written(settlements) => {
                self.written(settlements);
                Ok(())
            }
        }
    }

    /// Says whether this is over with, one way or the other.
    fn tried(&mut self, result: Result<(), GatewayError>) -> bool {
        match result {
            Ok(()) => {
                self.trouble.is_over();
                true
            }
            Err(error) => !self.must_repeat(&error),
        }
    }

    /// Appends. A refusal is an answer too: somebody was faster, or it cannot be any more.
    async fn unless_refused(&mut self, command: Command) -> Result<Option<Appended>, GatewayError> {
        Ok(self.append_or_refusal(command).await?.ok())
    }

    /// The same, with the reason of a refusal.
    async fn append_or_refusal(
        &mut self,
        command: Command,
    ) -> Result<Result<Appended, Rejection>, GatewayError> {
        match self.gateway.append(self.session, command).await {
            Ok(appended) => {
                self.knows(&appended.session.head);
                Ok(Ok(appended))
            }
            Err(GatewayError::Rejected(rejection)) => {
                tracing::debug!(session = %self.session, %rejection, "not now");
                self.is_refused(&rejection);
                Ok(Err(rejection))
            }
            Err(error) => Err(error),
        }
    }

    /// Appends what follows from what the agent says now, behind all that it said before.
    async fn take(&mut self, command: Command) -> Result<Option<Appended>, GatewayError> {
        self.keep_words().await?;
        let Some(fence) = self.process.as_ref().map(Process::heard_now) else { return Ok(None) };
        self.unless_refused(command.fenced(fence)).await
    }

    /// For what does not follow from anything that the agent said.
    fn beside_agent(&self) -> Fence {
        match (self.process.as_ref().map(|process| process.incarnation).or(self.lives.0), self.lives.1) {
            (Some(incarnation), _) => Fence::Alive { incarnation },
            (None, lives) => Fence::NoProcess { lives },
        }
    }

    /// The journal stands like this.
    fn knows(&mut self, head: &Head) {
        if head.incarnations >= self.lives.1 {
            self.lives = (head.alive, head.incarnations);
        }
        if let Some(process) = &mut self.process {
            process.is_heard(head);
        }
    }

    /// If the journal is not as we believed, somebody else speaks for this session, too: what we know is made anew.
    fn is_refused(&mut self, rejection: &Rejection) {
        if let Rejection::OutOfStep { .. } | Rejection::StaleIncarnation = rejection {
            self.process = None;
            self.deltas = Deltas::default();
            self.words = Words::default();
            self.holds.clear();
            self.unfinished = None;
            self.handle.wake();
        }
    }
}

/// Never, if there is nothing to wait for.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
