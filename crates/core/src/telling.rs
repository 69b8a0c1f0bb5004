//! What the journal says of an ask. Each event names the call and the turn that the ask belongs to.

use holdstead_protocol::{
    AskChange, Closing, Delivery, EventBody, InteractionClosed, InteractionId, InteractionUpdate,
};

use crate::Ask;

pub(crate) fn update(id: InteractionId, ask: &Ask, change: AskChange) -> EventBody {
    EventBody::InteractionUpdate(InteractionUpdate {
        interaction_id: id,
        prompt_id: ask.prompt_id,
        tool_call_id: ask.tool_call_id.clone(),
        turn_id: ask.turn_id,
        change,
    })
}

pub(crate) fn delivery(id: InteractionId, ask: &Ask, delivery: Delivery) -> EventBody {
    update(id, ask, AskChange::Delivery { delivery })
}

/// With the words that the agent is given, if any.
pub(crate) fn closed(id: InteractionId, ask: &Ask, closing: Closing, message: Option<String>) -> EventBody {
    EventBody::InteractionClosed(InteractionClosed { closing, message, ..cancellation(id, ask) })
}

/// Taken back: by this person, or by whoever asked.
pub(crate) fn cancelled(id: InteractionId, ask: &Ask, by: Option<&str>) -> EventBody {
    EventBody::InteractionClosed(InteractionClosed { by: by.map(str::to_owned), ..cancellation(id, ask) })
}

pub(crate) fn cancellation(id: InteractionId, ask: &Ask) -> InteractionClosed {
    InteractionClosed {
        interaction_id: id,
        prompt_id: ask.prompt_id,
        tool_call_id: ask.tool_call_id.clone(),
        turn_id: ask.turn_id,
        closing: Closing::Cancelled,
        by: None,
        message: None,
        in_terminal: None,
    }
}
