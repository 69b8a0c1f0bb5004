//! Spans of asks, for whoever collects traces: one trace for each ask, from the agent's line to the line it is answered with, over
//! all nodes.
//!
//! No context is carried along. An ask's own id is the id of its trace, and the ids of its spans follow from it, so whichever
//! node writes a step of an ask tells its span, and the parts fit. Times are the journal's: one clock for all nodes.

use std::sync::OnceLock;
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
pub(crate) struct Traces(OnceLock<mpsc::Sender<Span>>);

impl Gateway {
    /// Spans go there from now on. What it has no room for is dropped: nobody waits for it. The first one stays.
    pub fn trace_to(&self, spans: mpsc::Sender<Span>) {
        self.inner.traces.0.get_or_init(|| spans);
    }
}

const WHOLE: &str = "ask";

impl Traces {
    /// This was written here: so long after it was queued, and it had waited so long before that.
    pub(crate) fn written(&self, appended: &Appended, took: Duration, waited: Duration) {
        let Some(to) = self.0.get() else { return };
        for event in &appended.events {
            let Some(id) = event.body.ask() else { continue };
            let Some(ask) = appended.session.asks.get(&id) else { continue };
            for span in spans(id, ask, event, took, waited) {
                // Whoever collects them is slower than we are: the others are worth more than this one.
                let _dropped = to.try_send(span);
            }
        }
    }
}

fn spans(id: InteractionId, ask: &Ask, event: &Event, took: Duration, waited: Duration) -> Vec<Span> {
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
        Delivery::Delivered { .. } => {
            vec![part("ask.deliver", decided, at, Vec::new()), whole(at, "delivered")]
        }
        // Whoever asked is no agent of ours, and fetched it.
        Delivery::Acknowledged if !ask.origin.is_agent() => {
            vec![part("ask.deliver", decided, at, Vec::new()), whole(at, "fetched")]
        }
        Delivery::Unknown { .. } => vec![whole(at, "unknown")],
        Delivery::Undeliverable { .. } => vec![whole(at, "undeliverable")],
        Delivery::Accepted
        | Delivery::Delivering { .. }
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
    }
}
