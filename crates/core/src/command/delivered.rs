//! A settlement was written to the agent.

use holdstead_protocol::{Delivery, EventBody, Incarnation, InteractionId};

use super::ask;
use crate::telling::delivery;
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    incarnation: Incarnation,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, interaction_id)?;
    match &ask.delivery {
        Some(Delivery::Delivering { incarnation: to }) if *to == incarnation => {
            Ok(vec![delivery(interaction_id, ask, Delivery::Delivered { incarnation })])
        }
        // Its acknowledgement was faster than we were.
        Some(Delivery::Delivered { .. } | Delivery::Acknowledged | Delivery::NotRun { .. }) => Ok(Vec::new()),
        Some(Delivery::Delivering { .. }) => Err(Rejection::StaleIncarnation),
        None | Some(Delivery::Accepted | Delivery::Unknown { .. } | Delivery::Undeliverable { .. }) => {
            Err(Rejection::NotDeliverable)
        }
    }
}
