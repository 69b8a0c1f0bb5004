//! The agent said something that asks nothing of anybody.

use holdstead_protocol::{
    EventBody, InteractionId, SessionError, TextDelta, ThinkingDelta, Told, ToolCallDelta, ToolCallEnd,
    ToolCallStart, ToolResult,
};

use super::based::{Rules, not_stopped};
use super::still_open;
use crate::fold::awaited;
use crate::{Ask, Rejection, Session, digest, policy};

/// What an agent says. The end of a call may carry what rules decided about it: see [`super::based`].
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
    /// The end of a call, if it is one.
    pub fn call_end_mut(&mut self) -> Option<&mut ToolCallEnd> {
        if let Self::ToolCallEnd(end) = self { Some(end) } else { None }
    }

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

pub(crate) fn decide(
    session: &Session,
    outputs: &[Output],
    rules: Rules,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(&session.head)?;
    for output in outputs {
        if let Output::ToolCallEnd(end) = output
            && let Some(decision) = &end.decision
        {
            may_be_decided(session, end, decision.told, rules.check()?)?;
        }
    }
    Ok(outputs.iter().map(Output::to_event).collect())
}

/// Whether rules may decide about this call. What a person decided about it, or about the same call that never reached the
/// agent, comes before any rule.
fn may_be_decided(
    session: &Session,
    end: &ToolCallEnd,
    told: Told,
    earlier_ask: Option<InteractionId>,
) -> Result<(), Rejection> {
    let (tool, input) = (end.tool_name.as_deref().unwrap_or_default(), digest(&end.input));
    // Another input is another call, even under the same id.
    let is_asked = |ask: &Ask| ask.is_live() || ask.input_digest == input;
    if earlier_ask.and_then(|id| session.asks.get(&id)).is_some_and(is_asked) {
        return Err(Rejection::OnRecord);
    }
    match told {
        Told::Denied => Ok(()),
        Told::LeftToAgent => not_stopped(&session.head),
        Told::Allowed => {
            not_stopped(&session.head)?;
            let once = policy::is_approved_late(&session.head.grants, tool, &input);
            if once || session.head.undelivered > 0 { Err(Rejection::OnRecord) } else { Ok(()) }
        }
    }
}
