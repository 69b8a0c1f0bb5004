//! What must hold in every cell.

use holdstead_protocol::{AskState, Decider, Delivery, EventBody, StopReason};
use holdstead_scripted_model::Told;

use super::cell::{Cell, Kind, Step};
use super::play::{History, LABEL, RAN};

/// Words of a refusal that nobody gave.
const REFUSALS: [&str; 5] = ["doesn't want", "does not want", "refused", "denied", "rejected"];

#[derive(Debug)]
pub(super) struct Judged {
    pub(super) way: Way,
    pub(super) end: Option<StopReason>,
    /// What the person is told about the end.
    pub(super) words: Option<String>,
    pub(super) failures: Vec<String>,
}

/// How what was decided came to the model.
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

pub(super) fn judge(cell: Cell, history: &History) -> Judged {
    let way = way(cell, history);
    let mut failures = Vec::new();
    let mut fail = |holds: bool, words: String| {
        if !holds {
            failures.push(words);
        }
    };
    if let Some(ask) = &history.at_death {
        let answered = match cell.step {
            Step::Announced | Step::Shown | Step::Open => false,
            Step::Answered | Step::Delivering | Step::Running | Step::Acknowledged => true,
        };
        let kept = match &ask.state {
            AskState::Open => !answered,
            AskState::Settled { .. } => answered,
            AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => false,
        };
        fail(kept, format!("after the kill the ask is {:?}", ask.state));
    }
    fail(history.at_death.is_some() || cell.step == Step::Announced, "the ask is gone".to_owned());
    fail(way != Way::Lost, format!("the answer was lost: {:?}, {:?}", delivery(history), history.told));
    fail(history.ran_unasked == 0, format!("it ran {} times before anybody approved", history.ran_unasked));
    fail(
        history.ran <= history.approvals,
        format!("it ran {} times on {} approvals", history.ran, history.approvals),
    );
    for told in history.told.iter().chain(&history.told_after) {
        let invented = REFUSALS.iter().any(|words| told.words().contains(words));
        fail(!invented, format!("the model was told of a refusal: {}", told.words()));
    }
    let end = history
        .journal
        .iter()
        .find_map(|event| if let EventBody::Done(done) = &event.body { Some(done.reason) } else { None });
    let words = history.journal.iter().rev().find_map(|event| {
        if let EventBody::Error(error) = &event.body { Some(error.message.clone()) } else { None }
    });
    fail(end.is_some(), "the turn does not end".to_owned());
    fail(end != Some(StopReason::Failed) || words.is_some(), "the turn failed without a word".to_owned());
    Judged { way, end, words, failures }
}

fn delivery(history: &History) -> Option<&Delivery> {
    history.at_end.as_ref()?.delivery.as_ref()
}

fn way(cell: Cell, history: &History) -> Way {
    let Some(ask) = &history.at_end else { return Way::NoAsk };
    let wanted = match cell.kind {
        Kind::Question => LABEL,
        Kind::Approval => RAN,
    };
    let call = ask.request.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut way = None;
    for told in history.told.iter().filter(|told| told.words().contains(wanted)) {
        way = way.or(Some(match told {
            Told::ToolResult { tool_use_id, .. } if *tool_use_id == call => Way::SameCall,
            Told::ToolResult { .. } if repeated(history) => Way::Repeat,
            Told::ToolResult { .. } => Way::AskedAgain,
            Told::Text { .. } | Told::Reminder { .. } => Way::Words,
        }));
    }
    let shown = matches!(delivery(history), Some(Delivery::Unknown { .. } | Delivery::Undeliverable { .. }));
    way.unwrap_or(if shown { Way::ShownAsUnknown } else { Way::Lost })
}

/// A call was allowed by what a person had said about an identical one.
fn repeated(history: &History) -> bool {
    history.journal.iter().any(|event| {
        matches!(&event.body, EventBody::InteractionResponse(response)
            if matches!(response.decider, Decider::Earlier { .. }))
    })
}
