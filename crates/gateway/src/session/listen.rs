//! What the agent says goes into the journal.

use holdstead_agents::{AgentEvent, Outgoing, Resolution};
use holdstead_core::{Cancel, CancelScope, Command, Finish, Output, RanOther, Rejection, Session};
use holdstead_protocol::{
    EventBody, MessageId, SessionError, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallEnd, ToolCallId,
    ToolCallStart, ToolResult, TurnId,
};

use super::SessionTask;
use super::left::Over;
use crate::GatewayError;

impl SessionTask {
    pub(super) async fn agent_said(&mut self, event: AgentEvent) -> Result<(), GatewayError> {
        let turn = self.process.as_ref().and_then(|process| process.turn);
        match (event, turn) {
            (AgentEvent::Exited(exit), _) => self.exited(exit).await,
            (AgentEvent::Ready { agent_ref }, _) => self.identified(agent_ref).await,
            (AgentEvent::Forgotten, _) => {
                self.forgotten = true;
                Ok(())
            }
            (AgentEvent::Error { message }, turn_id) => {
                self.now(Output::Error(SessionError { turn_id, message }));
                Ok(())
            }
            (event, Some(turn_id)) => self.in_turn(turn_id, event).await,
            (AgentEvent::Ask(ask), None) => {
                let message = "No turn is running, so nobody was asked and nothing was decided.".to_owned();
                if let Some(process) = self.process.as_mut() {
                    process.resolve(&ask.tool_call_id, Resolution::Closed { message }, None);
                }
                Ok(())
            }
            (event, None) => {
                tracing::debug!(session = %self.session, ?event, "an agent spoke outside of a turn");
                Ok(())
            }
        }
    }

    async fn in_turn(&mut self, turn_id: TurnId, event: AgentEvent) -> Result<(), GatewayError> {
        self.heard_what_it_was_told(&event).await?;
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        let message_id = process.message;
        match event {
            AgentEvent::Text { text, parents } => {
                self.soon(Output::Text(TextDelta { turn_id, message_id, text, parents }));
            }
            AgentEvent::Thinking { text, parents } => {
                self.soon(Output::Thinking(ThinkingDelta { turn_id, message_id, text, parents }));
            }
            AgentEvent::ToolCallDelta { tool_call_id, text } => {
                self.soon(Output::ToolCallDelta(ToolCallDelta { turn_id, tool_call_id, text }));
            }
            AgentEvent::MessageEnd => {
                process.message = MessageId::generate();
                self.deltas.let_go();
            }
            AgentEvent::ToolCallStart { tool_call_id, tool_name, parents } => {
                self.now(Output::ToolCallStart(ToolCallStart {
                    turn_id,
                    message_id,
                    tool_call_id,
                    tool_name,
                    parents,
                }))
            }
            AgentEvent::ToolCallEnd { tool_call_id, input } => {
                self.now(Output::ToolCallEnd(ToolCallEnd { turn_id, tool_call_id, input }));
            }
            AgentEvent::ToolResult { tool_call_id, output, is_error } => {
                self.now(Output::ToolResult(ToolResult { turn_id, tool_call_id, output, is_error }));
            }
            AgentEvent::Ask(ask) => self.ask(*ask).await?,
            AgentEvent::CannotPark { why, tool_call_id } => {
                tracing::debug!(session = %self.session, why, "an agent would not be parked");
                let (incarnation, asked) = (process.incarnation, process.asked.get(&tool_call_id).copied());
                self.unless_refused(Command::Stay { incarnation }).await?;
                if let Some(ask) = asked {
                    self.could_not_park(ask).await?;
                }
                self.handle.wake();
            }
            AgentEvent::AskWithdrawn { tool_call_id } => self.withdrawn(&tool_call_id).await?,
            AgentEvent::Acknowledged { tool_call_id } => {
                if let Some(interaction_id) = process.written.remove(&tool_call_id) {
                    self.fruitless_starts = 0;
                    self.unless_refused(Command::Acknowledge { interaction_id }).await?;
                }
            }
            AgentEvent::NotRun { tool_call_id, because } => {
                if let Some(interaction_id) = process.written.remove(&tool_call_id) {
                    self.fruitless_starts = 0;
                    self.unless_refused(Command::NotRun { interaction_id, because }).await?;
                }
            }
            AgentEvent::RanOther { tool_call_id, input } => {
                if let Some(interaction_id) = process.last_ask.get(&tool_call_id).copied() {
                    let other = RanOther::new(interaction_id, input);
                    self.unless_refused(Command::RanOther(other)).await?;
                }
            }
            AgentEvent::TurnDone { reason, usage } => {
                process.turn = None;
                process.stop_by = None;
                process.asked.clear();
                process.written.clear();
                process.last_ask.clear();
                process.told.clear();
                self.fruitless_starts = 0;
                self.holds.clear();
                self.unmasked.clear();
                self.flush();
                self.leave_tool_asks(Over::Turn(turn_id)).await?;
                self.unless_refused(Command::Finish(Finish { turn_id, reason, usage })).await?;
                // Also if the turn was over before: a message may wait for the agent to be free.
                self.handle.wake();
            }
            AgentEvent::Ready { .. }
            | AgentEvent::Forgotten
            | AgentEvent::Error { .. }
            | AgentEvent::Exited(_) => {}
        }
        Ok(())
    }

    /// Words that may wait a moment for others.
    fn soon(&mut self, output: Output) {
        let secrets = self.gateway.inner.masks().of(self.session);
        self.deltas.add(output, secrets.as_ref());
    }

    pub(super) fn now(&mut self, output: Output) {
        self.flush();
        self.record(vec![output]);
    }

    async fn identified(&mut self, agent_ref: String) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let command = Command::Identify { incarnation: process.incarnation, agent_ref };
        self.forgotten = false;
        self.unless_refused(command).await?;
        Ok(())
    }

    async fn withdrawn(&mut self, tool_call_id: &ToolCallId) -> Result<(), GatewayError> {
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        if let Some(interaction_id) = process.asked.remove(tool_call_id) {
            self.holds.forget(interaction_id);
            let cancel = Cancel { scope: CancelScope::Ask(interaction_id) };
            self.unless_refused(Command::Cancel(cancel)).await?;
        }
        Ok(())
    }

    /// Gives the agent the next message that waits.
    pub(super) async fn begin_next_turn(&mut self, state: &Session) -> Result<(), GatewayError> {
        let busy = self.process.as_ref().is_none_or(|process| process.turn.is_some());
        let (false, None, Some(next)) = (busy, state.turn, state.pending.first()) else { return Ok(()) };
        let before = holdstead_protocol::Seq(next.seq.0.saturating_sub(1));
        let events = self.gateway.inner.journal.read(self.session, before, 1).await?;
        let text = match events.into_iter().next().map(|event| event.body) {
            Some(EventBody::UserMessage(message)) => message.text,
            Some(EventBody::LateAnswer(late)) => late.text,
            Some(_) | None => return Err(GatewayError::Rejected(Rejection::NoSuchTurn)),
        };
        self.gateway.append(self.session, Command::Begin { turn_id: next.turn_id }).await?;
        if let Some(process) = self.process.as_mut() {
            process.turn = Some(next.turn_id);
            process.message = MessageId::generate();
            process.say(Outgoing::Message { text });
        }
        Ok(())
    }
}
