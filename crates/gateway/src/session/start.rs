//! Starts the agent's process when there is something for it, and says what its end means.

use std::path::PathBuf;

use holdstead_agents::{AgentExit, Launch, ProjectFiles, ResumeAt, ResumePoint};
use holdstead_core::{
    AfterStartError, Ask, Command, EndedBy, FailedTurn, Fence, Finish, Gone, Head, HeardEnd, Rejection,
    Resume, StartAt, after_start_error, exit,
};
use holdstead_protocol::{EventBody, Incarnation, InteractionId, StopReason, TurnId};
use holdstead_runner::{Life, Loss, Reserved, Started, Unable, life};
use holdstead_store::{SessionRecord, UnderWay};

use super::SessionTask;
use crate::GatewayError;

/// What a started agent does not know.
#[derive(Debug)]
pub(super) struct Untold {
    /// The message that its turn began with, if it has forgotten that.
    pub(super) first_message: Option<String>,
    /// What was decided about its calls.
    pub(super) asks: Vec<InteractionId>,
}

impl SessionTask {
    /// What was decided and the agent does not know. With a process here it is told as it asks.
    pub(super) async fn untold(&mut self, head: &Head) -> Result<Vec<(InteractionId, Ask)>, GatewayError> {
        let mut untold = Vec::new();
        if self.process.is_some() || head.turn.is_none() {
            return Ok(untold);
        }
        if head.undelivered > 0 {
            let asks = self.gateway.inner.journal.under_way(self.session, UnderWay::Undelivered).await?;
            untold.extend(asks.into_iter().map(|record| (record.id, record.ask)));
            untold.retain(|(_, ask)| ask.needs_delivery());
        }
        Ok(untold)
    }

    /// Takes up the process that the journal says is alive, wherever its last task left off.
    pub(super) async fn attach(&mut self, mut record: SessionRecord) -> Result<SessionRecord, GatewayError> {
        self.knows(&record.state);
        let found = self.runner.find(self.session);
        let Some(Life::Running(running)) = found else {
            if self.process.is_some() {
                self.is_refused(&Rejection::StaleIncarnation);
            }
            self.lacking = None;
            return Ok(record);
        };
        let incarnation = running.incarnation;
        let taken = running.said().taken_upto();
        let is_ours = self.process.as_ref().is_some_and(|process| process.incarnation == incarnation);
        if record.state.alive != Some(incarnation) || (!is_ours && taken > record.state.heard) {
            // It may have been started since we looked, or said more: nothing runs that the journal does not know.
            let Some(now) = self.gateway.inner.journal.session(self.session).await? else {
                return Ok(record);
            };
            self.known = Some(now.clone());
            record = now;
            self.knows(&record.state);
        }
        if record.state.alive != Some(running.incarnation) {
            self.runner.forget(self.session, running.incarnation);
            self.is_refused(&Rejection::StaleIncarnation);
            return Ok(record);
        }
        if let Some(process) = self.process.as_ref().filter(|it| it.incarnation == running.incarnation) {
            if !process.has_missed(&record.state) {
                return Ok(record);
            }
            self.is_refused(&Rejection::OutOfStep { heard: record.state.heard });
        }
        if taken > record.state.heard {
            return Err(GatewayError::JournalLacks { incarnation, taken, heard: record.state.heard });
        }
        if record.state.pid.is_none() {
            let (left_out, boxed) = (running.left_out.clone(), running.boxed.clone());
            let resume = Resume { incarnation: running.incarnation, pid: running.pid, left_out, boxed };
            let Some(appended) = self.unless_refused(Command::Resume(resume)).await? else {
                return Ok(record);
            };
            (record.head, record.state) = (appended.head, Head::clone(&appended.session.head));
            self.known = Some(record.clone());
        }
        self.process = Some(self.process_of(running, &record.state).await?);
        self.handle.wake();
        Ok(record)
    }

    /// Nobody else hosts it, so it went with the gateway that did. Two lives of an agent never overlap: what is left of
    /// the last one goes before another begins.
    pub(super) async fn see_gone(
        &mut self,
        incarnation: Incarnation,
        pid: Option<u32>,
    ) -> Result<(), GatewayError> {
        self.runner.end(self.session, incarnation, pid).await?;
        let gone = if pid.is_some() { Gone::WithItsGateway } else { Gone::WhileStarting };
        self.gone(incarnation, gone).await
    }

