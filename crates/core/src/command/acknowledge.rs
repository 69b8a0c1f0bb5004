//! The asker showed that it has the settlement.

use holdstead_protocol::{Delivery, EventBody, InteractionId, Origin};

use super::ask;
use crate::telling::delivery;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, interaction_id: InteractionId) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, interaction_id)?;
    let acknowledged = || vec![delivery(interaction_id, ask, Delivery::Acknowledged)];
    match &ask.delivery {
        Some(Delivery::Delivering { .. } | Delivery::Delivered { .. }) => Ok(acknowledged()),
        // A tool or a caller fetches what was decided: there is nothing to write to it.
        Some(Delivery::Accepted) => match ask.origin {
            Origin::Tool | Origin::Caller => Ok(acknowledged()),
            Origin::Agent | Origin::Attached => Err(Rejection::NotDeliverable),
        },
        Some(Delivery::Acknowledged | Delivery::NotRun { .. }) => Ok(Vec::new()),
        None | Some(Delivery::Unknown { .. } | Delivery::Undeliverable { .. }) => {
            Err(Rejection::NotDeliverable)
        }
    }
}
