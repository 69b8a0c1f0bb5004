//! Starts the agent's process when there is something for it, and says what its end means.

use holdstead_agents::{AgentExit, ResumeAt, host};
use holdstead_core::{
    Ask, Command, Exit, FailedTurn, Finish, MAX_FRUITLESS_STARTS, Session, StartAt, TurnEnd,
};
use holdstead_protocol::{EventBody, Incarnation, InteractionId, StopReason, TurnId};
use holdstead_store::SessionRecord;

use super::SessionTask;
use super::left::Over;
use super::process::{Loss, Process, life};
use crate::GatewayError;

const WENT_AWAY: &str = "The agent's process went away in the middle of its turn. Send a message to go on.";

const LET_GO: &str = "it had nothing to do for an hour; the next message starts it again";

pub(super) const NEVER_TOOK_IT: &str =
    "The agent could not be started again: it went away each time before it took the answer.";

impl SessionTask {
    /// What was decided and the agent does not know. With a process here it is told as it asks.
    pub(super) async fn untold(
        &mut self,
        state: &Session,
    ) -> Result<Vec<(InteractionId, Ask)>, GatewayError> {
        let mut untold = Vec::new();
        if self.process.is_some() || state.turn.is_none() {
            return Ok(untold);
        }
        for id in &state.undelivered {
            let record = self.gateway.inner.journal.ask(*id).await?;
            untold.extend(record.map(|record| record.ask).filter(Ask::needs_delivery).map(|ask| (*id, ask)));
        }
        Ok(untold)
    }

    /// Nobody else hosts it, so it went with the gateway that did. Two lives of an agent never overlap: what is left of
    /// the last one goes before another begins.
    pub(super) async fn see_gone(
        &mut self,
        incarnation: Incarnation,
        pid: Option<u32>,
    ) -> Result<(), GatewayError> {
        if let Some(pid) = pid {
            let life = life(self.session, incarnation);
            let gone = tokio::task::spawn_blocking(move || host::end(pid, &life)).await;
            if !gone.unwrap_or(false) {
                return Err(GatewayError::StillAlive { pid });
            }
        }
        let message = Some("the gateway that hosted it is gone".to_owned());
        self.gone(incarnation, false, message, StopReason::Failed).await
    }

    pub(super) async fn start(
        &mut self,
        mut record: SessionRecord,
        at: StartAt,
        untold: Vec<InteractionId>,
    ) -> Result<(), GatewayError> {
        let turn = record.state.turn;
        let (resume_at, loss) = match (at, turn) {
            (StartAt::OpenAsks, _) => (ResumeAt::OpenAsks, None),
            (StartAt::NextMessage, _) | (StartAt::Anew, None) => (ResumeAt::NextMessage, None),
            (StartAt::Loss, _) => (ResumeAt::NextMessage, Some(Vec::new())),
            (StartAt::Anew, Some(turn)) => {
                let said = self.said_in(turn).await?;
                if said.is_none() && untold.is_empty() {
                    return self.fail_turn(turn, FailedTurn::WentAway).await;
                }
                (ResumeAt::NextMessage, Some(Vec::from_iter(said)))
            }
        };
        if self.forgotten {
            record.state.agent_ref = None;
        }
        match Process::start(&self.gateway, record, resume_at).await {
            Ok(mut process) => {
                if let (Some(process), Some(words)) = (&mut process, loss) {
                    process.loss = Some(Loss { words, carried: Vec::new(), left: untold.into() });
                }
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
                    Some(turn) => {
                        self.end_turn(turn, format!("The agent could not be started: {error}")).await
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
            (false, _) if process.let_go => Some(LET_GO.to_owned()),
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

    pub(super) async fn fail_turn(&mut self, turn_id: TurnId, why: FailedTurn) -> Result<(), GatewayError> {
        self.fruitless_starts = 0;
        let words = match why {
            FailedTurn::WentAway => WENT_AWAY,
            FailedTurn::NeverTookIt => NEVER_TOOK_IT,
        };
        self.end_turn(turn_id, words.to_owned()).await
    }

    async fn end_turn(&mut self, turn_id: TurnId, words: String) -> Result<(), GatewayError> {
        let (reason, words) = (StopReason::Failed, Some(words));
        self.unless_refused(Command::Finish(Finish { turn_id, reason, usage: None, words })).await?;
        Ok(())
    }
}
