//! The agent goes away until its one open ask is answered.

use std::collections::BTreeSet;

use holdstead_protocol::{AgentState, AskState, Delivery, EventBody, Incarnation, InteractionId};

use super::{ask, resume::status};
use crate::{Rejection, Session};

/// Why an agent cannot go away at a call and come back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CannotPark {
    #[error("the ask is not open any more")]
    NotOpen,
    #[error("the agent cannot come back to this call")]
    NoWayBack,
    #[error("it waits for more than one answer")]
    MoreThanOne,
    #[error("an answer is on its way to it")]
    AnswerOnItsWay,
}

pub(crate) fn decide(
    session: &Session,
    interaction_id: InteractionId,
    incarnation: Incarnation,
    awaited: &BTreeSet<InteractionId>,
) -> Result<Vec<EventBody>, Rejection> {
    if session.head.alive != Some(incarnation) {
        return Err(Rejection::StaleIncarnation);
    }
    match session.head.agent {
        AgentState::Waiting => {}
        AgentState::Parking => return Ok(Vec::new()),
        AgentState::Idle
        | AgentState::Running
        | AgentState::Parked
        | AgentState::Detached
        | AgentState::Ended => return Err(Rejection::WrongAgentState { agent: session.head.agent }),
    }
    let ask = ask(session, interaction_id)?;
    if ask.state != AskState::Open {
        return Err(Rejection::CannotPark(CannotPark::NotOpen));
    }
    if !ask.can_park {
        return Err(Rejection::CannotPark(CannotPark::NoWayBack));
    }
    if session.head.blocking != 1 || !ask.is_blocking() {
        return Err(Rejection::CannotPark(CannotPark::MoreThanOne));
    }
    // Another call may have its answer, marked as being handed over by an earlier task: the agent hears that first.
    if awaited.iter().any(|other| *other != interaction_id) {
        return Err(Rejection::CannotPark(CannotPark::MoreThanOne));
    }
    // It would hear it only in its next life.
    if session.undelivered().any(|(_, ask)| ask.delivery == Some(Delivery::Accepted)) {
        return Err(Rejection::CannotPark(CannotPark::AnswerOnItsWay));
    }
    Ok(vec![EventBody::SessionStatus(status(AgentState::Parking))])
}
