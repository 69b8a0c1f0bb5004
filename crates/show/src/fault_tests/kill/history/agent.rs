//! What the agent was told and did, against what was decided.

use std::collections::BTreeMap;

use holdstead_protocol::{Delivery, EventBody, Response, Settlement, ToolCallId, ToolResult};
use serde_json::json;

use super::answers::{Ask, asks};
use super::{Finding, Found, History, add, mark};

pub(super) fn check(history: &History, found: &mut Vec<Found>) {
    let asks = asks(history);
    results(history, &asks, found);
    deliveries(&asks, found);
    effects(history, &asks, found);
    taken(history, &asks, found);
    repeats(&asks, found);
}

/// What the agent says it was given.
fn results(history: &History, asks: &[Ask<'_>], found: &mut Vec<Found>) {
    let mut approved: BTreeMap<&ToolCallId, usize> = BTreeMap::new();
    for event in &history.journal {
        let EventBody::ToolResult(result) = &event.body else { continue };
        let received = &result.output["received"];
        // The last one until then: asked again, the call has a new ask.
        let ask = of_call(asks, &result.tool_call_id).rfind(|ask| ask.opened < event.seq);
        if received["settlement"] == "approved" {
            *approved.entry(&result.tool_call_id).or_default() += 1;
        }
        if let Some(wrong) = wrong(result, ask) {
            let decided = of_call(asks, &result.tool_call_id).map(|ask| {
                let responses = ask.responses.iter().map(|(seq, response)| (seq.0, &response.response));
                format!("asked at {}: {:?}", ask.opened, responses.collect::<Vec<_>>())
            });
            let decided: Vec<_> = decided.collect();
            let call = &result.tool_call_id;
            add(found, wrong, format!("{call} was told {received} at {}; {}", event.seq, decided.join("; ")));
        }
    }
    for (call, times) in approved {
        if times > 1 {
            add(
                found,
                Finding::WrittenTwice,
                format!("the agent was told {times} times that it may run {call}"),
            );
        }
    }
}

fn of_call<'a, 'b>(
    asks: &'b [Ask<'a>],
    call: &'b ToolCallId,
) -> impl DoubleEndedIterator<Item = &'b Ask<'a>> {
    asks.iter().filter(move |ask| ask.request.tool_call_id.as_ref() == Some(call))
}

/// How what the agent was told differs from what was decided, if it does.
fn wrong(result: &ToolResult, ask: Option<&Ask<'_>>) -> Option<Finding> {
    let received = &result.output["received"];
    let decided = ask.and_then(|ask| Some((ask, ask.responses.last()?.1)));
    let acted = result.output.get("effect").is_some();
    match received["outcome"].as_str() {
        Some("settled") => {
            let exact = decided.is_some_and(|(ask, response)| {
                received["settlement"] == json!(response.settlement)
                    && received["response"] == json!(response.response)
                    && received["input"] == ask.request.input
            });
            let allowed =
                decided.is_some_and(|(_, response)| matches!(response.response, Response::Approve { .. }));
            let refused = matches!(received["settlement"].as_str(), Some("denied" | "declined"));
            let was_refused = decided.is_some_and(|(_, response)| {
                matches!(response.response, Response::Deny { .. } | Response::Cancel { .. })
            });
            if (acted || received["settlement"] == "approved") && !allowed {
                Some(Finding::AllowNobodyGave)
            } else if refused && !was_refused {
                Some(Finding::RefusalNobodyGave)
            } else if exact {
                None
            } else {
                Some(Finding::WrongAnswer)
            }
        }
        // In these sessions nothing expires, so nothing closes.
        Some("closed") => ask.is_none_or(|ask| !ask.closed).then_some(Finding::RefusalNobodyGave),
        Some(_) | None => Some(Finding::WrongAnswer),
    }
}

/// An approval is handed to one life of the agent, once.
fn deliveries(asks: &[Ask<'_>], found: &mut Vec<Found>) {
    for ask in asks {
        let id = ask.request.interaction_id;
        let lives: Vec<_> = ask
            .deliveries
            .iter()
            .filter_map(|(_, delivery)| match delivery {
                Delivery::Delivering { incarnation } => Some(*incarnation),
                Delivery::Accepted
                | Delivery::Delivered { .. }
                | Delivery::Acknowledged
                | Delivery::Unknown { .. }
                | Delivery::Undeliverable { .. }
                | Delivery::NotRun { .. } => None,
            })
            .collect();
        let twice_in_one_life = lives.windows(2).any(|pair| pair[0] == pair[1]);
        let approved = ask.settlement() == Some(Settlement::Approved);
        if twice_in_one_life || (approved && lives.len() > 1) {
            add(found, Finding::WrittenTwice, format!("{id} was written to the agent's lives {lives:?}"));
        }
        if !lives.is_empty() && ask.responses.is_empty() {
            add(found, Finding::AllowNobodyGave, format!("{id} was written to the agent without an answer"));
        }
    }
}

/// What happened on disk: each mark once, and only where the approval had left for the agent.
fn effects(history: &History, asks: &[Ask<'_>], found: &mut Vec<Found>) {
    let mut happened: BTreeMap<&str, usize> = BTreeMap::new();
    for mark in &history.effects {
        *happened.entry(mark).or_default() += 1;
    }
    for (left, times) in happened {
        let allowing =
            asks.iter().filter(|ask| ask.sent_out().is_some() && approved_mark(ask) == Some(left)).count();
        if allowing == 0 {
            add(found, Finding::AllowNobodyGave, format!("the agent did `{left}`, which nobody approved"));
        } else if times > allowing {
            add(found, Finding::WrittenTwice, format!("the agent did `{left}` {times} times"));
        }
    }
}

/// What this approval allowed.
fn approved_mark<'a>(ask: &Ask<'a>) -> Option<&'a str> {
    match &ask.responses.last()?.1.response {
        Response::Approve { edited_input, .. } => mark(edited_input.as_ref().unwrap_or(&ask.request.input)),
        Response::Deny { .. }
        | Response::Answer { .. }
        | Response::Submit { .. }
        | Response::Cancel { .. } => None,
    }
}

/// The agent's own file never knows of an answer that was not sent to it.
fn taken(history: &History, asks: &[Ask<'_>], found: &mut Vec<Found>) {
    for (call, at) in &history.taken {
        if !of_call(asks, call).any(|ask| ask.sent_out().is_some_and(|sent_out| sent_out <= *at)) {
            let words = format!("the agent has an answer to {call} that was not sent to it");
            add(found, Finding::RefusalNobodyGave, words);
        }
    }
}

/// Whoever is asked again about what may have run is told so.
fn repeats(asks: &[Ask<'_>], found: &mut Vec<Found>) {
    for (at, ask) in asks.iter().enumerate() {
        let in_doubt = ask.settlement() == Some(Settlement::Approved)
            && matches!(ask.delivery(), Some(Delivery::Unknown { .. }));
        let again =
            asks[at + 1..].iter().find(|later| later.request.input_digest == ask.request.input_digest);
        if in_doubt && again.is_some_and(|later| !later.request.may_have_run) {
            let id = ask.request.interaction_id;
            add(found, Finding::Unmarked, format!("{id} may have run, and was asked again without a word"));
        }
    }
}
