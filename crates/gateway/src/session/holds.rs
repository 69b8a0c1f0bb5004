//! How long the agent is kept waiting for each of its asks.

use std::collections::BTreeSet;
use std::time::Duration;

use holdstead_core::{
    AfterHold, AfterLimit, Command, Expire, ExpireCause, Head, Rejection, after_hold, after_limit,
};
use holdstead_protocol::{AgentState, Hold, InteractionId};
use holdstead_store::AskRecord;
use tokio::time::Instant;

use super::SessionTask;
use super::asks::QUEUED;
use crate::GatewayError;

#[derive(Debug, Default)]
pub(super) struct Holds {
    running: BTreeSet<(Instant, InteractionId)>,
    /// When the agent itself can be kept waiting no longer.
    limits: BTreeSet<(Instant, InteractionId)>,
    /// Told to go because it can be kept waiting no longer.
    last_chance: BTreeSet<InteractionId>,
    /// Held long enough, but the agent could not be parked: tried again when something changes.
    overdue: BTreeSet<InteractionId>,
}

impl Holds {
    /// `held` is how long it has been open. The agent itself can be kept waiting until `limit`.
    pub(super) fn begin(&mut self, ask: InteractionId, hold: Hold, held: Duration, limit: Option<Instant>) {
        let left = Duration::from_millis(hold.after_ms).saturating_sub(held);
        self.running.insert((Instant::now() + left, ask));
        self.limits.extend(limit.map(|limit| (limit, ask)));
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.running.first().into_iter().chain(self.limits.first()).map(|(due, _)| *due).min()
    }

    /// What ran out first, and stays so until it is dealt with.
    fn ran_out(&self) -> Option<RanOut> {
        let now = Instant::now();
        let due = |waiting: &BTreeSet<(Instant, InteractionId)>| {
            waiting.first().filter(|(due, _)| *due <= now).map(|(_, ask)| *ask)
        };
        due(&self.running).map(RanOut::Hold).or_else(|| due(&self.limits).map(RanOut::Limit))
    }

    fn dealt_with(&mut self, ran_out: RanOut) {
        let (waiting, ask) = match ran_out {
            RanOut::Hold(ask) => (&mut self.running, ask),
            RanOut::Limit(ask) => (&mut self.limits, ask),
        };
        waiting.retain(|(_, held)| *held != ask);
    }

    pub(super) fn keep_overdue(&mut self, ask: InteractionId) {
        self.overdue.insert(ask);
    }

    pub(super) fn overdue(&self) -> Vec<InteractionId> {
        self.overdue.iter().copied().collect()
    }

    /// It is told to go. If it stays, it is not told again before its own limit.
    fn parking(&mut self, ask: InteractionId) {
        self.overdue.remove(&ask);
    }

    pub(super) fn forget(&mut self, ask: InteractionId) {
        self.overdue.remove(&ask);
        self.last_chance.remove(&ask);
        self.running.retain(|(_, held)| *held != ask);
        self.limits.retain(|(_, held)| *held != ask);
    }

    pub(super) fn clear(&mut self) {
        self.running.clear();
        self.limits.clear();
        self.overdue.clear();
        self.last_chance.clear();
    }
}

#[derive(Debug, Clone, Copy)]
enum RanOut {
    /// The agent was held at this ask as long as its hold says.
    Hold(InteractionId),
    /// The agent itself can be kept at this ask no longer.
    Limit(InteractionId),
}

impl SessionTask {
    pub(super) async fn hold_ran_out(&mut self) {
        while let Some(ran_out) = self.holds.ran_out() {
            let result = match ran_out {
                RanOut::Hold(ask) => self.held_enough(ask).await,
                RanOut::Limit(ask) => self.held_longest(ask).await,
            };
            if !self.tried(result) {
                return;
            }
            self.holds.dealt_with(ran_out);
        }
    }

