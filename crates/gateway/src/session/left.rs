//! Asks of tools that nobody waits for any more: the call that made them ended with its turn or with its process.
//!
//! They stay open, and an answer reaches the agent as a message. So does one that its tool had already, if the agent went
//! away before it had it from the tool.

use holdstead_core::{Ask, Command, Head, Retell};
use holdstead_protocol::{AskState, Incarnation, MessageId, Origin, TurnId};

use super::SessionTask;
use crate::GatewayError;

const LEFT: &str = "The agent does not wait for this any more. An answer is given to it as a message.";

/// Whose calls are over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over {
    Life(Incarnation),
    Turn(TurnId),
}

impl Over {
    fn covers(self, ask: &Ask) -> bool {
        match self {
            Self::Life(incarnation) => ask.asked_in == Some(incarnation),
            Self::Turn(turn) => ask.turn_id == Some(turn),
        }
    }
}

impl SessionTask {
    /// An ask that was submitted is left to its tool.
    pub(super) async fn leave_tool_asks(&mut self, over: Over) -> Result<(), GatewayError> {
        let Some(session) = self.gateway.inner.journal.session(self.session).await? else { return Ok(()) };
        if session.state.live == 0 {
            return Ok(());
        }
        for record in self.gateway.live_asks_of(&session.owner, self.session).await? {
            let (ask, interaction_id) = (&record.ask, record.id);
            if ask.origin == Origin::Tool && ask.state == AskState::Open && over.covers(ask) {
                self.unless_refused(Command::Queue { interaction_id, message: LEFT.to_owned() }).await?;
            }
        }
        Ok(())
    }

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
