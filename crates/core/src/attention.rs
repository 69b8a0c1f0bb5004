//! What somebody must look at: which events wake the agent's host, which sessions a starting gateway takes up, when an
//! ask is closed over its tool's head.

use std::time::Duration;

use holdstead_protocol::{
    AgentState, AskChange, AskState, Closing, EventBody, HoldThen, InteractionId, Timestamp, TurnId,
};

use crate::{Ask, Head, Session};

/// How long a tool that handles its own timeout has before the ask is closed over its head.
const HANDLER_GRACE: Duration = Duration::from_secs(60);

/// Whether whoever hosts the session's agent has something to do about it.
pub fn concerns_host(body: &EventBody, session: &Session) -> bool {
    let of_agent = |id: &InteractionId| session.asks.get(id).is_some_and(|ask| ask.origin.is_agent());
    match body {
        EventBody::UserMessage(_) | EventBody::LateAnswer(_) | EventBody::Done(_) => true,
        EventBody::InteractionResponse(response) => of_agent(&response.interaction_id),
        EventBody::InteractionUpdate(update) => match update.change {
            AskChange::Queued { .. } => of_agent(&update.interaction_id),
            // Its tool knows, and the agent that called it is gone.
            AskChange::Settled { .. } => {
                session.head.orphaned_answers().any(|id| id == update.interaction_id)
            }
            AskChange::Delivery { .. }
            | AskChange::RanOtherThanApproved { .. }
            | AskChange::InTerminal { .. }
            | AskChange::RuleSaved { .. } => false,
        },
        EventBody::InteractionClosed(closed) => match closed.closing {
            Closing::Expired => of_agent(&closed.interaction_id),
            // The agent withdrew it, is being stopped, or was told before that the answer comes later.
            Closing::Cancelled | Closing::AnsweredLate | Closing::Withdrawn => false,
        },
        // Ended, or somebody wants the turn to end.
        EventBody::SessionStatus(status) => status.agent == AgentState::Ended || status.by.is_some(),
        EventBody::SessionOpened(_)
        | EventBody::SessionArchived(_)
        | EventBody::SessionUnarchived(_)
        | EventBody::InteractionSnoozed(_)
        | EventBody::InteractionUnsnoozed(_)
        | EventBody::TextDelta(_)
        | EventBody::ThinkingDelta(_)
        | EventBody::ToolCallStart(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolCallEnd(_)
        | EventBody::ToolResult(_)
        | EventBody::InteractionRequest(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
        | EventBody::TrustAdded(_)
        | EventBody::TrustRevoked(_)
        | EventBody::RulesFileChanged(_)
        | EventBody::VariablesSet(_)
        | EventBody::SessionInitialised(_)
        | EventBody::TurnEndBlocked(_)
        | EventBody::Error(_) => false,
    }
}

/// Something must be looked after when a gateway starts. An ended session can still have a process to end.
pub fn is_unfinished(head: &Head) -> bool {
    head.alive.is_some() || !head.unsaved.is_empty() || !is_idle(head)
}

/// Nobody waits for it, whether its agent runs or not.
pub fn is_idle(head: &Head) -> bool {
    let unended = head.agent != AgentState::Ended && (head.turn.is_some() || !head.pending.is_empty());
    let undelivered = head.undelivered > 0 || head.orphaned_answers().next().is_some();
    !(undelivered || head.submitted > 0 || unended)
}

/// When somebody must look at the ask: to close it, or because its snooze is over.
pub fn due_at(ask: &Ask) -> Option<Timestamp> {
    let unsnoozes_at = ask.snoozed.as_ref().map(|snoozed| snoozed.until);
    closes_at(ask).into_iter().chain(unsnoozes_at).min()
}

/// When somebody must close the ask. One that its tool is deciding on closes by that decision alone.
pub(crate) fn closes_at(ask: &Ask) -> Option<Timestamp> {
    let deadline = match ask.state {
        AskState::Open | AskState::Queued => ask.deadline?,
        AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Closed { .. } => return None,
    };
    Some(if ask.has_handler { deadline.after(HANDLER_GRACE) } else { deadline })
}

/// Whether this ask is the one of the call that the agent makes now, and not of a call that is over.
pub fn waits_for(ask: &Ask, turn: Option<TurnId>) -> bool {
    match &ask.state {
        AskState::Open | AskState::Submitted { .. } | AskState::Queued => true,
        AskState::Settled { .. } => ask.needs_delivery(),
        // Its time ran out while no process was there to be told.
        AskState::Closed { closing: Closing::Expired | Closing::AnsweredLate } => ask.turn_id == turn,
        AskState::Closed { closing: Closing::Cancelled | Closing::Withdrawn } => false,
    }
}

/// What becomes of an agent that was held at an ask as long as its hold says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterHold {
    /// It goes on waiting.
    Wait,
    /// It goes away until the answer comes.
    Park,
    /// It is told that the answer comes later, as a message.
    Queue,
    /// It is told that nobody answered.
    GiveUp,
}

/// What becomes of an agent that can be kept at an ask no longer: it would give the call up by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLimit {
    /// It has been answered.
    Nothing,
    /// It goes away until the answer comes. If it stays, it is told that nobody answered.
    Park,
    /// It is told that nobody answered.
    GiveUp,
}

pub fn after_limit(ask: &Ask) -> AfterLimit {
    match ask.state {
        AskState::Open if ask.can_park => AfterLimit::Park,
        AskState::Open => AfterLimit::GiveUp,
        AskState::Submitted { .. }
        | AskState::Queued
        | AskState::Settled { .. }
        | AskState::Closed { .. } => AfterLimit::Nothing,
    }
}

pub fn after_hold(ask: &Ask) -> AfterHold {
    if ask.state != AskState::Open {
        return AfterHold::Wait;
    }
    match ask.hold.then {
        HoldThen::Wait => AfterHold::Wait,
        HoldThen::Park if !ask.can_park => AfterHold::Wait,
        HoldThen::Park => AfterHold::Park,
        // A secret cannot come later as a message.
        HoldThen::Defer if ask.spec.has_secrets() => AfterHold::GiveUp,
        HoldThen::Deny => AfterHold::GiveUp,
        HoldThen::Defer => AfterHold::Queue,
    }
}
