//! What the agent says goes into the journal.

use holdstead_agents::{AgentEvent, Outgoing, TurnEnd};
use holdstead_core::{Cancel, Command, Finish, Head, Output, Overhear, PendingTurn, RanOther, Rejection};
use holdstead_protocol::{
    AgentSeq, ContextSaid, EventBody, InTerminal, InteractionId, MessageId, Seq, SessionError, TextDelta,
    ThinkingDelta, ToolCallDelta, ToolCallEnd, ToolCallId, ToolCallStart, ToolResult, TurnId, UserMessage,
};
use holdstead_runner::{Said, Tell};

use super::SessionTask;
use super::journal::{Beginning, ask_of};
use super::lifecycle::words_of;
use crate::GatewayError;
use crate::terminals::TYPED_BY;

/// A turn that began with something else than words: a picture, say.
const NO_WORDS: &str = "(no words)";
/// A call that rules allowed.
const RAN_OTHER: &str =
    "A call ran with another input than the one that rules allowed: see its result in the transcript.";

impl SessionTask {
    /// Whatever of this touches the store comes before what it changes here: if it fails it is done again.
    pub(super) async fn agent_said(&mut self, said: &Said) -> Result<(), GatewayError> {
        match (&*said.event, said.turn) {
            (AgentEvent::Exited(exit), _) => self.exited(exit).await,
            (AgentEvent::Ready { agent_ref }, _) => self.identified(agent_ref).await,
            (AgentEvent::Forgotten, _) => self.forgot().await,
            (AgentEvent::TurnBegun { turn_id, message_id, text }, _) => {
                self.overheard(*turn_id, *message_id, text).await
            }
            (AgentEvent::AnsweredInTerminal { tool_call_id, how }, _) => {
                self.answered_in_terminal(tool_call_id, *how).await
            }
            (AgentEvent::Error { message }, turn_id) => {
                self.now(said.number, Output::Error(SessionError { turn_id, message: message.clone() }));
                Ok(())
            }
            (_, Some(turn_id)) => self.in_turn(turn_id, said).await,
            (AgentEvent::Ask(ask), None) => self.ask_outside_of_turn(ask).await,
            // Nobody is kept from ending what no turn is.
            (AgentEvent::TurnEnding, None) => {
                if let Some(process) = &self.process {
                    process.turn_ends(said.number, TurnEnd::Ends);
                }
                Ok(())
            }
            (event, None) => {
                tracing::debug!(session = %self.session, ?event, "an agent spoke outside of a turn");
                if let Some(process) = &self.process {
                    process.running.tell(Tell::CameToNothing { number: said.number });
                }
                Ok(())
            }
        }
    }

    async fn in_turn(&mut self, turn_id: TurnId, said: &Said) -> Result<(), GatewayError> {
        self.heard_what_it_was_told(&said.event);
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        let (message_id, number) = (said.message, said.number);
        match AgentEvent::clone(&said.event) {
            AgentEvent::Text { text, parents } => {
                self.soon(number, Output::Text(TextDelta { turn_id, message_id, text, parents }));
            }
            AgentEvent::Thinking { text, parents } => {
                self.soon(number, Output::Thinking(ThinkingDelta { turn_id, message_id, text, parents }));
            }
            AgentEvent::ToolCallDelta { tool_call_id, text } => {
                self.soon(number, Output::ToolCallDelta(ToolCallDelta { turn_id, tool_call_id, text }));
            }
            AgentEvent::MessageEnd => self.deltas.let_go(),
            AgentEvent::ToolCallStart { tool_call_id, tool_name, parents } => {
                let start = ToolCallStart { turn_id, message_id, tool_call_id, tool_name, parents };
                self.now(number, Output::ToolCallStart(start));
            }
            AgentEvent::ToolCallEnd { tool_call_id, input } => {
                let tool_name = said.made_by.as_ref().map(|(_, tool)| tool.clone());
                // What rules say about it may follow at once, and then rides with it.
                self.deltas.let_go();
                let decision = None;
                let end = ToolCallEnd { turn_id, tool_call_id, tool_name, input, decision };
                self.soon(number, Output::ToolCallEnd(end));
            }
            AgentEvent::ToolResult { tool_call_id, output, is_error } => {
                let result = ToolResult { turn_id, tool_call_id, output, is_error };
                self.now(number, Output::ToolResult(result));
            }
            AgentEvent::Ask(ask) => self.ask(*ask, said).await?,
            AgentEvent::CannotPark { why, tool_call_id } => {
                tracing::debug!(session = %self.session, why, "an agent would not be parked");
                let (incarnation, asked) = (process.incarnation, process.asked.get(&tool_call_id).copied());
                if let Some(asked) = asked {
                    self.could_not_park(asked.ask).await?;
                }
                self.take(Command::Stay { incarnation }).await?;
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
                    self.take(Command::NotRun { interaction_id, because }).await?;
                    self.no_longer_written(&tool_call_id);
                }
            }
            AgentEvent::RanOther { tool_call_id, input } => {
                if let Some(interaction_id) = self.last_ask(&tool_call_id, turn_id).await? {
                    let other = RanOther::new(interaction_id, input);
                    self.take(Command::RanOther(other)).await?;
                } else {
                    let message = RAN_OTHER.to_owned();
                    self.now(number, Output::Error(SessionError { turn_id: Some(turn_id), message }));
                }
            }
            AgentEvent::TurnEnding => self.turn_ending(turn_id).await?,
            AgentEvent::TurnDone { reason, usage } => {
                self.keep_words().await?;
                self.take(Command::Finish(Finish { turn_id, reason, usage, words: None })).await?;
                if let Some(process) = self.process.as_mut() {
                    process.turn_done();
                }
                self.fruitless_starts = 0;
                self.holds.clear();
                // Also if the turn was over before: a message may wait for the agent to be free.
                self.handle.wake();
            }
            AgentEvent::Ready { .. }
            | AgentEvent::TurnBegun { .. }
            | AgentEvent::AnsweredInTerminal { .. }
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
    fn soon(&mut self, number: AgentSeq, output: Output) {
        let secrets = self.gateway.inner.masks().of(self.session);
        self.deltas.add(number, output, secrets.as_ref());
    }

    pub(super) fn now(&mut self, number: AgentSeq, output: Output) {
        self.flush();
        self.record(vec![output], number);
    }

    async fn identified(&mut self, agent_ref: &str) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let agent_ref = agent_ref.to_owned();
        let command = Command::Identify { incarnation: process.incarnation, agent_ref };
        self.take(command).await?;
        Ok(())
    }

