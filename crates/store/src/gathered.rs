//! The signature under what stands for other words: whoever can write the database and has no key puts none in their place.

use holdstead_protocol::{GatheredRun, SessionId, SignedWords, WordsGathered};

use crate::chain::{self, Hash};
use crate::{AuditKey, PublicKey, hex};

pub(crate) fn sign(key: &AuditKey, session: SessionId, runs: &[GatheredRun]) -> SignedWords {
    let signature = key.sign(&statement(session, runs));
    SignedWords { key: hex::text(&key.public().0), signature: hex::text(&signature) }
}

/// Signed, and by one of these.
pub(crate) fn is_signed(session: SessionId, gathered: &WordsGathered, keys: &[PublicKey]) -> bool {
    let signed = gathered.signed.as_ref();
    let parts = signed.and_then(|signed| Some((hex::parse(&signed.key)?, hex::parse(&signed.signature)?)));
    parts.is_some_and(|(key, signature)| {
        let key = PublicKey(key);
        keys.contains(&key) && key.has_signed(&statement(session, &gathered.runs), &signature)
    })
}

fn statement(session: SessionId, runs: &[GatheredRun]) -> Hash {
    let (session, runs): (_, Vec<Hash>) = (session.uuid(), runs.iter().map(run).collect());
    let mut fields: Vec<&[u8]> = vec![b"holdstead words 1", session.as_bytes()];
    fields.extend(runs.iter().map(Hash::as_slice));
    chain::fields(&fields)
}

fn run(run: &GatheredRun) -> Hash {
    let GatheredRun { first, last, before, hash, digest } = run;
    chain::fields(&[
        &first.0.to_be_bytes(),
        &last.0.to_be_bytes(),
        before.as_str().as_bytes(),
        hash.as_str().as_bytes(),
        digest.as_str().as_bytes(),
    ])
}
