//! A settlement is about to be written to the agent: durable before the first byte.

use holdstead_protocol::{AgentState, AskState, Delivery, EventBody, Incarnation, InteractionId, Settlement};

use super::ask;
use super::based::not_stopped;
use crate::telling::delivery;
use crate::{Rejection, Session};

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    incarnation: Incarnation,
) -> Result<Vec<EventBody>, Rejection> {
    if session.head.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match session.head.agent {
        AgentState::Running | AgentState::Waiting | AgentState::Idle => {}
        AgentState::Parking | AgentState::Parked | AgentState::Detached | AgentState::Ended => {
            return Err(Rejection::WrongAgentState { agent: session.head.agent });
        }
    }
    let ask = ask(session, interaction_id)?;
    // What may not have been heard is told again in another life of the agent.
    let in_this_life = ask.delivery == Some(Delivery::Unknown { incarnation });
    if !ask.needs_delivery() || in_this_life {
        return Err(Rejection::NotDeliverable);
    }
    if ask.state == (AskState::Settled { settlement: Settlement::Approved }) {
        not_stopped(&session.head)?;
    }
    Ok(vec![delivery(interaction_id, ask, Delivery::Delivering { incarnation })])
}