    pub(super) async fn start(
        &mut self,
        mut record: SessionRecord,
        at: StartAt,
        untold: Untold,
    ) -> Result<(), GatewayError> {
        let (turn, incarnation) = (record.state.turn, Incarnation(record.state.incarnations + 1));
        let (resume_at, words) = match at {
            StartAt::OpenAsks => (ResumeAt::OpenAsks, None),
            StartAt::NextMessage => (ResumeAt::NextMessage, None),
            StartAt::Loss => (ResumeAt::NextMessage, Some(Vec::new())),
            StartAt::Anew => {
                let context = self.context_again(&record).await?;
                let words = context.into_iter().chain(untold.first_message).collect();
                (ResumeAt::NextMessage, Some(words))
            }
        };
        if record.state.forgotten {
            record.state.agent_ref = None;
        }
        let left_out = match record.state.incarnations {
            0 => {
                let cwd = PathBuf::from(record.opened.cwd.as_deref().unwrap_or("."));
                self.gateway.rules_left_out(&record.owner, &self.runner, &cwd).await?
            }
            // It was told when the first process was started.
            _ => None,
        };
        let Some(place) = self.runner.reserve(self.session) else { return Ok(()) };
        let loss = words.map(|words| Loss { words, asks: untold.asks });
        match self.start_in(place, record, incarnation, resume_at, loss).await {
            Ok(()) => {
                if let Some(message) = left_out {
                    self.complain(turn, message);
                }
                self.fruitless_starts += 1;
                self.handle.wake();
                Ok(())
            }
            Err(GatewayError::Rejected(rejection)) => {
                tracing::debug!(session = %self.session, %rejection, "another was started, or none is needed");
                self.handle.wake();
                Ok(())
            }
            Err(error @ GatewayError::Runner(Unable::NotStarted(_))) => {
                self.gone(incarnation, Gone::NotStarted(&error.to_string())).await?;
                self.fruitless_starts += 1;
                match after_start_error(turn, self.fruitless_starts) {
                    AfterStartError::TryAgain => Err(error),
                    AfterStartError::EndTurn(turn) => {
                        self.fruitless_starts = 0;
                        self.end_turn(turn, format!("The agent could not be started: {error}")).await
                    }
                    AfterStartError::Rest => {
                        self.fruitless_starts = 0;
                        Ok(())
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The journal has it before anything runs.
    async fn start_in(
        &mut self,
        place: Reserved,
        record: SessionRecord,
        incarnation: Incarnation,
        at: ResumeAt,
        loss: Option<Loss>,
    ) -> Result<(), GatewayError> {
        let cwd = PathBuf::from(record.opened.cwd.as_deref().unwrap_or("."));
        let (project_files, left_out) = match &record.opened.terminal {
            None => {
                self.gateway.project_files(&record.owner, &self.runner, &record.opened.agent, &cwd).await?
            }
            // It runs already, as the person started it.
            Some(_) => (ProjectFiles::Trusted, None),
        };
        let turn = record.state.turn;
        let started = self.gateway.append(self.session, Command::Start { incarnation, turn }).await?;
        self.knows(&started.session.head);
        let tool_server = match &record.opened.terminal {
            None => self.gateway.tool_server(&record, incarnation).await?,
            Some(_) => None,
        };
        let opened = record.opened;
        let launch = Launch {
            session: record.id,
            incarnation,
            cwd,
            permission_mode: opened.permission_mode,
            model: opened.model,
            system_prompt: opened.system_prompt,
            max_turns: opened.max_turns,
            mcp_servers: opened.mcp_servers,
            tool_server,
            project_files,
            program: opened.program,
            terminal: opened.terminal,
            life: life(record.id, incarnation),
            resume: record.state.agent_ref.map(|agent_ref| ResumePoint { agent_ref, at }),
        };
        Ok(place
            .start(incarnation, &opened.agent, launch, Started { project_files, left_out, turn, loss })
            .await?)
    }

    /// The process ended by itself, or because we killed it.
    pub(super) async fn exited(&mut self, exit: &AgentExit) -> Result<(), GatewayError> {
        self.keep_words().await?;
        self.holds.clear();
        let Some(process) = &self.process else { return Ok(()) };
        let incarnation = process.incarnation;
        let ended_by = if self.gateway.inner.shutdown.is_cancelled() {
            EndedBy::GatewayStopping
        } else {
            process.running.ended_by().unwrap_or(EndedBy::Itself)
        };
        let end = HeardEnd {
            parked: exit.parked,
            code: exit.code,
            stderr: &exit.stderr,
            turn_stopped: self.is_turn_stopped().await?,
            ended_by,
        };
        self.gone(incarnation, Gone::Heard(end)).await?;
        self.process = None;
        Ok(())
    }

    async fn is_turn_stopped(&self) -> Result<bool, GatewayError> {
        let record = self.gateway.inner.journal.session(self.session).await?;
        Ok(record.is_some_and(|record| record.state.turn.is_some() && record.state.stopped_by.is_some()))
    }

    /// Records the end of a process, and with it the end of a turn in which nothing is open.
    async fn gone(&mut self, incarnation: Incarnation, gone: Gone<'_>) -> Result<(), GatewayError> {
        self.gateway.end_agent_token(self.session, incarnation).await?;
        let record = self.gateway.inner.journal.session(self.session).await?;
        let forgotten = record.is_some_and(|record| record.state.forgotten);
        let exit = Command::Exit(exit(incarnation, gone, forgotten));
        let appended = match gone {
            // It said so itself, behind all that it said before.
            Gone::Heard(_) => self.take(exit).await?,
            Gone::WithItsGateway | Gone::WhileStarting | Gone::NotStarted(_) => {
                self.unless_refused(exit).await?
            }
        };
        if appended.is_some() {
            self.runner.forget(self.session, incarnation);
        }
        let events = appended.map(|appended| appended.events).unwrap_or_default();
        if events.iter().any(|event| matches!(event.body, EventBody::Done(_))) {
            // A message was used up: the next one is a new try.
            self.fruitless_starts = 0;
        }
        match gone {
            Gone::Heard(_) | Gone::WithItsGateway | Gone::WhileStarting => self.handle.wake(),
            // Whoever could not start it decides when it is tried again: at once would be for ever.
            Gone::NotStarted(_) => {}
        }
        Ok(())
    }

    pub(super) async fn fail_turn(&mut self, turn_id: TurnId, why: FailedTurn) -> Result<(), GatewayError> {
        self.fruitless_starts = 0;
        self.end_turn(turn_id, why.words().to_owned()).await
    }

    async fn end_turn(&mut self, turn_id: TurnId, words: String) -> Result<(), GatewayError> {
        let (reason, words) = (StopReason::Failed, Some(words));
        let finish = Command::Finish(Finish { turn_id, reason, usage: None, words });
        self.unless_refused(finish.fenced(Fence::NoProcess { lives: self.lives.1 })).await?;
        Ok(())
    }
}