    /// The agent itself would give the call up soon: it is parked or, if that cannot be, told that nobody answered.
    async fn held_longest(&mut self, id: InteractionId) -> Result<(), GatewayError> {
        let Some(record) = self.gateway.inner.journal.ask(id).await? else { return Ok(()) };
        match after_limit(&record.ask) {
            AfterLimit::Nothing => return Ok(()),
            AfterLimit::Park if self.park(id).await?.is_ok() => drop(self.holds.last_chance.insert(id)),
            AfterLimit::Park | AfterLimit::GiveUp => self.give_up(&record).await?,
        }
        Ok(())
    }

    /// The agent stays. It goes on waiting, unless it cannot do that any longer either.
    pub(super) async fn could_not_park(&mut self, id: InteractionId) -> Result<(), GatewayError> {
        if !self.holds.last_chance.contains(&id) {
            return Ok(());
        }
        match self.gateway.inner.journal.ask(id).await? {
            Some(record) => self.give_up(&record).await,
            None => Ok(()),
        }
    }

    async fn give_up(&mut self, record: &AskRecord) -> Result<(), GatewayError> {
        let message = nobody_answered(record.ask.is_approval(), record.ask.hold);
        let expire = Expire {
            interaction_id: record.id,
            prompt_id: record.ask.prompt_id,
            cause: ExpireCause::Hold { message },
        };
        self.unless_refused(Command::Expire(expire)).await?;
        Ok(())
    }

    async fn held_enough(&mut self, id: InteractionId) -> Result<(), GatewayError> {
        let Some(record) = self.gateway.inner.journal.ask(id).await? else { return Ok(()) };
        match after_hold(&record.ask) {
            AfterHold::Wait => Ok(()),
            AfterHold::Park => {
                self.holds.keep_overdue(id);
                self.park_overdue().await
            }
            AfterHold::GiveUp => self.give_up(&record).await,
            AfterHold::Queue => {
                let queue = Command::Queue { interaction_id: id, message: QUEUED.to_owned() };
                self.unless_refused(queue).await?;
                Ok(())
            }
        }
    }

    /// Parks the agent at an ask that it was held at long enough, if it waits for nothing else.
    pub(super) async fn park_overdue(&mut self) -> Result<(), GatewayError> {
        for id in self.holds.overdue() {
            if self.park(id).await?.is_ok() {
                self.holds.parking(id);
            }
        }
        Ok(())
    }

    /// Tells the agent to go, or says why it cannot.
    pub(super) async fn park(&mut self, id: InteractionId) -> Result<Result<(), Rejection>, GatewayError> {
        let Some(process) = &self.process else { return Ok(Err(Rejection::StaleIncarnation)) };
        let awaited = process.asked.values().map(|asked| asked.ask).collect();
        let park = Command::Park { interaction_id: id, incarnation: process.incarnation, awaited };
        let parking = self.append_or_refusal(park).await?;
        if parking.is_ok()
            && let Some(process) = self.process.as_mut()
        {
            process.park(id);
        }
        Ok(parking.map(drop))
    }

    /// The journal says that it is being parked: whoever wrote that may not have told it.
    pub(super) fn go_on_parking(&mut self, head: &Head) {
        if let Some(process) = self.process.as_mut()
            && head.agent == AgentState::Parking
            && !process.is_parking()
        {
            process.park_again();
        }
    }
}

/// The words for an agent that was held long enough.
fn nobody_answered(approval: bool, hold: Hold) -> String {
    let after = in_words(Duration::from_millis(hold.after_ms));
    if approval {
        format!("Tool approval timed out after {after}")
    } else {
        format!("User did not respond within {after}")
    }
}

fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        _ if seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::HoldThen;

    #[test]
    fn the_words_of_a_hold() {
        let hold = |after_ms| Hold { after_ms, then: HoldThen::Deny };
        assert_eq!(nobody_answered(true, hold(600_000)), "Tool approval timed out after 10 minutes");
        assert_eq!(nobody_answered(false, hold(600_000)), "User did not respond within 10 minutes");
        assert_eq!(nobody_answered(false, hold(60_000)), "User did not respond within 1 minute");
        assert_eq!(nobody_answered(false, hold(90_000)), "User did not respond within 90 seconds");
    }
}
