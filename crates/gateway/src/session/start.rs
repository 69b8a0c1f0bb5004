//! Starts the agent's process when there is something for it, and says what its end means.

use holdstead_agents::{AgentExit, Reasks, ResumeAt, host};
use holdstead_core::{CALLER, Command, Exit, Finish, Output, Session, TurnEnd};
use holdstead_protocol::{
    AgentState, Delivery, EventBody, Incarnation, SessionError, SessionId, StopReason, TurnId,
};
use holdstead_store::{AskRecord, SessionRecord};

use super::SessionTask;
use super::left::Over;
use super::process::{Process, life};
use crate::GatewayError;

/// After how many starts in a row that came to nothing we stop trying until somebody acts.
const MAX_FRUITLESS_STARTS: u32 = 3;
pub(super) const WENT_AWAY: &str =
    "The agent's process went away in the middle of its turn. Send a message to go on.";

impl SessionTask {
    /// Without a process: is there an answer or a message for one?
    pub(super) async fn start_if_needed(&mut self, record: SessionRecord) -> Result<(), GatewayError> {
        // A program that only asks has no agent.
        if record.opened.agent == CALLER {
            return Ok(());
        }
        // Nobody else hosts it, so it went with the gateway that did.
        if let Some(incarnation) = record.state.alive {
            see_it_gone(record.id, incarnation, record.state.pid).await?;
            let message = Some("the gateway that hosted it is gone".to_owned());
            return self.gone(incarnation, false, message, StopReason::Failed).await;
        }
        if record.state.agent == AgentState::Ended {
            return Ok(());
        }
        let reasks = self.gateway.driver(&record.opened.agent)?.capabilities().reasks;
        let asks_again = match reasks {
            Reasks::Any => true,
            Reasks::Parked => record.state.agent == AgentState::Parked,
        };
        if record.state.turn.is_none() {
            if record.state.pending.is_empty() {
                return Ok(());
            }
            return self.start(record, ResumeAt::NextMessage).await;
        }
        if !asks_again {
            return self.start_after_loss(record).await;
        }
        let undelivered_asks = self.undelivered_asks(&record.state).await?;
        let answered = undelivered_asks.iter().any(|ask| ask.ask.delivery == Some(Delivery::Accepted));
        // Everything it had asked may have reached it. Then it would ask nothing, and wait for ever.
        if reasks == Reasks::Any
            && record.state.blocking.is_empty()
            && !undelivered_asks.is_empty()
            && !answered
        {
            return self.fail_turn(record.state.turn, WENT_AWAY).await;
        }
        // Whatever it waited for is decided or closed: it is told so at the very same call. Otherwise it waits for a
        // person, and needs no process for that.
        if record.state.blocking.is_empty() || answered {
            return self.start(record, ResumeAt::OpenAsks).await;
        }
        Ok(())
    }

    pub(super) async fn start(
        &mut self,
        mut record: SessionRecord,
        at: ResumeAt,
    ) -> Result<(), GatewayError> {
        if self.forgotten {
            record.state.agent_ref = None;
        }
        if self.fruitless_starts >= MAX_FRUITLESS_STARTS {
            self.fruitless_starts = 0;
            let words =
                "The agent could not be started again: it went away each time before it took the answer.";
            return self.fail_turn(record.state.turn, words).await;
        }
        let turn = record.state.turn;
        match Process::start(&self.gateway, record, at).await {
            Ok(process) => {
                self.fruitless_starts += 1;
                self.process = process;
                self.handle.wake();
                Ok(())
            }
            // It may be a passing shortage. If not, nobody waits for ever.
            Err(error @ GatewayError::Start(_)) => {
                self.fruitless_starts += 1;
                if self.fruitless_starts < MAX_FRUITLESS_STARTS {
                    return Err(error);
                }
                self.fruitless_starts = 0;
                match turn {
                    Some(_) => {
                        self.fail_turn(turn, &format!("The agent could not be started: {error}")).await
                    }
                    None => Ok(()),
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
        let message = match (exit.parked, exit.stderr.trim()) {
            (true, _) => None,
            (false, "") if self.gateway.inner.shutdown.is_cancelled() => {
                Some("the gateway was stopped".to_owned())
            }
            (false, "") => {
                exit.code.filter(|code| *code != 0).map(|code| format!("its process ended with code {code}"))
            }
            (false, stderr) => Some(stderr.to_owned()),
        };
        let reason = if process.stop_by.is_some() { StopReason::Interrupted } else { StopReason::Failed };
        self.gone(process.incarnation, exit.parked, message, reason).await?;
        self.process = None;
        Ok(())
    }

    /// Records the end of a process, and with it the end of a turn in which nothing is open.
    async fn gone(
        &mut self,
        incarnation: Incarnation,
        parked: bool,
        message: Option<String>,
        reason: StopReason,
    ) -> Result<(), GatewayError> {
        self.gateway.end_agent_token(self.session, incarnation).await?;
        // Before the end is known: whoever takes this up after a crash does it again.
        self.leave_tool_asks(Over::Life(incarnation)).await?;
        let words = (reason == StopReason::Failed).then(|| WENT_AWAY.to_owned());
        // A turn whose conversation was forgotten begins anew.
        let turn_end = (!self.forgotten).then_some(TurnEnd { reason, words });
        let exit = Command::Exit(Exit { incarnation, parked, message, turn_end });
        let appended = self.unless_refused(exit).await?;
        let events = appended.map(|appended| appended.events).unwrap_or_default();
        if events.iter().any(|event| matches!(event.body, EventBody::Done(_))) {
            // A message was used up: the next one is a new try.
            self.fruitless_starts = 0;
        }
        self.handle.wake();
        Ok(())
    }

    pub(super) async fn fail_turn(&mut self, turn: Option<TurnId>, words: &str) -> Result<(), GatewayError> {
        let words = words.to_owned();
        let Some(turn_id) = turn else {
            self.record(vec![Output::Error(SessionError { turn_id: None, message: words })]);
            return Ok(());
        };
        let (reason, words) = (StopReason::Failed, Some(words));
        self.unless_refused(Command::Finish(Finish { turn_id, reason, usage: None, words })).await?;
        Ok(())
    }

    /// What was decided and the agent does not know.
    pub(super) async fn undelivered_asks(&mut self, state: &Session) -> Result<Vec<AskRecord>, GatewayError> {
        let mut undelivered_asks = Vec::new();
        for id in &state.undelivered {
            let record = self.gateway.inner.journal.ask(*id).await?;
            undelivered_asks.extend(record.filter(|record| record.ask.needs_delivery()));
        }
        Ok(undelivered_asks)
    }
}

/// Two lives of an agent never overlap: what is left of the last one goes before another begins.
async fn see_it_gone(
    session: SessionId,
    incarnation: Incarnation,
    pid: Option<u32>,
) -> Result<(), GatewayError> {
    let Some(pid) = pid else { return Ok(()) };
    let life = life(session, incarnation);
    let gone = tokio::task::spawn_blocking(move || host::end(pid, &life)).await;
    if gone.unwrap_or(false) { Ok(()) } else { Err(GatewayError::StillAlive { pid }) }
}
