//! Spans of asks, for whoever collects traces: one trace for each ask, from the agent's line to the line it is answered with, over
//! all nodes.
//!
//! No context is carried along. An ask's own id is the id of its trace, and the ids of its spans follow from it, so whichever
//! node writes a step of an ask tells its span, and the parts fit. Times are the journal's: one clock for all nodes.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use holdstead_core::Ask;
use holdstead_protocol::{
    AskChange, Closing, Decider, Delivery, Event, EventBody, InteractionId, Response, Timestamp,
};
use holdstead_store::Appended;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::Gateway;

/// A step of an ask. Its words are this program's own: by their type no name, input or path can be among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace: [u8; 16],
    pub id: [u8; 8],
    /// `None`: the whole of the ask.
    pub parent: Option<[u8; 8]>,
    pub name: &'static str,
    pub from: Timestamp,
    pub to: Timestamp,
    pub attributes: Vec<(&'static str, &'static str)>,
}

/// Where spans go, if anywhere.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    to: OnceLock<mpsc::Sender<Span>>,
    handed: Handed,
}

/// Asks whose agents were handed what was decided, and have not shown it yet. An agent may show it before it is written that it
/// was handed over; then that is never written, and its delivery is told all the same, once.
#[derive(Debug, Default)]
struct Handed(Mutex<VecDeque<InteractionId>>);

/// How many are remembered: more than agents take to show it.
const MOST_HANDED: usize = 4_096;

impl Handed {
    /// Whether this is the first that is written of an agent's having it.
    fn is_first(&self, id: InteractionId, delivery: &Delivery) -> bool {
        let mut handed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = handed.iter().position(|one| *one == id);
        match (delivery, known) {
            (Delivery::Delivered { .. }, None) => {
                handed.push_back(id);
                if handed.len() > MOST_HANDED {
                    handed.pop_front();
                }
                true
            }
            (Delivery::Acknowledged, Some(at)) => {
                handed.remove(at);
                false
            }
            (Delivery::Acknowledged, None) => true,
            (
                Delivery::Delivered { .. }
                | Delivery::Accepted
                | Delivery::Delivering { .. }
                | Delivery::NotRun { .. }
                | Delivery::Unknown { .. }
                | Delivery::Undeliverable { .. },
                _,
            ) => false,
        }
    }
}

impl Gateway {
    /// Spans go there from now on. What it has no room for is dropped: nobody waits for it. The first one stays.
    pub fn trace_to(&self, spans: mpsc::Sender<Span>) {
        self.inner.traces.to.get_or_init(|| spans);
    }
}

const WHOLE: &str = "ask";

impl Traces {
    /// This was written here: so long after it was queued, and it had waited so long before that.
    pub(crate) fn written(&self, appended: &Appended, took: Duration, waited: Duration) {
        let Some(to) = self.to.get() else { return };
        for event in &appended.events {
            let Some(id) = event.body.ask() else { continue };
            let Some(ask) = appended.session.asks.get(&id) else { continue };
            for span in spans(id, ask, event, took, waited, &self.handed) {
                // Whoever collects them is slower than we are: the others are worth more than this one.
                let _dropped = to.try_send(span);
            }
        }
    }
}

fn spans(
    id: InteractionId,
    ask: &Ask,
    event: &Event,
    took: Duration,
    waited: Duration,
    handed: &Handed,
) -> Vec<Span> {
    let part = |name, from, to, attributes| Span {
        trace: id.uuid().into_bytes(),
        id: span_id(id, name),
        parent: (name != WHOLE).then(|| span_id(id, WHOLE)),
        name,
        from,
        to,
        attributes,
    };
    let whole = |to, outcome| part(WHOLE, ask.opened_at, to, vec![("holdstead.outcome", outcome)]);
    if let EventBody::InteractionRequest(_) = &event.body {
        return vec![part("ask.open", earlier(event.at, took), event.at, Vec::new())];
    }
    if let EventBody::InteractionResponse(response) = &event.body {
        let words = vec![
            ("holdstead.decided_by", by(&response.decider)),
            ("holdstead.action", action(&response.response)),
        ];
        return vec![part("ask.decide", ask.opened_at, event.at, words)];
    }
    if let EventBody::InteractionClosed(closed) = &event.body {
        return vec![whole(event.at, closing(closed.closing))];
    }
    let EventBody::InteractionUpdate(update) = &event.body else { return Vec::new() };
    let AskChange::Delivery { delivery } = &update.change else { return Vec::new() };
    let decided = ask.decided_at.unwrap_or(ask.opened_at);
    let at = earlier(event.at, waited);
    match delivery {
        // Whoever asked is no agent of ours, and fetched it.
        Delivery::Acknowledged if !ask.origin.is_agent() => {
            vec![part("ask.deliver", decided, at, Vec::new()), whole(at, "fetched")]
        }
        Delivery::Delivered { .. } | Delivery::Acknowledged if handed.is_first(id, delivery) => {
            vec![part("ask.deliver", decided, at, Vec::new()), whole(at, "delivered")]
        }
        Delivery::Unknown { .. } => vec![whole(at, "unknown")],
        Delivery::Undeliverable { .. } => vec![whole(at, "undeliverable")],
        Delivery::Accepted
        | Delivery::Delivering { .. }
        | Delivery::Delivered { .. }
        | Delivery::Acknowledged
        | Delivery::NotRun { .. } => Vec::new(),
    }
}

/// The same on every node.
fn span_id(ask: InteractionId, name: &str) -> [u8; 8] {
    let mut id = [0; 8];
    id.copy_from_slice(&Uuid::new_v5(&ask.uuid(), name.as_bytes()).as_bytes()[..8]);
    id
}

fn earlier(at: Timestamp, long: Duration) -> Timestamp {
    Timestamp::from_micros(at.micros().saturating_sub(i64::try_from(long.as_micros()).unwrap_or(0)))
}

const fn by(decider: &Decider) -> &'static str {
    match decider {
        Decider::Person { .. } => "person",
        Decider::Grant { .. } => "grant",
        Decider::Rule { .. } => "rule",
        Decider::Earlier { .. } => "earlier answer",
    }
}

const fn action(response: &Response) -> &'static str {
    match response {
        Response::Approve { .. } => "approve",
        Response::Deny { .. } => "deny",
        Response::Answer { .. } | Response::Submit { .. } => "submit",
        Response::Cancel { .. } => "cancel",
    }
}

const fn closing(closing: Closing) -> &'static str {
    match closing {
        Closing::Expired => "expired",
        Closing::Cancelled => "cancelled",
        Closing::AnsweredLate => "answered late",
        Closing::Withdrawn => "withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::Incarnation;

    use super::*;

    fn id(number: u128) -> InteractionId {
        InteractionId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn a_delivery_is_told_once_in_whichever_order_it_is_written() {
        let handed = Handed::default();
        let delivered = Delivery::Delivered { incarnation: Incarnation(1) };
        assert!(handed.is_first(id(1), &delivered));
        assert!(handed.is_first(id(2), &Delivery::Acknowledged), "it was shown before it was written");
        assert!(!handed.is_first(id(1), &Delivery::Acknowledged));
        assert!(!handed.is_first(id(3), &Delivery::Accepted));
    }

    #[test]
    fn agents_that_never_show_it_fill_nothing_up() {
        let handed = Handed::default();
        let delivered = Delivery::Delivered { incarnation: Incarnation(1) };
        for number in 0..2 * MOST_HANDED as u128 {
            assert!(handed.is_first(id(number), &delivered));
        }
        assert_eq!(handed.0.lock().unwrap().len(), MOST_HANDED);
    }
}
