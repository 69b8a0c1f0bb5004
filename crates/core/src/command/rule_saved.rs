//! The rule that an approval gave is in the owner's journal.

use holdstead_protocol::{AskChange, EventBody, GrantId, InteractionId};

use super::ask;
use crate::telling::update;
use crate::{Rejection, Session};

/// Also after the session has ended: what its people decided still counts for the owner.
pub(crate) fn decide(
    session: &Session,
    id: InteractionId,
    grant_id: GrantId,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, id)?;
    let unsaved = session.head.unsaved.get(&grant_id);
    Ok(unsaved.map(|_| update(id, ask, AskChange::RuleSaved { grant_id })).into_iter().collect())
}
