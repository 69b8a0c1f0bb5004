//! A settlement is about to be written to the agent: durable before the first byte.

use holdpoint_protocol::{AgentState, AskState, Delivery, EventBody, Incarnation, InteractionId, Origin};

use super::ask;
use super::cancel::delivery;
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    incarnation: Incarnation,
) -> Result<Vec<EventBody>, Rejection> {
    if session.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match session.agent {
        AgentState::Running | AgentState::Waiting | AgentState::Idle => {}
        AgentState::Parking | AgentState::Parked | AgentState::Detached | AgentState::Ended => {
            return Err(Rejection::WrongAgentState { agent: session.agent });
        }
    }
    let ask = ask(session, interaction_id)?;
    let settled = match ask.state {
        AskState::Settled { .. } => ask.origin == Origin::Agent,
        AskState::Open | AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => false,
    };
    let may = match &ask.delivery {
        Some(Delivery::Accepted) => true,
        // A question may be answered again in another life of the agent; an approval never is.
        Some(Delivery::Unknown { incarnation: earlier }) => !ask.is_approval() && *earlier != incarnation,
        None
        | Some(
            Delivery::Delivering { .. }
            | Delivery::Delivered { .. }
            | Delivery::Acknowledged
            | Delivery::Undeliverable { .. },
        ) => false,
    };
    if settled && may {
        Ok(vec![delivery(interaction_id, ask, Delivery::Delivering { incarnation })])
    } else {
        Err(Rejection::NotDeliverable)
    }
}
