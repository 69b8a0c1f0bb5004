//! Streamed words, gathered for a moment so that a fast agent costs few commits, and one that never stops costs no
//! more than that.

use std::time::Duration;

use holdstead_core::Output;
use holdstead_protocol::AgentSeq;
use tokio::time::Instant;

use crate::needles::Needles;

/// How long a word may wait for others.
const WAIT: Duration = Duration::from_millis(50);
/// How much text may gather: then the agent is not listened to until it is written. That makes 160 KB a second, far
/// more than a model says, and far less than a program can.
const SIZE: usize = 8 * 1024;
/// The same for messages that end before much was said: each is an event of its own. Whoever follows live may lag a few
/// such gatherings behind before it has to read the journal.
const MESSAGES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Deltas {
    gathered: Vec<Output>,
    size: usize,
    since: Option<Instant>,
    /// The last of what was said that is among it. The end of that may be held: then it is lost if nobody takes more.
    upto: AgentSeq,
    /// Ends of streams that may be the beginning of a secret, which the next words complete or not.
    held: Vec<Output>,
}

impl Deltas {
    /// Adds words that were said with this number, without the secrets that are known.
    pub(super) fn add(&mut self, number: AgentSeq, mut output: Output, secrets: Option<&Needles>) {
        self.upto = number;
        if let Some(secrets) = secrets {
            self.mask(&mut output, secrets);
        }
        self.gather(output);
    }

    /// No more until they are written.
    pub(super) const fn is_full(&self) -> bool {
        self.size >= SIZE || self.gathered.len() >= MESSAGES
    }

    /// No words follow on those that are held: they are gathered as they are.
    pub(super) fn let_go(&mut self) {
        for output in std::mem::take(&mut self.held) {
            self.gather(output);
        }
    }

    /// A secret may come in pieces. What could be its beginning waits for what follows in the same stream.
    fn mask(&mut self, output: &mut Output, secrets: &Needles) {
        let earlier = self.held.iter().position(|held| same_stream(held, output));
        let earlier = earlier.map(|at| self.held.remove(at));
        let Some(words) = text_mut(output) else { return };
        if let Some(earlier) = earlier.as_ref().and_then(text) {
            words.insert_str(0, earlier);
        }
        secrets.text(words);
        let end = words.split_off(words.len() - secrets.held(words));
        if !end.is_empty() {
            let mut held = output.clone();
            if let Some(words) = text_mut(&mut held) {
                *words = end;
            }
            self.held.push(held);
        }
    }

    fn gather(&mut self, output: Output) {
        if text(&output).is_some_and(str::is_empty) {
            return;
        }
        self.since.get_or_insert_with(Instant::now);
        self.size += text(&output).map_or(0, str::len);
        match self.gathered.last_mut().filter(|last| same_stream(last, &output)).and_then(text_mut) {
            Some(words) => words.push_str(text(&output).unwrap_or_default()),
            None => self.gathered.push(output),
        }
    }

    /// With the number of the last of it.
    pub(super) fn take(&mut self) -> (Vec<Output>, AgentSeq) {
        self.size = 0;
        self.since = None;
        (std::mem::take(&mut self.gathered), self.upto)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + WAIT)
    }
}

fn same_stream(one: &Output, other: &Output) -> bool {
    match (one, other) {
        (Output::Text(one), Output::Text(other)) => {
            one.message_id == other.message_id && one.parents == other.parents
        }
        (Output::Thinking(one), Output::Thinking(other)) => {
            one.message_id == other.message_id && one.parents == other.parents
        }
        (Output::ToolCallDelta(one), Output::ToolCallDelta(other)) => one.tool_call_id == other.tool_call_id,
        (_, _) => false,
    }
}

fn text_mut(output: &mut Output) -> Option<&mut String> {
    match output {
        Output::Text(delta) => Some(&mut delta.text),
        Output::Thinking(delta) => Some(&mut delta.text),
        Output::ToolCallDelta(delta) => Some(&mut delta.text),
        Output::ToolCallStart(_) | Output::ToolCallEnd(_) | Output::ToolResult(_) | Output::Error(_) => None,
    }
}

fn text(output: &Output) -> Option<&str> {
    match output {
        Output::Text(delta) => Some(&delta.text),
        Output::Thinking(delta) => Some(&delta.text),
        Output::ToolCallDelta(delta) => Some(&delta.text),
        Output::ToolCallStart(_) | Output::ToolCallEnd(_) | Output::ToolResult(_) | Output::Error(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::{MessageId, TextDelta, TurnId};

    fn say(message_id: MessageId, text: &str) -> Output {
        let turn_id = TurnId::generate();
        Output::Text(TextDelta { turn_id, message_id, text: text.to_owned(), parents: Vec::new() })
    }

    /// How many words are listened to before the agent has to wait.
    fn taken(mut next: impl FnMut() -> Output) -> (usize, usize) {
        let mut deltas = Deltas::default();
        let mut words = 0;
        while !deltas.is_full() {
            deltas.add(AgentSeq(1), next(), None);
            words += 1;
        }
        let events = deltas.take().0.len();
        assert!(!deltas.is_full() && deltas.due().is_none());
        (words, events)
    }

    #[tokio::test]
    async fn an_agent_that_never_stops_has_to_wait() {
        let message = MessageId::generate();
        assert_eq!(taken(|| say(message, "word ")), (SIZE.div_ceil(5), 1));
        assert_eq!(taken(|| say(MessageId::generate(), "word ")), (MESSAGES, MESSAGES));
    }
}
