//! What the agent said, on its way into the journal: in its order, one append at a time, kept until it is durable.

use std::collections::VecDeque;

use holdstead_core::{Command, Output};
use holdstead_protocol::{EventBody, Seq, SessionError};
use holdstead_store::{AppendError, Appended, StoreError};
use tokio::task::JoinHandle;

use super::SessionTask;
use crate::GatewayError;

/// How much may wait to be written before the agent is not listened to, and the most that one append takes.
const MOST_WAITING: usize = 64;
/// How many events are read at once when it is looked up whether words were written.
const PAGE: u32 = 200;

#[derive(Debug, Default)]
pub(super) struct Words {
    waiting: VecDeque<Output>,
    in_flight: Option<Flight>,
    /// One of the next so many is too large: they are written one by one, so that it stands alone.
    alone: usize,
    /// Whatever was written of this session's words is before this, or was the last append.
    durable: Seq,
    /// The reply to the last append was lost: what waits first may have been written.
    unsure: usize,
}

#[derive(Debug)]
struct Flight {
    outputs: Vec<Output>,
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

    /// All words that were given to the journal are before this event, if none are on their way.
    pub(super) fn are_before(&mut self, head: Seq) {
        if self.is_empty() {
            self.durable = head;
        }
    }

    fn keep(&mut self, outputs: Vec<Output>) {
        for output in outputs.into_iter().rev() {
            self.waiting.push_front(output);
        }
    }
}

impl SessionTask {
    /// Keeps what the agent said until it is durable.
    pub(super) fn record(&mut self, mut outputs: Vec<Output>) {
        // What may be shown is settled now: a secret that comes later does not change what was said before it.
        self.gateway.inner.masks().outputs(self.session, &mut outputs);
        self.words.waiting.extend(outputs);
    }

    /// Hands the next words to the journal, unless others are on their way.
    pub(super) fn write_words(&mut self) {
        let words = &mut self.words;
        if words.in_flight.is_some() || words.waiting.is_empty() || words.unsure > 0 {
            return;
        }
        let count = if words.alone > 0 { 1 } else { words.waiting.len().min(MOST_WAITING) };
        words.alone = words.alone.saturating_sub(1);
        let outputs: Vec<_> = words.waiting.drain(..count).collect();
        let append = self.gateway.begin_append(self.session, Command::Record(outputs.clone()));
        self.words.in_flight = Some(Flight { outputs, append });
    }

    /// Says whether they must be written again.
    pub(super) fn words_written(
        &mut self,
        appended: Result<Appended, AppendError>,
    ) -> Result<(), GatewayError> {
        let Some(Flight { outputs, .. }) = self.words.in_flight.take() else { return Ok(()) };
        match appended {
            Ok(appended) => {
                self.words.durable = appended.head;
                Ok(())
            }
            Err(AppendError::TooLarge { bytes, limit }) => {
                if outputs.len() > 1 {
                    self.words.alone = outputs.len();
                    self.words.keep(outputs);
                    return Ok(());
                }
                let message = format!(
                    "The agent said something of {bytes} bytes, which is not kept: {limit} are allowed."
                );
                self.words.keep(vec![Output::Error(SessionError { turn_id: None, message })]);
                Ok(())
            }
            Err(AppendError::Rejected(rejection)) => {
                // The session has ended: nobody listens to its agent any more.
                tracing::debug!(session = %self.session, %rejection, "an agent's words were not taken");
                Ok(())
            }
            Err(error @ (AppendError::Closed | AppendError::Store(_))) => {
                if let AppendError::Store(StoreError::Unknown { .. }) = error {
                    self.words.unsure = outputs.len();
                }
                self.words.keep(outputs);
                Err(error.into())
            }
        }
    }

    /// Whether words have to be looked for in the journal before anything is written again.
    pub(super) const fn is_unsure_of_words(&self) -> bool {
        self.words.unsure > 0
    }

    /// Looks whether the words whose reply was lost were written.
    pub(super) async fn find_words(&mut self) -> Result<(), GatewayError> {
        let wanted: Vec<EventBody> =
            self.words.waiting.iter().take(self.words.unsure).map(Output::to_event).collect();
        let mut after = self.words.durable;
        let mut found = 0;
        while found < wanted.len() {
            let events = self.gateway.inner.journal.read(self.session, after, PAGE).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                found = if wanted.get(found) == Some(&event.body) { found + 1 } else { 0 };
                if found == wanted.len() {
                    break;
                }
            }
        }
        if found == wanted.len() {
            self.words.waiting.drain(..found);
        }
        self.words.unsure = 0;
        Ok(())
    }

    /// Returns when all that the agent said is durable: what follows must not overtake it.
    pub(super) async fn keep_words(&mut self) -> Result<(), GatewayError> {
        self.flush();
        while !self.words.is_empty() {
            if self.is_unsure_of_words() {
                self.find_words().await?;
            }
            self.write_words();
            if self.words.in_flight.is_some() {
                let appended = self.words.written().await;
                self.words_written(appended)?;
            }
        }
        Ok(())
    }

    /// Writes all words that were gathered.
    pub(super) fn flush(&mut self) {
        self.deltas.let_go();
        self.write_gathered();
    }

    /// The same, but for words that may turn out to be the beginning of a secret.
    pub(super) fn write_gathered(&mut self) {
        let outputs = self.deltas.take();
        if !outputs.is_empty() {
            self.record(outputs);
        }
    }
}
