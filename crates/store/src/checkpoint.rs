//! What is signed about a journal: that it came to this hash at this event.
//!
//! Whoever can write the database can write a whole new chain, hashes and all. The key that signs lies elsewhere:
//! up to its last checkpoint, a journal cannot be written again.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use holdstead_protocol::{Seq, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chain::{self, Hash};
use crate::hex;

/// What a key file begins with, so that nobody takes the secret half for the public one.
const SECRET: &str = "holdstead-audit-secret-";

/// The key that signs. It is never shown.
#[derive(Clone)]
pub struct AuditKey(SigningKey);

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditKey({})", self.public())
    }
}

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a key: a public one is 64 hexadecimal digits, as `holdstead audit key` prints them")]
pub struct KeyError;

impl AuditKey {
    pub fn generate() -> Self {
        Self(SigningKey::from_bytes(&rand::random()))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, statement: &Hash) -> [u8; 64] {
        self.0.sign(statement).to_bytes()
    }

    /// The text of its file.
    pub fn to_secret_text(&self) -> String {
        format!("{SECRET}{}", hex::text(self.0.as_bytes()))
    }

    pub fn from_secret_text(text: &str) -> Result<Self, KeyError> {
        let digits = text.trim().strip_prefix(SECRET).ok_or(KeyError)?;
        Ok(Self(SigningKey::from_bytes(&hex::parse(digits).ok_or(KeyError)?)))
    }
}

/// The half of the key that checks, and that anybody may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicKey(#[serde(with = "hex")] pub(crate) [u8; 32]);

impl PublicKey {
    /// Whether this is its signature of the statement.
    pub(crate) fn has_signed(self, statement: &Hash, signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        VerifyingKey::from_bytes(&self.0).is_ok_and(|key| key.verify_strict(statement, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::text(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        hex::parse(text.trim()).map(Self).ok_or(KeyError)
    }
}

/// One signed line about one journal. This is also how it stands in the log beside the database and in exports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub session: SessionId,
    /// Counts from 1 within the session.
    pub number: u64,
    /// The event it is about…
    pub seq: Seq,
    /// … and the hash of that event.
    #[serde(with = "hex")]
    pub hash: Hash,
    pub at: Timestamp,
    /// The digest of the session's checkpoint before this one; zeros for the first.
    #[serde(with = "hex")]
    pub previous: Hash,
    /// Set if this says that the data of the events up to here was erased, by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased_by: Option<String>,
    pub key: PublicKey,
    #[serde(with = "hex")]
    pub signature: [u8; 64],
}

/// Where a journal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) hash: Hash,
}

impl Checkpoint {
    pub(crate) fn sign(
        key: &AuditKey,
        head: Head,
        last: Option<&Self>,
        at: Timestamp,
        erased_by: Option<String>,
    ) -> Self {
        let mut checkpoint = Self {
            session: head.session,
            number: last.map_or(0, |last| last.number) + 1,
            seq: head.seq,
            hash: head.hash,
            at,
            previous: last.map_or(chain::START, Self::digest),
            erased_by,
            key: key.public(),
            signature: [0; 64],
        };
        checkpoint.signature = key.sign(&checkpoint.statement());
        checkpoint
    }

    /// Whether its signature is that of the key it names.
    pub fn is_signed(&self) -> bool {
        self.key.has_signed(&self.statement(), &self.signature)
    }

    /// What is signed.
    fn statement(&self) -> Hash {
        // Nobody is not the same as somebody without a name.
        let erased = self.erased_by.as_ref().map(|name| format!("erased by {name}")).unwrap_or_default();
        chain::fields(&[
            b"holdstead checkpoint 1",
            self.session.uuid().as_bytes(),
            &self.number.to_be_bytes(),
            &self.seq.0.to_be_bytes(),
            &self.hash,
            &self.at.micros().to_be_bytes(),
            &self.previous,
            erased.as_bytes(),
        ])
    }

    /// What the next one names as its previous.
    pub(crate) fn digest(&self) -> Hash {
        chain::fields(&[&self.statement(), &self.key.0, &self.signature])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn head() -> Head {
        Head { session: SessionId::from_uuid(Uuid::from_u128(1)), seq: Seq(3), hash: [4; 32] }
    }

    #[test]
    fn a_change_of_any_field_breaks_the_signature() {
        let key = AuditKey::generate();
        let good = Checkpoint::sign(&key, head(), None, Timestamp::from_micros(5), None);
        assert!(good.is_signed());
        let changes: [fn(&mut Checkpoint); 9] = [
            |c| c.session = SessionId::from_uuid(Uuid::from_u128(2)),
            |c| c.number = 2,
            |c| c.seq = Seq(2),
            |c| c.hash = [5; 32],
            |c| c.at = Timestamp::from_micros(6),
            |c| c.previous = [1; 32],
            |c| c.erased_by = Some(String::new()),
            |c| c.key = AuditKey::generate().public(),
            |c| c.signature[0] ^= 1,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(!bad.is_signed(), "change {index}");
            assert_ne!(bad.digest(), good.digest(), "change {index}");
        }
    }

    #[test]
    fn a_key_and_a_checkpoint_read_back() {
        let key = AuditKey::generate();
        let again = AuditKey::from_secret_text(&format!("{}\n", key.to_secret_text())).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        // The secret is never taken for a public key, nor the other way round.
        assert_eq!(key.to_secret_text().parse::<PublicKey>(), Err(KeyError));
        assert!(AuditKey::from_secret_text(&key.public().to_string()).is_err());
        assert!(!format!("{key:?}").contains(&hex::text(key.0.as_bytes())));

        let by = Some("Ada".to_owned());
        let first = Checkpoint::sign(&key, head(), None, Timestamp::from_micros(5), None);
        let second = Checkpoint::sign(&key, head(), Some(&first), Timestamp::from_micros(6), by);
        assert_eq!((second.number, second.previous), (2, first.digest()));
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<Checkpoint>(&text).unwrap(), second);
    }
}
