//! The agent said something that asks nothing of anybody.

use holdstead_protocol::{
    EventBody, InteractionId, SessionError, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallEnd,
    ToolCallStart, ToolResult,
};

use super::still_open;
use crate::fold::awaited;
use crate::{Head, Rejection};

/// What an agent may write into its journal by itself. Nothing here can allow anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Text(TextDelta),
    Thinking(ThinkingDelta),
    ToolCallStart(ToolCallStart),
    ToolCallDelta(ToolCallDelta),
    ToolCallEnd(ToolCallEnd),
    ToolResult(ToolResult),
    Error(SessionError),
}

impl Output {
    /// The ask that its call waits for, if it names one.
    pub(crate) fn awaits(&self) -> Option<InteractionId> {
        match self {
            Self::ToolCallEnd(end) => awaited(&end.input),
            Self::Text(_)
            | Self::Thinking(_)
            | Self::ToolCallStart(_)
            | Self::ToolCallDelta(_)
            | Self::ToolResult(_)
            | Self::Error(_) => None,
        }
    }

    /// The event that it becomes.
    pub fn to_event(&self) -> EventBody {
        match self.clone() {
            Self::Text(delta) => EventBody::TextDelta(delta),
            Self::Thinking(delta) => EventBody::ThinkingDelta(delta),
            Self::ToolCallStart(start) => EventBody::ToolCallStart(start),
            Self::ToolCallDelta(delta) => EventBody::ToolCallDelta(delta),
            Self::ToolCallEnd(end) => EventBody::ToolCallEnd(end),
            Self::ToolResult(result) => EventBody::ToolResult(result),
            Self::Error(error) => EventBody::Error(error),
        }
    }
}

pub(crate) fn decide(head: &Head, outputs: &[Output]) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    Ok(outputs.iter().map(Output::to_event).collect())
}
