//! How long the agent is kept waiting for each of its asks.

use std::collections::BTreeSet;
use std::time::Duration;

use holdpoint_agents::Outgoing;
use holdpoint_core::{Command, Expire, ExpireCause};
use holdpoint_protocol::{AskState, Hold, HoldThen, InteractionId};
use tokio::time::Instant;

use super::SessionTask;
use super::asks::QUEUED;
use crate::GatewayError;

#[derive(Debug, Default)]
pub(super) struct Holds {
    running: BTreeSet<(Instant, InteractionId)>,
    /// Held long enough, but the agent could not be parked: tried again when something changes.
    overdue: BTreeSet<InteractionId>,
}

impl Holds {
    pub(super) fn begin(&mut self, ask: InteractionId, hold: Hold) {
        self.running.insert((Instant::now() + Duration::from_millis(hold.after_ms), ask));
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.running.first().map(|(due, _)| *due)
    }

    /// The ask whose hold ran out.
    pub(super) fn take_due(&mut self) -> Option<InteractionId> {
        let (due, _) = self.running.first()?;
        if *due > Instant::now() {
            return None;
        }
        self.running.pop_first().map(|(_, ask)| ask)
    }

    pub(super) fn keep_overdue(&mut self, ask: InteractionId) {
        self.overdue.insert(ask);
    }

    pub(super) fn overdue(&self) -> Vec<InteractionId> {
        self.overdue.iter().copied().collect()
    }

    pub(super) fn forget(&mut self, ask: InteractionId) {
        self.overdue.remove(&ask);
        self.running.retain(|(_, held)| *held != ask);
    }

    pub(super) fn clear(&mut self) {
        self.running.clear();
        self.overdue.clear();
    }
}

impl SessionTask {
    pub(super) async fn hold_ran_out(&mut self) {
        while let Some(ask) = self.holds.take_due() {
            if let Err(error) = self.held_enough(ask).await {
                self.complain(error);
            }
        }
    }

    async fn held_enough(&mut self, id: InteractionId) -> Result<(), GatewayError> {
        let Some(record) = self.gateway.inner.journal.ask(id).await? else { return Ok(()) };
        if record.ask.state != AskState::Open {
            return Ok(());
        }
        let command = match record.ask.hold.then {
            HoldThen::Wait => return Ok(()),
            HoldThen::Park if !record.ask.can_park => return Ok(()),
            HoldThen::Park => {
                self.holds.keep_overdue(id);
                return self.park_overdue().await;
            }
            HoldThen::Deny => {
                let message = nobody_answered(record.ask.is_approval(), record.ask.hold);
                let cause = ExpireCause::Hold { message };
                Command::Expire(Expire { interaction_id: id, prompt_id: record.ask.prompt_id, cause })
            }
            HoldThen::Defer => Command::Queue { interaction_id: id, message: QUEUED.to_owned() },
        };
        self.unless_refused(command).await?;
        Ok(())
    }

    /// Parks the agent at an ask that it was held at long enough, if it waits for nothing else.
    pub(super) async fn park_overdue(&mut self) -> Result<(), GatewayError> {
        for id in self.holds.overdue() {
            let Some(process) = &self.process else { return Ok(()) };
            let park = Command::Park { interaction_id: id, incarnation: process.incarnation };
            if self.unless_refused(park).await?.is_none() {
                continue;
            }
            let Some(process) = self.process.as_mut() else { return Ok(()) };
            let call = process.asked.iter().find(|(_, asked)| **asked == id).map(|(call, _)| call.clone());
            if let Some(tool_call_id) = call {
                process.say(Outgoing::Park { tool_call_id });
            }
            self.holds.forget(id);
        }
        Ok(())
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
    use holdpoint_protocol::HoldThen;

    #[test]
    fn the_words_of_a_hold() {
        let hold = |after_ms| Hold { after_ms, then: HoldThen::Deny };
        assert_eq!(nobody_answered(true, hold(600_000)), "Tool approval timed out after 10 minutes");
        assert_eq!(nobody_answered(false, hold(600_000)), "User did not respond within 10 minutes");
        assert_eq!(nobody_answered(false, hold(60_000)), "User did not respond within 1 minute");
        assert_eq!(nobody_answered(false, hold(90_000)), "User did not respond within 90 seconds");
    }
}