    async fn forgot(&mut self) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let command = Command::Forget { incarnation: process.incarnation };
        self.take(command).await?;
        Ok(())
    }

    async fn withdrawn(&mut self, tool_call_id: &ToolCallId) -> Result<(), GatewayError> {
        let asked = self.process.as_ref().and_then(|process| process.asked.get(tool_call_id));
        let Some(asked) = asked.copied() else { return Ok(()) };
        self.take(Command::Cancel(Cancel::Ask(asked.ask))).await?;
        self.holds.forget(asked.ask);
        if let Some(process) = self.process.as_mut() {
            process.asked.remove(tool_call_id);
            process.running.tell(Tell::NoReply { number: asked.made });
        }
        Ok(())
    }

    /// A person wrote where the agent runs, and its turn has begun.
    async fn overheard(
        &mut self,
        turn_id: TurnId,
        message_id: MessageId,
        text: &str,
    ) -> Result<(), GatewayError> {
        let start = self.start_step().await?;
        let text = if text.trim().is_empty() { NO_WORDS } else { text }.to_owned();
        let message = UserMessage { turn_id, message_id, text, from: TYPED_BY.to_owned(), actor: None };
        self.take(Command::Overhear(Box::new(Overhear { message, start }))).await?;
        if let Some(process) = self.process.as_mut() {
            process.begins(turn_id);
        }
        self.handle.wake();
        Ok(())
    }

    /// Whoever sits at the terminal was faster.
    async fn answered_in_terminal(
        &mut self,
        tool_call_id: &ToolCallId,
        how: InTerminal,
    ) -> Result<(), GatewayError> {
        let Some(process) = &self.process else { return Ok(()) };
        let asked = process.asked.get(tool_call_id).copied();
        let known = asked.map(|asked| asked.ask).or_else(|| process.written.get(tool_call_id).copied());
        // It may have been asked in an earlier life.
        let interaction_id = known.unwrap_or_else(|| ask_of(self.session, tool_call_id, 1));
        self.take(Command::Overtake { interaction_id, how }).await?;
        self.holds.forget(interaction_id);
        if let Some(process) = self.process.as_mut() {
            process.asked.remove(tool_call_id);
            process.written.remove(tool_call_id);
            if let Some(asked) = asked {
                process.running.tell(Tell::NoReply { number: asked.made });
            }
        }
        Ok(())
    }

    /// Gives the agent the next message that waits.
    pub(super) async fn begin(&mut self, next: PendingTurn) -> Result<(), GatewayError> {
        // Its end wakes us again, and another process begins the turn.
        if self.end_untrusted().await? {
            return Ok(());
        }
        let before = Seq(next.seq.0.saturating_sub(1));
        let events = self.gateway.inner.journal.read(self.session, before, 1).await?;
        let text = match events.into_iter().next().map(|event| event.body) {
            Some(EventBody::UserMessage(message)) => message.text,
            Some(EventBody::LateAnswer(late)) => late.text,
            Some(_) | None => return Err(GatewayError::Rejected(Rejection::NoSuchTurn)),
        };
        let start = self.start_step().await?;
        let message = opening(&start.context, text);
        if self.unless_refused(Command::Begin { turn_id: next.turn_id, start }).await?.is_some()
            && let Some(process) = self.process.as_mut()
        {
            process.begin(next.turn_id, message);
        }
        self.handle.wake();
        Ok(())
    }

    /// The journal says that a turn began, and whoever wrote that may not have told the agent.
    pub(super) async fn say_begun(&mut self, head: &Head) -> Result<(), GatewayError> {
        let Some(turn) = head.turn else { return Ok(()) };
        let Beginning { text: Some(text), context } = self.beginning_of(turn).await? else { return Ok(()) };
        if let Some(process) = self.process.as_mut() {
            process.begin(turn, opening(&context, text));
        }
        self.handle.wake();
        Ok(())
    }
}

fn opening(context: &[ContextSaid], text: String) -> Outgoing {
    match words_of(context) {
        Some(context) => Outgoing::MessageWithContext { context, text },
        None => Outgoing::Message { text },
    }
}
