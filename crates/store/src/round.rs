//! What is signed about all journals together: these checkpoints were there.
//!
//! A checkpoint guards one journal. Whoever takes a journal away with all its checkpoints leaves nothing behind that
//! speaks of it: only the round that lists them does.

use holdstead_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chain::{self, Hash};
use crate::hex;
use crate::{AuditKey, Checkpoint, PublicKey};

/// One signed line about many checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Round {
    /// Counts from 1.
    pub round: u64,
    pub at: Timestamp,
    /// How many checkpoints it lists…
    pub count: u64,
    /// … and what they hash to.
    #[serde(with = "hex")]
    pub list: Hash,
    /// The digest of the round before this one; zeros for the first.
    #[serde(with = "hex")]
    pub previous: Hash,
    pub key: PublicKey,
    #[serde(with = "hex")]
    pub signature: [u8; 64],
}

impl Round {
    pub(crate) fn sign(
        key: &AuditKey,
        checkpoints: &[Checkpoint],
        last: Option<&Self>,
        at: Timestamp,
    ) -> Self {
        let mut round = Self {
            round: last.map_or(0, |last| last.round) + 1,
            at,
            count: checkpoints.len() as u64,
            list: list(checkpoints),
            previous: last.map_or(chain::START, Self::digest),
            key: key.public(),
            signature: [0; 64],
        };
        round.signature = key.sign(&round.statement());
        round
    }

    /// Whether its signature is that of the key it names.
    pub fn is_signed(&self) -> bool {
        self.key.has_signed(&self.statement(), &self.signature)
    }

    /// What is signed.
    fn statement(&self) -> Hash {
        chain::fields(&[
            b"holdstead round 1",
            &self.round.to_be_bytes(),
            &self.at.micros().to_be_bytes(),
            &self.count.to_be_bytes(),
            &self.list,
            &self.previous,
        ])
    }

    /// What the next one names as its previous.
    pub fn digest(&self) -> Hash {
        chain::fields(&[&self.statement(), &self.key.0, &self.signature])
    }
}

/// What checkpoints hash to, in the order of their sessions.
pub(crate) fn list(checkpoints: &[Checkpoint]) -> Hash {
    let digests: Vec<Hash> = checkpoints.iter().map(Checkpoint::digest).collect();
    let digests: Vec<&[u8]> = digests.iter().map(Hash::as_slice).collect();
    chain::fields(&digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Head;
    use holdstead_protocol::{Seq, SessionId};
    use uuid::Uuid;

    #[test]
    fn a_change_of_any_field_breaks_the_signature() {
        let key = AuditKey::generate();
        let at = Timestamp::from_micros(5);
        let head = Head { session: SessionId::from_uuid(Uuid::from_u128(1)), seq: Seq(3), hash: [4; 32] };
        let listed = [Checkpoint::sign(&key, head, None, at, None)];
        let good = Round::sign(&key, &listed, None, at);
        assert!(good.is_signed());
        let changes: [fn(&mut Round); 7] = [
            |r| r.round = 2,
            |r| r.at = Timestamp::from_micros(6),
            |r| r.count = 0,
            |r| r.list = list(&[]),
            |r| r.previous = [1; 32],
            |r| r.key = AuditKey::generate().public(),
            |r| r.signature[0] ^= 1,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(!bad.is_signed(), "change {index}");
            assert_ne!(bad.digest(), good.digest(), "change {index}");
        }
        let next = Round::sign(&key, &[], Some(&good), at);
        assert_eq!((next.round, next.previous), (2, good.digest()));
        let text = serde_json::to_string(&next).unwrap();
        assert_eq!(serde_json::from_str::<Round>(&text).unwrap(), next);
    }
}
