//! What the agent said, on its way into the journal: in its order, one append at a time, kept until it is durable.

use std::collections::VecDeque;

use holdstead_core::{Basis, Command, Output, Rejection};
use holdstead_protocol::{AgentSeq, InteractionId, SessionError, ToolCallEnd, TurnId};
use holdstead_store::{AppendError, Appended, StoreError};
use tokio::task::JoinHandle;

use super::SessionTask;
use super::process::Process;
use crate::GatewayError;

/// How much may wait to be written before the agent is not listened to, and about the most that one append takes.
const MOST_WAITING: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Words {
    waiting: VecDeque<Word>,
    in_flight: Option<Flight>,
    /// One of the next so many is too large: they are written one by one, so that it stands alone.
    alone: usize,
    /// The next so many may have been written: they are written again as they were, so that their number tells.
    same: usize,
}

#[derive(Debug)]
struct Word {
    output: Output,
    /// All that the agent said up to here has gone before, or is in this. Nothing in words of our own.
    upto: Option<AgentSeq>,
}

#[derive(Debug)]
struct Flight {
    words: Vec<Word>,
    append: JoinHandle<Result<Appended, AppendError>>,
}

impl Words {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_none()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// What became of the append on its way. Never, without one.
    pub(super) async fn written(&mut self) -> Result<Appended, AppendError> {
        match self.in_flight.as_mut() {
            Some(flight) => (&mut flight.append).await.unwrap_or(Err(AppendError::Closed)),
            None => std::future::pending().await,
        }
    }

    /// How many are written together: what one number covers is not parted.
    fn next_count(&self) -> usize {
        if self.alone > 0 {
            return 1;
        }
        if self.same > 0 {
            return self.same;
        }
        let most = self.waiting.len().min(MOST_WAITING);
        let last = self.waiting.iter().take(most).rposition(|word| word.upto.is_some());
        last.map_or(most, |last| last + 1)
    }

    fn keep(&mut self, words: Vec<Word>) {
        for word in words.into_iter().rev() {
            self.waiting.push_front(word);
        }
    }
}

impl SessionTask {
    /// Keeps what the agent said up to this number until it is durable.
    pub(super) fn record(&mut self, outputs: Vec<Output>, upto: AgentSeq) {
        let last = outputs.len().saturating_sub(1);
        for (index, output) in outputs.into_iter().enumerate() {
            self.keep_word(output, Some(upto).filter(|_| index == last));
        }
    }

    /// Words of our own about the agent.
    pub(super) fn complain(&mut self, turn_id: Option<TurnId>, message: String) {
        self.keep_word(Output::Error(SessionError { turn_id, message }), None);
    }

    fn keep_word(&mut self, mut output: Output, upto: Option<AgentSeq>) {
        // What may be shown is settled now: a secret that comes later does not change what was said before it.
        self.gateway.inner.masks().outputs(self.session, std::slice::from_mut(&mut output));
        self.words.waiting.push_back(Word { output, upto });
    }

    /// Hands the next words to the journal, unless others are on their way.
    pub(super) fn write_words(&mut self) {
        if self.words.in_flight.is_some() || self.words.waiting.is_empty() {
            return;
        }
        let count = self.words.next_count();
        let words: Vec<_> = self.words.waiting.drain(..count).collect();
        self.words.alone = self.words.alone.saturating_sub(1);
        self.words.same = 0;
        let upto = words.iter().rev().find_map(|word| word.upto);
        let fence = match (upto, &self.process) {
            (Some(upto), Some(process)) => process.heard_upto(upto),
            // Without its number the journal could have it twice: whoever listens to the agent next hears it again.
            (Some(_), None) => return,
            (None, _) => self.beside_agent(),
        };
        let outputs = words.iter().map(|word| word.output.clone()).collect();
        let append = self.gateway.begin_append(self.session, Command::Record(outputs).fenced(fence));
        self.words.in_flight = Some(Flight { words, append });
    }

