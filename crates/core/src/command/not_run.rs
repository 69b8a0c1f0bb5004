//! What was approved reached the agent, and the call did not run.

use holdstead_protocol::{Delivery, EventBody, InteractionId, NotRun};

use super::ask;
use crate::telling::delivery;
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    because: NotRun,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, interaction_id)?;
    match &ask.delivery {
        Some(Delivery::Delivering { .. } | Delivery::Delivered { .. }) => {
            Ok(vec![delivery(interaction_id, ask, Delivery::NotRun { because })])
        }
        Some(Delivery::NotRun { .. }) => Ok(Vec::new()),
        None
        | Some(
            Delivery::Accepted
            | Delivery::Acknowledged
            | Delivery::Unknown { .. }
            | Delivery::Undeliverable { .. },
        ) => Err(Rejection::NotDeliverable),
    }
}
