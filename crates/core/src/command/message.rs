//! A person says something. It never answers, declines or cancels an ask: it waits for its turn.

use holdstead_protocol::{EventBody, UserMessage};

use super::still_open;
use crate::{Head, Rejection};

/// Each is part of the head, which is read and written at every append.
const MOST_WAITING: usize = 1_000;

/// What a person says, and whether the agent's program could hear it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub said: UserMessage,
    pub listener: Listener,
}

/// What the node that takes a message knows of the agent's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// This node listens to it.
    Here,
    /// Its machine is connected here, and the program is not there.
    NotHere,
    /// Its machine is connected to another node, if to any.
    Elsewhere,
    /// It would not read the message as a person's.
    TakesNone,
}

/// A program in a terminal is told something only while it listens: the gateway does not start it.
fn may_hear(head: &Head, listener: Listener) -> Result<(), Rejection> {
    match (head.in_terminal, listener, head.alive) {
        (true, Listener::TakesNone, Some(_)) => Err(Rejection::TypedThere),
        (true, Listener::NotHere, _) | (true, Listener::Elsewhere | Listener::TakesNone, None) => {
            Err(Rejection::TerminalAway)
        }
        (true, Listener::Here, _) | (true, Listener::Elsewhere, Some(_)) | (false, _, _) => Ok(()),
    }
}

pub(crate) fn decide(
    head: &Head,
    Message { said: message, listener }: &Message,
) -> Result<Vec<EventBody>, Rejection> {
    // Before all else: whoever says it again for want of a reply is told what became of it, also when the session is over.
    if let Some(said) = head.last_said.iter().find(|said| said.message_id == message.message_id) {
        return Err(Rejection::AlreadySaid { seq: said.seq });
    }
    still_open(head)?;
    may_hear(head, *listener)?;
    if message.text.trim().is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    let waiting = head.pending.len();
    if waiting >= MOST_WAITING {
        return Err(Rejection::TooManyMessages { waiting });
    }
    Ok(vec![EventBody::UserMessage(message.clone())])
}
