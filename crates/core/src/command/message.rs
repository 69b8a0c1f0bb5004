//! A person says something. It never answers, declines or cancels an ask: it waits for its turn.

use holdstead_protocol::{EventBody, UserMessage};

use super::still_open;
use crate::{Head, Rejection};

/// Each is part of the head, which is read and written at every append.
const MOST_WAITING: usize = 1_000;

pub(crate) fn decide(head: &Head, message: &UserMessage) -> Result<Vec<EventBody>, Rejection> {
    // Before all else: whoever says it again for want of a reply is told what became of it, also when the session is over.
    if let Some(said) = head.last_said.iter().find(|said| said.message_id == message.message_id) {
        return Err(Rejection::AlreadySaid { seq: said.seq });
    }
    still_open(head)?;
    if message.text.trim().is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    let waiting = head.pending.len();
    if waiting >= MOST_WAITING {
        return Err(Rejection::TooManyMessages { waiting });
    }
    Ok(vec![EventBody::UserMessage(message.clone())])
}
