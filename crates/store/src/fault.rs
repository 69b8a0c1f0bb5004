//! What a check of a journal can find, in words.

use std::fmt;

use holdstead_protocol::{InteractionId, Seq, SessionId};

use crate::PublicKey;

/// What a check of one journal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    pub session: SessionId,
    /// How many events were good.
    pub events: u64,
    /// The hash of the last good one.
    pub hash: [u8; 32],
    /// How many checkpoints were good.
    pub checkpoints: u64,
    /// The last event that a good one is about: nothing up to here can have been changed.
    pub signed: Seq,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
}

impl ChainReport {
    pub fn is_sound(&self) -> bool {
        self.fault.is_none()
    }
}

/// What a check of the rounds found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundsReport {
    /// The number and the digest of each round that is there, in order.
    pub rounds: Vec<(u64, [u8; 32])>,
    pub faults: Vec<RoundFault>,
}

/// What is wrong with a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundFault {
    /// It is not there, and later ones are.
    Missing {
        number: u64,
    },
    /// It was changed, never signed, or follows another than it says.
    Changed {
        number: u64,
    },
    UnknownKey {
        number: u64,
        key: PublicKey,
    },
    /// The checkpoints that it lists are not those that are there.
    Checkpoints {
        number: u64,
        signed: u64,
        found: u64,
    },
}

impl fmt::Display for RoundFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { number } => write!(f, "round {number} is missing"),
            Self::Changed { number } => write!(f, "round {number} was changed, or the one before it"),
            Self::UnknownKey { number, key } => {
                write!(f, "round {number} is signed by a key you do not trust: {key}")
            }
            Self::Checkpoints { number, signed, found } if signed == found => {
                write!(f, "one of the {signed} checkpoints of round {number} was changed")
            }
            Self::Checkpoints { number, signed, found } => write!(
                f,
                "round {number} signed {signed} checkpoints, and {found} are there: a session may be gone"
            ),
        }
    }
}

/// What is wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    NoSuchSession,
    /// A line is missing, or stands in another's place.
    Missing {
        seq: Seq,
    },
    /// A line was changed.
    Changed {
        seq: Seq,
    },
    /// A line cannot be read.
    Unreadable {
        seq: Seq,
        why: String,
    },
    /// A line is older than the one before it.
    Backwards {
        seq: Seq,
    },
    /// A line has no data, and nobody is on record for erasing it.
    Hidden {
        seq: Seq,
    },
    /// What is stored about who erased it is not what was signed.
    Erasure,
    /// The journal ends before an event that was signed.
    Cut {
        last: Seq,
        signed: Seq,
    },
    /// The event is not the one that was signed.
    Rewritten {
        seq: Seq,
    },
    /// A checkpoint is missing, or stands in another's place.
    CheckpointMissing {
        number: u64,
        seq: Seq,
    },
    /// A checkpoint was changed, or never signed.
    CheckpointChanged {
        number: u64,
        seq: Seq,
    },
    /// A checkpoint is signed, by a key that was not named as one to trust.
    UnknownKey {
        number: u64,
        seq: Seq,
        key: PublicKey,
    },
    /// There is no checkpoint at all, so that anybody could have written it.
    NothingSigned,
    /// The head says that the journal ends elsewhere than it does.
    Head {
        head: Seq,
        last: Seq,
    },
    /// The head's hash or time is not that of the last line.
    HeadChanged {
        seq: Seq,
    },
    /// The stored state is not what the journal folds to.
    State {
        seq: Seq,
    },
    /// What is stored about the session's opening is not what its first event says.
    Opening,
    /// The stored ask is missing, or is not what the journal folds to, or the journal knows nothing of it.
    Ask {
        id: InteractionId,
    },
    /// What its events are found by is not what they say.
    Search,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchSession => f.write_str("there is no such session"),
            Self::Missing { seq } => write!(f, "event {seq} is missing"),
            Self::Changed { seq } => write!(f, "event {seq} was changed, or its place"),
            Self::Unreadable { seq, why } => write!(f, "event {seq} cannot be read: {why}"),
            Self::Backwards { seq } => write!(f, "event {seq} is older than the one before it"),
            Self::Hidden { seq } => {
                write!(f, "event {seq} has lost its data, and nobody signed for erasing it")
            }
            Self::Erasure => f.write_str("who erased it, or when, is not what was signed"),
            Self::Cut { last, signed } => {
                write!(f, "the journal ends at event {last}, and event {signed} was signed")
            }
            Self::Rewritten { seq } => write!(f, "event {seq} is not the one that was signed"),
            Self::CheckpointMissing { number, seq } => {
                write!(f, "checkpoint {number}, at event {seq}, is missing or was moved")
            }
            Self::CheckpointChanged { number, seq } => {
                write!(f, "checkpoint {number}, at event {seq}, was changed: its signature is wrong")
            }
            Self::UnknownKey { number, seq, key } => {
                write!(f, "checkpoint {number}, at event {seq}, is signed by a key you do not trust: {key}")
            }
            Self::NothingSigned => f.write_str("none of its events is signed: anybody could have written it"),
            Self::Head { head, last } => write!(f, "the journal ends at {last}, its head says {head}"),
            Self::HeadChanged { seq } => write!(f, "the head is not that of event {seq}"),
            Self::State { seq } => write!(f, "the stored state is not what the events to {seq} come to"),
            Self::Opening => f.write_str("what is stored about its opening is not what event 1 says"),
            Self::Search => f.write_str("what its events are found by is not what they say"),
            Self::Ask { id } => write!(f, "the stored ask {id} is not what the events come to"),
        }
    }
}
