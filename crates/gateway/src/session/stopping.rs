//! The gateway stops: an agent of this machine that waits for a person is parked first, if it can be.

use std::time::Duration;

use holdstead_agents::AgentEvent;
use holdstead_core::{CannotPark, Rejection};
use holdstead_protocol::AgentState;
use tokio::time::{Instant, timeout_at};

use super::SessionTask;
use super::process::{Heard, Process};
use crate::GatewayError;
use crate::stopped::{Left, NotParked, StoppedAgent};

/// How long a waiting agent may take to go. `holdstead stop` and services wait 30 seconds for the whole gateway, which
/// also ends the agents that stay and writes what they said last.
pub(crate) const PARKING_AT_STOP: Duration = Duration::from_secs(10);

impl SessionTask {
    /// Parks the agent, also one that its holds would keep waiting: its ask stays open, and it loses nothing. Notes what becomes of it.
    pub(super) async fn park_at_stop(&mut self) {
        let Some(left) = self.left_at_stop().await else { return };
        let Some(known) = &self.known else { return };
        let title = known.title.clone().unwrap_or_else(|| known.agent.clone());
        self.gateway.note_stopped(StoppedAgent { session: self.session, title }, left);
    }

    /// Nothing, of an agent that ends in no turn or does not end.
    async fn left_at_stop(&mut self) -> Option<Left> {
        let in_turn = |process: &&Process| process.turn.is_some();
        let ends_here = self.runner.is_here() && self.terminal().is_none();
        let process = self.process.as_ref().filter(in_turn).filter(|_| ends_here)?;
        let Some(ask) = process.asked.values().next().map(|asked| asked.ask) else {
            let waits = self.known.as_ref().is_some_and(|known| known.state.live > 0);
            return Some(if waits { Left::NotParked(NotParked::InTool) } else { Left::AtWork });
        };
        let left = match self.park(ask).await {
            Ok(Ok(())) => self.until_parked().await,
            // It was answered a moment ago.
            Ok(Err(Rejection::CannotPark(CannotPark::NotOpen))) => Ok(Left::AtWork),
            Ok(Err(Rejection::CannotPark(why))) => Ok(Left::NotParked(NotParked::Cannot(why))),
            Ok(Err(_)) => Ok(Left::AtWork),
            Err(error) => Err(error),
        };
        Some(left.unwrap_or_else(|error| Left::NotParked(NotParked::NotWritten(error.to_string()))))
    }

    /// The agent was told to go. No answer is told to it meanwhile: the next gateway tells it.
    async fn until_parked(&mut self) -> Result<Left, GatewayError> {
        let deadline = Instant::now() + PARKING_AT_STOP;
        while let Some(process) = self.process.as_mut() {
            if !process.is_parking() || process.asked.is_empty() {
                // It took its call back, or its turn is over.
                return Ok(Left::AtWork);
            }
            let heard = match self.unfinished.take() {
                Some(heard) => heard,
                None => match timeout_at(deadline, Process::next(Some(process), true)).await {
                    Ok(heard) => heard,
                    Err(_) => return Ok(Left::NotParked(NotParked::TooSlow)),
                },
            };
            if let Err(error) = self.take_in(&heard).await {
                // It is tried once more when the process ends.
                self.unfinished = Some(heard);
                return Err(error);
            }
            if let Heard::Said(said) = &heard
                && let AgentEvent::CannotPark { why, .. } = &*said.event
            {
                return Ok(Left::NotParked(NotParked::Stays(why.clone())));
            }
        }
        let parked = self.gateway.inner.journal.session(self.session).await?;
        let is_parked = parked.is_some_and(|session| session.state.agent == AgentState::Parked);
        Ok(if is_parked { Left::Parked } else { Left::NotParked(NotParked::Ended) })
    }
}
