//! Answers that a tool had already when the agent that called it went away: they reach the agent as messages.

use holdstead_core::{Command, Head, Retell};
use holdstead_protocol::{MessageId, TurnId};

use super::SessionTask;
use crate::GatewayError;

impl SessionTask {
    /// Answers that were on their way from a tool to an agent that is gone.
    pub(super) async fn retell_orphaned_answers(&mut self, head: &Head) -> Result<(), GatewayError> {
        let fence = self.beside_agent();
        for interaction_id in head.orphaned_answers() {
            let Some(record) = self.gateway.inner.journal.ask(interaction_id).await? else { continue };
            let result = self.gateway.tool_result(&record).await?.and_then(Result::ok);
            let Some(said) = record.response else { continue };
            let retell = Retell {
                interaction_id,
                response: said.response,
                result,
                turn_id: TurnId::generate(),
                message_id: MessageId::generate(),
            };
            match self.unless_refused(Command::Retell(Box::new(retell.clone())).fenced(fence)).await {
                // What cannot be told whole is told short: nothing else may wait for it for ever.
                Err(GatewayError::TooLarge { bytes, limit }) => {
                    let words =
                        format!("It has {bytes} bytes, and {limit} can be told. Make the call again.");
                    let short = Retell { result: Some(words.into()), ..retell };
                    self.unless_refused(Command::Retell(Box::new(short)).fenced(fence)).await?;
                }
                told => drop(told?),
            }
        }
        Ok(())
    }
}
