//! Calls that were lost with the agent's process: what was decided about them is told in words.
//!
//! The words go on with the same turn. An answer is in them. An approval is not: the agent must make the very same
//! call again, which is then allowed by what the person said.

use holdstead_agents::{AgentEvent, ResumeAt};
use holdstead_core::{Command, told_after_loss};
use holdstead_protocol::{AskState, EventBody, Seq, Settlement, TurnId};
use holdstead_store::SessionRecord;

use super::SessionTask;
use super::start::WENT_AWAY;
use crate::GatewayError;
use crate::secrets::Revealed;

/// How many events are read at once.
const PAGE: u32 = 200;

impl SessionTask {
    /// Its calls belong to one message of the model's, so it goes on when all of them are decided.
    pub(super) async fn start_after_loss(&mut self, record: SessionRecord) -> Result<(), GatewayError> {
        if !record.state.blocking.is_empty() {
            return Ok(());
        }
        let (turn, undelivered_asks) = (record.state.turn, self.undelivered_asks(&record.state).await?);
        let anew = match turn {
            Some(turn) if self.forgotten => self.said_in(turn).await?,
            Some(_) | None => None,
        };
        if undelivered_asks.is_empty() && anew.is_none() {
            return self.fail_turn(turn, WENT_AWAY).await;
        }
        self.start(record, ResumeAt::NextMessage).await?;
        let Some(incarnation) = self.process.as_ref().map(|process| process.incarnation) else {
            return Ok(());
        };
        let (mut words, mut carried) = (Vec::from_iter(anew), Vec::new());
        for mut record in undelivered_asks {
            let Some(response) = &mut record.response else { continue };
            let text = match self.gateway.reveal(self.session, &record.request.body, response).await? {
                Revealed::Whole => told_after_loss(&record.ask, &response.response),
                Revealed::Gone => GatewayError::SecretGone.to_string(),
            };
            if record.ask.state != (AskState::Settled { settlement: Settlement::Approved }) {
                let delivering = Command::Delivering { interaction_id: record.id, incarnation };
                if self.unless_refused(delivering).await?.is_none() {
                    continue;
                }
                carried.push(record.id);
            }
            words.push(text);
        }
        if let Some(process) = self.process.as_mut().filter(|_| !words.is_empty()) {
            process.tell(words.join("\n\n"), carried);
        }
        Ok(())
    }

    /// The message that a turn began with, for an agent that does not know it any more.
    async fn said_in(&mut self, turn: TurnId) -> Result<Option<String>, GatewayError> {
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
    pub(super) async fn heard_what_it_was_told(&mut self, event: &AgentEvent) -> Result<(), GatewayError> {
        let goes_on = matches!(
            event,
            AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::ToolCallStart { .. }
                | AgentEvent::TurnDone { .. }
        );
        let Some(process) = self.process.as_mut().filter(|_| goes_on) else { return Ok(()) };
        for interaction_id in std::mem::take(&mut process.told) {
            self.fruitless_starts = 0;
            self.unless_refused(Command::Acknowledge { interaction_id }).await?;
        }
        Ok(())
    }
}
