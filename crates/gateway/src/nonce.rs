//! Nonces: what a browser signs besides its request, so that a signed request is worth nothing later or elsewhere.
//!
//! A nonce names the node that issued it and that node's start, and every node accepts it for as long as that very process
//! runs. Nodes remember no nonces: a mark by the secrets key shows that a node issued one. Only clocks of nodes count.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdstead_core::{base64url, from_base64url};
use holdstead_store::{NodeId, NodeStart};
use uuid::Uuid;

use crate::{Gateway, SecretsKey};

/// How long a nonce is accepted.
const LIFETIME: Duration = Duration::from_secs(5 * 60);
/// A browser that shows an older nonce is given another one.
const FRESH: Duration = Duration::from_secs(60);
/// So far may the clock of another node be ahead.
const AHEAD: Duration = Duration::from_secs(60);

/// Node, start, time: in front of the mark.
const NAMED: usize = 16 + 16 + 8;
const MARK: usize = 32;
/// In base64url.
const LENGTH: usize = (NAMED + MARK) / 3 * 4;

/// A nonce that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceAge {
    Fresh,
    /// Another one should be handed out with the answer.
    Old,
}

/// One run of this gateway process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) node: NodeId,
    pub(crate) start: NodeStart,
}

impl Gateway {
    /// A nonce that is good from now on.
    pub fn nonce(&self) -> String {
        issue(&self.inner.config.secrets_key, self.inner.run, now())
    }

    /// Whether a nonce counts. `None`: no node of this deployment that runs now issued it within the last minutes. A gateway
    /// that stops has given up its port, so its own nonces count no longer: another program may have taken the port, and may
    /// hold connections to the old process.
    pub fn check_nonce(&self, nonce: &str) -> Option<NonceAge> {
        let (run, age) = read(&self.inner.config.secrets_key, nonce, now())?;
        let runs = if run == self.inner.run {
            !self.inner.shutdown.is_cancelled()
        } else {
            self.inner.node.as_ref().is_some_and(|node| node.knows(run))
        };
        runs.then_some(age)
    }
}

/// Since 1970. A clock before that is as wrong as any.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn issue(key: &SecretsKey, run: Run, now: Duration) -> String {
    let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let mut bytes = Vec::with_capacity(NAMED + MARK);
    bytes.extend_from_slice(run.node.uuid().as_bytes());
    bytes.extend_from_slice(run.start.uuid().as_bytes());
    bytes.extend_from_slice(&millis.to_be_bytes());
    let mark = key.nonce_mark(&bytes);
    bytes.extend_from_slice(&mark);
    base64url(&bytes)
}

fn read(key: &SecretsKey, nonce: &str, now: Duration) -> Option<(Run, NonceAge)> {
    if nonce.len() != LENGTH {
        return None;
    }
    let bytes = from_base64url(nonce)?;
    let (named, mark) = bytes.split_at_checked(NAMED)?;
    if !key.is_nonce_mark(named, mark) {
        return None;
    }
    let (node, rest) = named.split_first_chunk::<16>()?;
    let (start, millis) = rest.split_first_chunk::<16>()?;
    let issued = Duration::from_millis(u64::from_be_bytes(millis.try_into().ok()?));
    if issued > now + AHEAD {
        return None;
    }
    let age = match now.saturating_sub(issued) {
        age if age <= FRESH => NonceAge::Fresh,
        age if age <= LIFETIME => NonceAge::Old,
        _ => return None,
    };
    let node = NodeId::from_uuid(Uuid::from_bytes(*node));
    let start = NodeStart::from_uuid(Uuid::from_bytes(*start));
    Some((Run { node, start }, age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Duration = Duration::from_secs(1_800_000_000);

    fn run() -> Run {
        Run { node: NodeId::generate(), start: NodeStart::generate() }
    }

    #[test]
    fn a_nonce_lives_for_minutes_by_the_clock_that_reads_it() {
        let (key, run) = (SecretsKey::generate(), run());
        let nonce = issue(&key, run, BEGIN);
        assert!(nonce.len() <= 128);
        let seconds = Duration::from_secs;
        for (now, age) in [
            (BEGIN, Some(NonceAge::Fresh)),
            (BEGIN + seconds(60), Some(NonceAge::Fresh)),
            (BEGIN + seconds(61), Some(NonceAge::Old)),
            (BEGIN + seconds(300), Some(NonceAge::Old)),
            (BEGIN + seconds(301), None),
            (BEGIN - seconds(60), Some(NonceAge::Fresh)),
            (BEGIN - seconds(61), None),
            (Duration::ZERO, None),
            (Duration::MAX - AHEAD, None),
        ] {
            assert_eq!(read(&key, &nonce, now), age.map(|age| (run, age)), "{now:?}");
        }
    }

    #[test]
    fn a_nonce_is_made_and_changed_with_the_key_alone() {
        let (key, run) = (SecretsKey::generate(), run());
        let nonce = issue(&key, run, BEGIN);
        assert_eq!(read(&SecretsKey::generate(), &nonce, BEGIN), None);
        let bytes = from_base64url(&nonce).expect("base64url");
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(read(&key, &base64url(&other), BEGIN), None, "byte {at}");
        }
        for wrong in ["", "x", &nonce[..LENGTH - 4], &format!("{nonce}AAAA"), &"é".repeat(LENGTH / 2)] {
            assert_eq!(read(&key, wrong, BEGIN), None, "{wrong}");
        }
    }
}
