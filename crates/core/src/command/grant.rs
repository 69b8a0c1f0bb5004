//! An approval is remembered in this journal.

use holdstead_protocol::{EventBody, Grant, GrantAdded};

use super::still_open;
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, grant: &Grant) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    match head.grants.get(&grant.grant_id) {
        // Saving it again after a lost reply is saving it once.
        Some(known) if known.rule == grant.rule && known.scope == grant.scope => Ok(Vec::new()),
        Some(_) => Err(Rejection::GrantExists),
        // A person took it back since: it was saved, and a gateway that saves it again did not know.
        None if head.taken_back.covers(grant) => Ok(Vec::new()),
        None => Ok(vec![EventBody::GrantAdded(GrantAdded { grant: grant.clone() })]),
    }
}