    /// Says whether they must be written again.
    pub(super) fn words_written(
        &mut self,
        appended: Result<Appended, AppendError>,
    ) -> Result<(), GatewayError> {
        let Some(Flight { words, .. }) = self.words.in_flight.take() else { return Ok(()) };
        match appended {
            Ok(appended) => {
                self.knows(&appended.session.head);
                Ok(())
            }
            Err(AppendError::TooLarge { bytes, limit }) => {
                if words.len() > 1 {
                    self.words.alone = words.len();
                    self.words.keep(words);
                    return Ok(());
                }
                let message = format!(
                    "The agent said something of {bytes} bytes, which is not kept: {limit} are allowed."
                );
                let instead = |word: Word| {
                    let message = message.clone();
                    Word { output: Output::Error(SessionError { turn_id: None, message }), ..word }
                };
                self.words.keep(words.into_iter().map(instead).collect());
                Ok(())
            }
            Err(AppendError::Rejected(rejection)) => {
                // The session has ended, and nobody listens to its agent any more; or somebody else speaks for it.
                tracing::debug!(session = %self.session, %rejection, "an agent's words were not taken");
                self.is_refused(&rejection);
                Ok(())
            }
            Err(error @ (AppendError::Closed | AppendError::Store(_))) => {
                let may_be_written = matches!(error, AppendError::Store(StoreError::Unknown { .. }));
                let numbered = words.iter().any(|word| word.upto.is_some());
                // Nothing tells whether words of our own were written: rather once too few than twice.
                if numbered || !may_be_written {
                    self.words.same = words.len();
                    self.words.keep(words);
                }
                Err(error.into())
            }
        }
    }

    /// Returns when all that the agent said is durable: what follows must not overtake it.
    pub(super) async fn keep_words(&mut self) -> Result<(), GatewayError> {
        self.flush();
        while !self.words.is_empty() {
            self.write_words();
            if self.words.in_flight.is_some() {
                let appended = self.words.written().await;
                self.words_written(appended)?;
            }
        }
        Ok(())
    }

    /// Makes what rules decided about the call that the agent makes now durable: with the words that wait, of which the end
    /// of that call may be one. If the journal does not take it, the words stay as they are.
    pub(super) async fn write_decision(
        &mut self,
        end: ToolCallEnd,
        basis: Basis,
        earlier_ask: InteractionId,
    ) -> Result<(), GatewayError> {
        self.flush();
        if self.words.in_flight.is_some() {
            let appended = self.words.written().await;
            self.words_written(appended)?;
        }
        // Words that must be written one by one, or again as they were, go before it.
        if self.words.alone > 0 || self.words.same > 0 {
            self.keep_words().await?;
        }
        let Some(fence) = self.process.as_ref().map(Process::heard_now) else { return Ok(()) };
        let mut decided = Output::ToolCallEnd(end.clone());
        self.gateway.inner.masks().outputs(self.session, std::slice::from_mut(&mut decided));
        // What cannot be written down is not allowed without a person.
        let Some(masked) = decided.call_end_mut().cloned() else { return Err(Rejection::OnRecord.into()) };
        let is_it =
            |other: &ToolCallEnd| other.tool_call_id == masked.tool_call_id && other.input == masked.input;
        let mut outputs: Vec<_> = self.words.waiting.iter().map(|word| word.output.clone()).collect();
        match outputs.iter_mut().filter_map(Output::call_end_mut).find(|other| is_it(other)) {
            Some(waiting) => *waiting = masked,
            None => outputs.push(decided),
        }
        let command = Command::Record(outputs).based_on(basis.clone(), Some(earlier_ask)).fenced(fence);
        let appended = self.gateway.begin_append(self.session, command).await;
        match appended.unwrap_or(Err(AppendError::Closed)) {
            // Another task brought this call before: what that one wrote is what was decided.
            Ok(appended) if appended.events.is_empty() => {
                Err(Rejection::OutOfStep { heard: appended.session.head.heard }.into())
            }
            Ok(appended) => {
                self.words.waiting.clear();
                self.knows(&appended.session.head);
                Ok(())
            }
            // One of the words may be what is too large: they are written one by one, and the decision alone.
            Err(AppendError::TooLarge { .. }) if !self.words.waiting.is_empty() => {
                self.words.alone = self.words.waiting.len();
                self.keep_words().await?;
                Box::pin(self.write_decision(end, basis, earlier_ask)).await
            }
            // It may be written: the journal says what was decided.
            Err(AppendError::Store(StoreError::Unknown { .. })) => Err(Rejection::OutOfStep {
                heard: self.process.as_ref().map_or(AgentSeq::START, |process| process.heard),
            }
            .into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes all words that were gathered.
    pub(super) fn flush(&mut self) {
        self.deltas.let_go();
        self.write_gathered();
    }

    /// The same, but for words that may turn out to be the beginning of a secret.
    pub(super) fn write_gathered(&mut self) {
        let (outputs, upto) = self.deltas.take();
        if !outputs.is_empty() {
            self.record(outputs, upto);
        }
    }
}
