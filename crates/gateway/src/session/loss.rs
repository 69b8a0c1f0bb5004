//! Calls that were lost with the agent's process: what was decided about them is told in words.
//!
//! The words go on with the same turn. An answer is in them. An approval is not: the agent must make the very same
//! call again, which is then allowed by what the person said.

use holdstead_agents::AgentEvent;
use holdstead_core::{Command, told_after_loss};
use holdstead_protocol::{AskState, Incarnation, InteractionId, Settlement};
use holdstead_runner::{Loss, Tell};

use super::SessionTask;
use crate::GatewayError;
use crate::secrets::Revealed;

impl SessionTask {
    /// Gathers the words for a process that was started to be told of lost calls, and tells them.
    pub(super) async fn tell_of_loss(&mut self) -> Result<(), GatewayError> {
        let loss =
            self.process.as_ref().and_then(|process| Some((process.incarnation, process.running.loss()?)));
        let Some((incarnation, Loss { mut words, asks })) = loss else { return Ok(()) };
        let mut carried = Vec::new();
        for id in asks {
            if let Some((text, settlement)) = self.loss_of(id, incarnation).await? {
                words.push(text);
                carried.extend(settlement);
            }
        }
        if let Some(process) = self.process.as_mut() {
            process.told.extend(&carried);
            process.running.tell(Tell::Loss { text: words.join("\n\n"), settlements: carried });
        }
        Ok(())
    }

    /// The words about one lost call, and the settlement they carry. An approval is none: the call is made again.
    async fn loss_of(
        &mut self,
        id: InteractionId,
        incarnation: Incarnation,
    ) -> Result<Option<(String, Option<InteractionId>)>, GatewayError> {
        let Some(mut record) = self.gateway.inner.journal.ask(id).await? else { return Ok(None) };
        let Some(response) = &mut record.response else { return Ok(None) };
        let text = match self.gateway.reveal(self.session, &record.request.body, response).await? {
            Revealed::Whole => told_after_loss(&record.ask, &record.request.input, &response.response),
            Revealed::Gone => GatewayError::SecretGone.to_string(),
        };
        if record.ask.state == (AskState::Settled { settlement: Settlement::Approved }) {
            return Ok(Some((text, None)));
        }
        let carried = self.is_delivering(&record, incarnation).await?;
        Ok(carried.then_some((text, Some(id))))
    }

    /// An agent that goes on after words has read them.
    pub(super) fn heard_what_it_was_told(&mut self, event: &AgentEvent) {
        let goes_on = matches!(
            event,
            AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::ToolCallStart { .. }
                | AgentEvent::TurnDone { .. }
        );
        while let Some(process) = self.process.as_ref().filter(|_| goes_on)
            && let Some(interaction_id) = process.told.last().copied()
        {
            self.fruitless_starts = 0;
            self.gateway.append_later(self.session, Command::Acknowledge { interaction_id });
            if let Some(process) = self.process.as_mut() {
                process.told.pop();
            }
        }
    }
}
