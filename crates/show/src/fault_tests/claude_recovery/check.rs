//! What must hold after every kill.

use holdstead_protocol::{AskState, Decider, Delivery, EventBody, StopReason};
use holdstead_scripted_model::Told;

use super::play::History;
use super::{Cell, Step};

/// Words of a refusal that no person gave.
const REFUSALS: [&str; 5] = ["doesn't want", "does not want", "refused", "denied", "rejected"];

/// How the person's decision came to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    NoAsk,
    /// As the result of the very call that asked.
    SameCall,
    /// In words, as a message.
    Words,
    /// It was told in words to make the call again, which then ran.
    Repeat,
    /// The person was asked once more.
    AskedAgain,
    /// It may have it or not, and the person is shown that.
    ShownAsUnknown,
    Lost,
}

/// Says how the decision came to the model, and everything that is wrong.
pub(super) fn judge(cell: Cell, history: &History) -> (Way, Vec<String>) {
    let way = way(cell, history);
    let mut failures = Vec::new();
    let mut fail = |holds: bool, words: String| {
        if !holds {
            failures.push(words);
        }
    };
    match &history.at_death {
        Some(ask) => {
            let answered = cell.step >= Step::Answered;
            let kept = match &ask.state {
                AskState::Open => !answered,
                AskState::Settled { .. } => answered,
                AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => false,
            };
            fail(kept, format!("after the kill the ask is {:?}", ask.state));
        }
        None => fail(cell.step == Step::Announced, "the ask is gone".to_owned()),
    }
    fail(way != Way::Lost, format!("the answer was lost: {:?}, {:?}", delivery(history), history.told));
    fail(history.ran_unasked == 0, format!("it ran {} times before an approval", history.ran_unasked));
    fail(
        history.ran <= history.approvals,
        format!("it ran {} times on {} approvals", history.ran, history.approvals),
    );
    for told in history.told.iter().chain(&history.told_after) {
        let invented = REFUSALS.iter().any(|words| told.words().contains(words));
        fail(!invented, format!("the model was told of a refusal: {}", told.words()));
    }
    let explained = history.journal.iter().any(|event| matches!(event.body, EventBody::Error(_)));
    fail(
        history.end != StopReason::Failed || explained,
        "the turn failed and its journal does not say why".to_owned(),
    );
    (way, failures)
}

fn delivery(history: &History) -> Option<&Delivery> {
    history.at_end.as_ref()?.delivery.as_ref()
}

fn way(cell: Cell, history: &History) -> Way {
    let Some(ask) = &history.at_end else { return Way::NoAsk };
    let call = ask.request.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let shown = matches!(delivery(history), Some(Delivery::Unknown { .. } | Delivery::Undeliverable { .. }));
    match history.told.iter().find(|told| told.words().contains(cell.kind.answer())) {
        Some(Told::ToolResult { tool_use_id, .. }) if *tool_use_id == call => Way::SameCall,
        Some(Told::ToolResult { .. }) if repeated(history) => Way::Repeat,
        Some(Told::ToolResult { .. }) => Way::AskedAgain,
        Some(Told::Text { .. } | Told::Reminder { .. }) => Way::Words,
        None if shown => Way::ShownAsUnknown,
        None => Way::Lost,
    }
}

/// A call was allowed by what a person had said about an identical one.
fn repeated(history: &History) -> bool {
    history.journal.iter().any(|event| {
        matches!(&event.body, EventBody::InteractionResponse(response)
            if matches!(response.decider, Decider::Earlier { .. }))
    })
}
