//! The session's start step, and the ends of its turns: what rules say of them is durable before the agent hears it.

use holdstead_agents::TurnEnd;
use holdstead_core::policy::{Ending, MAX_STOP_ATTEMPTS};
use holdstead_core::{Command, Output, Start};
use holdstead_protocol::{AgentSeq, ContextSaid, SessionError, TurnEndBlocked, TurnId};
use holdstead_store::SessionRecord;

use super::SessionTask;
use super::process::Process;
use crate::GatewayError;

impl SessionTask {
    /// What the agent's next turn begins with. Nothing, once the session was initialised.
    pub(super) async fn start_step(&mut self) -> Result<Start, GatewayError> {
        match self.gateway.inner.journal.session(self.session).await? {
            Some(record) if !record.state.initialised => self.gateway.start_of(&record).await,
            Some(_) | None => Ok(Start::default()),
        }
    }

    /// What an agent that has forgotten its conversation is told again.
    pub(super) async fn context_again(
        &mut self,
        record: &SessionRecord,
    ) -> Result<Option<String>, GatewayError> {
        Ok(words_of(&self.gateway.start_of(record).await?.context)
            .map(|context| format!("From Holdstead, and not from the person who writes to you:\n{context}")))
    }

    /// The agent wants to end its turn.
    pub(super) async fn turn_ending(&mut self, turn_id: TurnId) -> Result<(), GatewayError> {
        self.keep_words().await?;
        let Some(asked) = self.process.as_ref().map(|process| process.now) else { return Ok(()) };
        if self.process.as_ref().is_some_and(Process::is_repeated) {
            let end = self.blocked_at(asked).await?.map_or(TurnEnd::Ends, |words| TurnEnd::Blocked { words });
            if let Some(process) = &self.process {
                process.turn_ends(asked, end);
            }
            return Ok(());
        }
        let found = match self.process.as_ref().and_then(|process| process.end_blocked.clone()) {
            // The store failed after it was decided: whether it was written or not, it stays decided.
            Some(blocked) => Some(blocked),
            None => self.end_blocked(turn_id, asked).await?,
        };
        let end = match found {
            None => TurnEnd::Ends,
            Some(blocked) => {
                if let Some(process) = self.process.as_mut() {
                    process.end_blocked = Some(blocked.clone());
                }
                let words = blocked.words.clone();
                match self.take(Command::BlockEnd(blocked)).await? {
                    Some(_) => TurnEnd::Blocked { words },
                    None => TurnEnd::Ends,
                }
            }
        };
        if let Some(process) = self.process.as_mut() {
            process.end_blocked = None;
            process.turn_ends(asked, end);
        }
        Ok(())
    }

    /// The rule that keeps this turn going, if one does.
    async fn end_blocked(
        &mut self,
        turn_id: TurnId,
        asked: AgentSeq,
    ) -> Result<Option<Box<TurnEndBlocked>>, GatewayError> {
        let Some(record) = self.gateway.inner.journal.session(self.session).await? else { return Ok(None) };
        // What a person stopped ends.
        if record.state.stopped_by.is_some() || record.state.turn != Some(turn_id) {
            return Ok(None);
        }
        match self.gateway.ending_of(&record).await? {
            Ending::Ends => Ok(None),
            Ending::EndsAnyway { by } => {
                let message = format!(
                    "A rule kept this turn from ending {MAX_STOP_ATTEMPTS} times, which is as often as it may, so the turn \
                     ends although the rule still holds: {}",
                    by.text
                );
                self.now(asked, Output::Error(SessionError { turn_id: Some(turn_id), message }));
                Ok(None)
            }
            Ending::Blocked { by, words } => {
                let attempt = record.state.stop_attempts + 1;
                Ok(Some(Box::new(TurnEndBlocked { turn_id, attempt, rule: by.into(), words })))
            }
        }
    }
}

/// What is said before a person's words.
pub(super) fn words_of(context: &[ContextSaid]) -> Option<String> {
    let lines: Vec<_> = context.iter().map(|said| said.words.as_str()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
