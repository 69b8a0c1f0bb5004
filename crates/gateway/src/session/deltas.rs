//! Streamed words, gathered for a moment so that a fast agent costs few commits.

use std::time::Duration;

use holdpoint_core::Output;
use tokio::time::Instant;

/// How long a word may wait for others.
const WAIT: Duration = Duration::from_millis(50);
/// How much text may gather.
const SIZE: usize = 2048;

#[derive(Debug, Default)]
pub(super) struct Deltas {
    gathered: Vec<Output>,
    size: usize,
    since: Option<Instant>,
}

impl Deltas {
    /// Adds words; says whether it is time to write them.
    pub(super) fn add(&mut self, output: Output) -> bool {
        self.since.get_or_insert_with(Instant::now);
        self.size += text(&output).map_or(0, str::len);
        match (self.gathered.last_mut(), output) {
            (Some(Output::Text(last)), Output::Text(next))
                if last.message_id == next.message_id && last.parents == next.parents =>
            {
                last.text.push_str(&next.text);
            }
            (Some(Output::Thinking(last)), Output::Thinking(next))
                if last.message_id == next.message_id && last.parents == next.parents =>
            {
                last.text.push_str(&next.text);
            }
            (Some(Output::ToolCallDelta(last)), Output::ToolCallDelta(next))
                if last.tool_call_id == next.tool_call_id =>
            {
                last.text.push_str(&next.text);
            }
            (_, output) => self.gathered.push(output),
        }
        self.size >= SIZE
    }

    pub(super) fn take(&mut self) -> Vec<Output> {
        self.size = 0;
        self.since = None;
        std::mem::take(&mut self.gathered)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + WAIT)
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
