//! What the agent says goes into the journal.

use holdstead_agents::{AgentEvent, Outgoing, TurnEnd};
use holdstead_core::{Cancel, Command, Finish, Output, PendingTurn, RanOther, Rejection};
use holdstead_protocol::{
    EventBody, InteractionId, MessageId, Seq, SessionError, TextDelta, ThinkingDelta, ToolCallDelta,
    ToolCallEnd, ToolCallId, ToolCallStart, ToolResult, TurnId,
};

use super::SessionTask;
use super::left::Over;
use super::lifecycle::words_of;
use crate::GatewayError;

/// A call that rules allowed.
const RAN_OTHER: &str =
    "A call ran with another input than the one that rules allowed: see its result in the transcript.";

impl SessionTask {
    /// Whatever of this touches the store comes before what it changes here: if it fails it is done again.
    pub(super) async fn agent_said(&mut self, event: &AgentEvent) -> Result<(), GatewayError> {
        let turn = self.process.as_ref().and_then(|process| process.turn);
        match (event, turn) {
            (AgentEvent::Exited(exit), _) => self.exited(exit).await,
            (AgentEvent::Ready { agent_ref }, _) => self.identified(agent_ref).await,
            (AgentEvent::Forgotten, _) => self.forgot().await,
            (AgentEvent::Error { message }, turn_id) => {
                self.now(Output::Error(SessionError { turn_id, message: message.clone() }));
                Ok(())
            }
            (event, Some(turn_id)) => self.in_turn(turn_id, event).await,
            (AgentEvent::Ask(ask), None) => self.ask_outside_of_turn(ask).await,
            // Nobody is kept from ending what no turn is.
            (AgentEvent::TurnEnding, None) => {
                if let Some(process) = self.process.as_mut() {
                    process.say(Outgoing::TurnEnd(TurnEnd::Ends));
                }
                Ok(())
            }
            (event, None) => {
                tracing::debug!(session = %self.session, ?event, "an agent spoke outside of a turn");
                Ok(())
            }
        }
    }

    async fn in_turn(&mut self, turn_id: TurnId, event: &AgentEvent) -> Result<(), GatewayError> {
        self.heard_what_it_was_told(event);
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        let message_id = process.message;
        match event.clone() {
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
                process.made_by.insert(tool_call_id.clone(), (message_id, tool_name.clone()));
                self.now(Output::ToolCallStart(ToolCallStart {
                    turn_id,
                    message_id,
                    tool_call_id,
                    tool_name,
                    parents,
                }))
            }
            AgentEvent::ToolCallEnd { tool_call_id, input } => {
                let tool_name = process.made_by.get(&tool_call_id).map(|(_, tool)| tool.clone());
                // What rules say about it may follow at once, and then rides with it.
                self.deltas.let_go();
                let decision = None;
                self.soon(Output::ToolCallEnd(ToolCallEnd {
                    turn_id,
                    tool_call_id,
                    tool_name,
                    input,
                    decision,
                }));
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
                if let Some(process) = self.process.as_mut() {
                    process.stays();
                }
                self.handle.wake();
            }
            AgentEvent::AskWithdrawn { tool_call_id } => self.withdrawn(&tool_call_id).await?,
            AgentEvent::Acknowledged { tool_call_id } => {
                if let Some(interaction_id) = self.shown(&tool_call_id) {
                    self.gateway.append_later(self.session, Command::Acknowledge { interaction_id });
                    self.no_longer_written(&tool_call_id);
                }
            }
            AgentEvent::NotRun { tool_call_id, because } => {
                if let Some(interaction_id) = self.shown(&tool_call_id) {
                    self.unless_refused(Command::NotRun { interaction_id, because }).await?;
                    self.no_longer_written(&tool_call_id);
                }
            }
            AgentEvent::RanOther { tool_call_id, input } => {
                if let Some(interaction_id) = process.last_ask.get(&tool_call_id).copied() {
                    let other = RanOther::new(interaction_id, input);
                    self.unless_refused(Command::RanOther(other)).await?;
                } else {
                    let message = RAN_OTHER.to_owned();
                    self.now(Output::Error(SessionError { turn_id: Some(turn_id), message }));
                }
            }
            AgentEvent::TurnEnding => self.turn_ending(turn_id).await?,
            AgentEvent::TurnDone { reason, usage } => {
                self.keep_words().await?;
                self.leave_tool_asks(Over::Turn(turn_id)).await?;
                self.unless_refused(Command::Finish(Finish { turn_id, reason, usage, words: None })).await?;
                if let Some(process) = self.process.as_mut() {
                    process.turn_done();
                }
                self.fruitless_starts = 0;
                self.holds.clear();
                self.unmasked.clear();
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

    /// The agent showed what became of something that was written to it.
    fn shown(&mut self, tool_call_id: &ToolCallId) -> Option<InteractionId> {
        let written = self.process.as_ref()?.written.get(tool_call_id).copied()?;
        self.fruitless_starts = 0;
        Some(written)
    }

    fn no_longer_written(&mut self, tool_call_id: &ToolCallId) {
        if let Some(process) = self.process.as_mut() {
            process.written.remove(tool_call_id);
        }
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

    async fn identified(&mut self, agent_ref: &str) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let agent_ref = agent_ref.to_owned();
        let command = Command::Identify { incarnation: process.incarnation, agent_ref };
        self.unless_refused(command).await?;
        Ok(())
    }

    async fn forgot(&mut self) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let command = Command::Forget { incarnation: process.incarnation };
        self.unless_refused(command).await?;
        Ok(())
    }

    async fn withdrawn(&mut self, tool_call_id: &ToolCallId) -> Result<(), GatewayError> {
        let asked = self.process.as_ref().and_then(|process| process.asked.get(tool_call_id));
        let Some(interaction_id) = asked.copied() else { return Ok(()) };
        self.unless_refused(Command::Cancel(Cancel::Ask(interaction_id))).await?;
        self.holds.forget(interaction_id);
        if let Some(process) = self.process.as_mut() {
            process.asked.remove(tool_call_id);
        }
        Ok(())
    }

    /// Gives the agent the next message that waits.
    pub(super) async fn begin(&mut self, next: PendingTurn) -> Result<(), GatewayError> {
        let before = Seq(next.seq.0.saturating_sub(1));
        let events = self.gateway.inner.journal.read(self.session, before, 1).await?;
        let text = match events.into_iter().next().map(|event| event.body) {
            Some(EventBody::UserMessage(message)) => message.text,
            Some(EventBody::LateAnswer(late)) => late.text,
            Some(_) | None => return Err(GatewayError::Rejected(Rejection::NoSuchTurn)),
        };
        let start = self.start_step().await?;
        let message = match words_of(&start.context) {
            Some(context) => Outgoing::MessageWithContext { context, text },
            None => Outgoing::Message { text },
        };
        if let Some(process) = self.process.as_mut() {
            process.beginning = Some((next.turn_id, message));
        }
        self.gateway.append(self.session, Command::Begin { turn_id: next.turn_id, start }).await?;
        self.say_begun();
        Ok(())
    }

    /// The journal says that its turn began: now the agent is told.
    pub(super) fn say_begun(&mut self) {
        if let Some(process) = self.process.as_mut()
            && let Some((turn, message)) = process.beginning.take()
        {
            process.turn = Some(turn);
            process.message = MessageId::generate();
            process.say(message);
        }
    }
}
