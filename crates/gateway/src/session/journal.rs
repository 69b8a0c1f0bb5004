//! What a task that comes later reads of what an earlier one did.

use holdstead_core::Head;
use holdstead_protocol::{
    AgentSeq, CallDecision, ContextSaid, Event, EventBody, InteractionId, ProcessChange, Seq, SessionId,
    ToolCallId, TurnId,
};

use super::SessionTask;
use crate::GatewayError;

/// How many events are read at once.
const PAGE: u32 = 200;

/// What a turn began with.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    pub(super) text: Option<String>,
    pub(super) context: Vec<ContextSaid>,
}

impl SessionTask {
    /// What the agent is given when this turn begins.
    pub(super) async fn beginning_of(&self, turn: TurnId) -> Result<Beginning, GatewayError> {
        let mut beginning = Beginning::default();
        self.look_through(|event| {
            if let EventBody::UserMessage(message) = event.body {
                if message.turn_id == turn {
                    beginning.text = Some(message.text);
                }
            } else if let EventBody::LateAnswer(late) = event.body {
                if late.turn_id == turn {
                    beginning.text = Some(late.text);
                }
            } else if let EventBody::SessionInitialised(start) = event.body
                && start.turn_id == turn
            {
                beginning.context = start.context;
            }
        })
        .await?;
        Ok(beginning)
    }

    /// The words with which the live process was kept from ending its turn when it wanted to with this number.
    pub(super) async fn blocked_at(&self, number: AgentSeq) -> Result<Option<String>, GatewayError> {
        let mut words = None;
        self.look_through(|event| {
            if begins_life(&event.body) {
                words = None;
            } else if let EventBody::TurnEndBlocked(blocked) = event.body
                && event.heard == Some(number)
            {
                words = Some(blocked.words);
            }
        })
        .await?;
        Ok(words)
    }

    /// What rules decided about this call in the life of the live process, when it made the call with this number. The program
    /// may make a call again with another input, and then it has another number.
    pub(super) async fn decision_on(
        &self,
        call: &ToolCallId,
        made: AgentSeq,
    ) -> Result<Option<CallDecision>, GatewayError> {
        let (mut decision, mut in_this_append) = (None, None);
        self.look_through(|event| {
            if begins_life(&event.body) {
                (decision, in_this_append) = (None, None);
            } else if let EventBody::ToolCallEnd(end) = event.body
                && end.tool_call_id == *call
            {
                in_this_append = end.decision;
            }
            // The last event of an append has the number.
            if let Some(heard) = event.heard {
                let decided = in_this_append.take();
                if heard == made {
                    decision = decided.map(|decided| *decided).or(decision.take());
                }
            }
        })
        .await?;
        Ok(decision)
    }

    /// The last ask of this call in this turn.
    pub(super) async fn last_ask(
        &self,
        call: &ToolCallId,
        turn: TurnId,
    ) -> Result<Option<InteractionId>, GatewayError> {
        let mut last = None;
        for time in 1_u32.. {
            let id = ask_of(self.session, call, time);
            let Some(record) = self.gateway.inner.journal.ask(id).await? else { break };
            if record.ask.turn_id == Some(turn) {
                last = Some(id);
            }
        }
        Ok(last)
    }

    async fn look_through(&self, mut look: impl FnMut(Event)) -> Result<(), GatewayError> {
        let mut after = Seq::START;
        loop {
            let page = self.gateway.inner.journal.read(self.session, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            page.into_iter().for_each(&mut look);
        }
    }

    /// The message that the turn began with, for an agent that has forgotten it.
    pub(super) async fn first_message(&self, head: &Head) -> Result<Option<String>, GatewayError> {
        match head.turn {
            Some(turn) if head.forgotten && self.process.is_none() => Ok(self.beginning_of(turn).await?.text),
            Some(_) | None => Ok(None),
        }
    }
}

/// The ask that this call opens when it is asked about for this time.
pub(super) fn ask_of(session: SessionId, call: &ToolCallId, time: u32) -> InteractionId {
    match time {
        1 => InteractionId::derive(session, call.as_str()),
        _ => InteractionId::derive(session, &format!("{}\n{time}", call.as_str())),
    }
}

const fn begins_life(body: &EventBody) -> bool {
    let EventBody::SessionStatus(status) = body else { return false };
    matches!(status.process(), Some(ProcessChange::Starting { .. }))
}
