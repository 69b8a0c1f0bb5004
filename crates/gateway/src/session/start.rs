//! Starts the agent's process when there is something for it, and says what its end means.

use std::path::PathBuf;

use holdstead_agents::{AgentExit, ResumeAt, host};
use holdstead_core::{
    AfterStartError, Ask, Command, EndedBy, FailedTurn, Finish, Gone, Head, HeardEnd, Output, StartAt,
    after_start_error, exit,
};
use holdstead_protocol::{EventBody, Incarnation, InteractionId, SessionError, StopReason, TurnId};
use holdstead_store::{SessionRecord, UnderWay};

use super::SessionTask;
use super::left::Over;
use super::process::{Loss, Process, life};
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

    /// The message that the turn began with, for an agent that has forgotten it.
    pub(super) async fn first_message(&mut self, head: &Head) -> Result<Option<String>, GatewayError> {
        match head.turn {
            Some(turn) if head.forgotten && self.process.is_none() => self.said_in(turn).await,
            Some(_) | None => Ok(None),
        }
    }

    /// Nobody else hosts it, so it went with the gateway that did. Two lives of an agent never overlap: what is left of
    /// the last one goes before another begins.
    pub(super) async fn see_gone(
        &mut self,
        incarnation: Incarnation,
        pid: Option<u32>,
    ) -> Result<(), GatewayError> {
        let life = life(self.session, incarnation);
        // Nobody wrote down the number of a process that was only being started.
        let found = move || pid.or_else(|| host::find(&life)).filter(|pid| !host::end(*pid, &life));
        if let Some(pid) = tokio::task::spawn_blocking(found).await.unwrap_or(pid) {
            return Err(GatewayError::StillAlive { pid });
        }
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
                self.gateway.rules_left_out(&record.owner, &cwd).await?
            }
            // It was told when the first process was started.
            _ => None,
        };
        match Process::start(&self.gateway, record, incarnation, resume_at).await {
            Ok(mut process) => {
                if let Some(message) = left_out {
                    self.now(Output::Error(SessionError { turn_id: turn, message }));
                }
                if let Some(words) = words {
                    process.loss = Some(Loss { words, carried: Vec::new(), left: untold.asks.into() });
                }
                self.fruitless_starts += 1;
                self.process = Some(process);
                self.handle.wake();
                Ok(())
            }
            Err(error @ GatewayError::Start(_)) => {
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

    /// The process ended by itself, or because we killed it.
    pub(super) async fn exited(&mut self, exit: &AgentExit) -> Result<(), GatewayError> {
        self.keep_words().await?;
        self.holds.clear();
        let Some(process) = &self.process else { return Ok(()) };
        let ended_by = if process.let_go {
            EndedBy::LetGo
        } else if self.gateway.inner.shutdown.is_cancelled() {
            EndedBy::GatewayStopping
        } else {
            EndedBy::Itself
        };
        let end = HeardEnd {
            parked: exit.parked,
            code: exit.code,
            stderr: &exit.stderr,
            turn_stopped: process.stop_by.is_some(),
            ended_by,
        };
        self.gone(process.incarnation, Gone::Heard(end)).await?;
        self.process = None;
        Ok(())
    }

    /// Records the end of a process, and with it the end of a turn in which nothing is open.
    async fn gone(&mut self, incarnation: Incarnation, gone: Gone<'_>) -> Result<(), GatewayError> {
        self.gateway.end_agent_token(self.session, incarnation).await?;
        // Before the end is known: whoever takes this up after a crash does it again.
        self.leave_tool_asks(Over::Life(incarnation)).await?;
        let record = self.gateway.inner.journal.session(self.session).await?;
        let forgotten = record.is_some_and(|record| record.state.forgotten);
        let exit = Command::Exit(exit(incarnation, gone, forgotten));
        let appended = self.unless_refused(exit).await?;
        let events = appended.map(|appended| appended.events).unwrap_or_default();
        if events.iter().any(|event| matches!(event.body, EventBody::Done(_))) {
            // A message was used up: the next one is a new try.
            self.fruitless_starts = 0;
        }
        self.handle.wake();
        Ok(())
    }

    pub(super) async fn fail_turn(&mut self, turn_id: TurnId, why: FailedTurn) -> Result<(), GatewayError> {
        self.fruitless_starts = 0;
        self.end_turn(turn_id, why.words().to_owned()).await
    }

    async fn end_turn(&mut self, turn_id: TurnId, words: String) -> Result<(), GatewayError> {
        let (reason, words) = (StopReason::Failed, Some(words));
        self.unless_refused(Command::Finish(Finish { turn_id, reason, usage: None, words })).await?;
        Ok(())
    }
}
