//! A person says something. It never answers, declines or cancels an ask: it waits for its turn.

use holdstead_protocol::{EventBody, UserMessage};

use super::still_open;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, message: &UserMessage) -> Result<Vec<EventBody>, Rejection> {
    still_open(session)?;
    if message.text.trim().is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    Ok(vec![EventBody::UserMessage(message.clone())])
}
