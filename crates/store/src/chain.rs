//! The hash that ties every event to all before it.

use holdstead_protocol::{EventId, EventType, Seq, SessionId, Timestamp};
use sha2::{Digest, Sha256};

pub(crate) type Hash = [u8; 32];
pub(crate) type Salt = [u8; 16];

/// What the first event of a journal follows.
pub(crate) const START: Hash = [0; 32];

/// An event's line without its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) id: EventId,
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) at: Timestamp,
    pub(crate) event_type: EventType,
}

/// `H(prev, id, session, seq, at, type, H(salt, data))`. The data is hashed by itself, with a salt, so that data
/// and salt can be erased later, cannot be guessed from what is left, and the chain still holds.
pub(crate) fn link(previous: &Hash, line: Line, data: &Hash) -> Hash {
    fields(&[
        previous,
        line.id.uuid().as_bytes(),
        line.session.uuid().as_bytes(),
        &line.seq.0.to_be_bytes(),
        &line.at.micros().to_be_bytes(),
        line.event_type.as_str().as_bytes(),
        data,
    ])
}

pub(crate) fn data_hash(salt: &Salt, data: &[u8]) -> Hash {
    fields(&[salt, data])
}

/// Each field goes in with its length, so that bytes cannot move from one to the next unnoticed.
pub(crate) fn fields(fields: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update((field.len() as u64).to_be_bytes());
        hasher.update(field);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const LINE: Line = Line {
        id: EventId::from_uuid(Uuid::from_u128(1)),
        session: SessionId::from_uuid(Uuid::from_u128(2)),
        seq: Seq(3),
        at: Timestamp::from_micros(4),
        event_type: EventType::Done,
    };

    #[test]
    fn every_field_changes_the_hash() {
        let data = data_hash(&[1; 16], b"{}");
        let base = link(&START, LINE, &data);
        let others = [
            link(&[1; 32], LINE, &data),
            link(&START, Line { id: EventId::from_uuid(Uuid::from_u128(9)), ..LINE }, &data),
            link(&START, Line { session: SessionId::from_uuid(Uuid::from_u128(9)), ..LINE }, &data),
            link(&START, Line { seq: Seq(9), ..LINE }, &data),
            link(&START, Line { at: Timestamp::from_micros(9), ..LINE }, &data),
            link(&START, Line { event_type: EventType::Error, ..LINE }, &data),
            link(&START, LINE, &data_hash(&[2; 16], b"{}")),
            link(&START, LINE, &data_hash(&[1; 16], b"{ }")),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn bytes_cannot_move_from_one_field_to_the_next() {
        assert_ne!(fields(&[b"ab", b"c"]), fields(&[b"a", b"bc"]));
    }
}
