//! The agent wanted to end its turn, and a rule keeps it going.

use holdstead_protocol::{EventBody, TurnEndBlocked};

use super::still_open;
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, blocked: &TurnEndBlocked) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    if head.turn != Some(blocked.turn_id) || blocked.attempt > head.stop_attempts + 1 {
        return Err(Rejection::NoSuchTurn);
    }
    // Its number says which time this is: one that was counted before is not counted again.
    let counted = blocked.attempt <= head.stop_attempts;
    Ok((!counted).then(|| EventBody::TurnEndBlocked(blocked.clone())).into_iter().collect())
}
