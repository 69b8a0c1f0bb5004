//! Calls that were lost with the agent's process: what was decided about them is told in words.
//!
//! The words go on with the same turn. An answer is in them. An approval is not: the agent must make the very same
//! call again, which is then allowed by what the person said.

use holdstead_agents::AgentEvent;
use holdstead_core::{Command, told_after_loss};
use holdstead_protocol::{AskState, EventBody, Incarnation, InteractionId, Seq, Settlement, TurnId};

use super::SessionTask;
use super::process::Process;
use crate::GatewayError;
use crate::secrets::Revealed;

/// How many events are read at once.
const PAGE: u32 = 200;

impl SessionTask {
    /// Gathers the words for a process that was started to be told of lost calls, and tells them.
    pub(super) async fn tell_of_loss(&mut self) -> Result<(), GatewayError> {
        while let Some((id, incarnation)) = self.process.as_ref().and_then(Process::next_loss) {
            let told = self.loss_of(id, incarnation).await?;
            let loss = self.process.as_mut().and_then(|process| process.loss.as_mut());
            if let Some(loss) = loss {
                loss.left.pop_front();
                let (words, carried) = told.unzip();
                loss.words.extend(words);
                loss.carried.extend(carried.flatten());
            }
        }
        if let Some(process) = self.process.as_mut()
            && let Some(loss) = process.loss.take()
            && !loss.words.is_empty()
        {
            process.tell(loss.words.join("\n\n"), loss.carried);
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
            Revealed::Whole => told_after_loss(&record.ask, &response.response),
            Revealed::Gone => GatewayError::SecretGone.to_string(),
        };
        if record.ask.state == (AskState::Settled { settlement: Settlement::Approved }) {
            return Ok(Some((text, None)));
        }
        let carried = self.is_delivering(&record, incarnation).await?;
        Ok(carried.then_some((text, Some(id))))
    }

    /// The message that a turn began with, for an agent that does not know it any more.
    pub(super) async fn said_in(&mut self, turn: TurnId) -> Result<Option<String>, GatewayError> {
        let mut after = Seq::START;
        loop {
            let page = self.gateway.inner.journal.read(self.session, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(None) };
            after = last.seq;
            let said = page.into_iter().find_map(|event| {
                if let EventBody::UserMessage(message) = event.body {
                    (message.turn_id == turn).then_some(message.text)
                } else if let EventBody::LateAnswer(late) = event.body {
                    (late.turn_id == turn).then_some(late.text)
                } else {
                    None
                }
            });
            if said.is_some() {
                return Ok(said);
            }
        }
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
