//! One walk along a journal, event by event and checkpoint by checkpoint. It needs no database: exports are walked too.

use holdstead_protocol::{Digest, EventType, GatheredRun, Seq, SessionId, Timestamp, WordsGathered};

use crate::chain::{self, Hash};
use crate::{ChainReport, Checkpoint, Fault, PublicKey, gathered};

/// What stands behind an event's line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'d> {
    Kept {
        salt: &'d [u8],
        data: &'d [u8],
    },
    /// Data and salt are gone; this is what they hashed to.
    Erased(Hash),
}

/// Words that may stand for other events.
#[derive(Debug)]
struct Claim {
    /// The first event that they stand for, and the hash of the one before it.
    first: Seq,
    before: Hash,
    seq: Seq,
    digest: Hash,
    hash: Hash,
    /// What it is otherwise.
    fault: Fault,
}

#[derive(Debug)]
pub(crate) struct Walk<'k> {
    pub(crate) session: SessionId,
    pub(crate) last: Seq,
    pub(crate) at: Option<Timestamp>,
    pub(crate) hash: Hash,
    /// Whose signatures count. `None`: signatures are not checked.
    keys: Option<&'k [PublicKey]>,
    pub(crate) checkpoints: u64,
    signed: Seq,
    previous: Hash,
    /// Places where events are gone or say something else. A later event has to say what stands for them.
    claims: Vec<Claim>,
    /// The last event without data, and the last checkpoint that says so.
    hidden: Option<Seq>,
    pub(crate) erasure: Option<Checkpoint>,
}

impl<'k> Walk<'k> {
    pub(crate) fn new(session: SessionId, keys: Option<&'k [PublicKey]>) -> Self {
        Self {
            session,
            last: Seq::START,
            at: None,
            hash: chain::START,
            keys,
            checkpoints: 0,
            signed: Seq::START,
            previous: chain::START,
            claims: Vec::new(),
            hidden: None,
            erasure: None,
        }
    }

    pub(crate) fn event(
        &mut self,
        line: chain::Line,
        content: Content<'_>,
        stored: &Hash,
    ) -> Result<(), Fault> {
        let seq = self.last.next();
        let data = match content {
            Content::Kept { salt, data } => {
                chain::data_hash(salt.try_into().map_err(|_| Fault::Changed { seq })?, data)
            }
            Content::Erased(hash) => {
                self.hidden = Some(line.seq);
                hash
            }
        };
        let fault = match chain::link(&self.hash, line, &data) == *stored {
            _ if line.seq != seq => Some(Fault::Missing { seq }),
            false => Some(Fault::Changed { seq }),
            true => None,
        };
        if let Some(fault) = fault {
            if !may_stand_for_others(line.event_type) || line.seq < seq {
                return Err(fault);
            }
            let (before, digest) = (self.hash, chain::standing(line, &data));
            self.claims.push(Claim { first: seq, before, seq: line.seq, digest, hash: *stored, fault });
        }
        if self.at.is_some_and(|before| line.at < before) {
            return Err(Fault::Backwards { seq: line.seq });
        }
        (self.last, self.at, self.hash) = (line.seq, Some(line.at), *stored);
        Ok(())
    }

    /// The last event says what stands for others.
    pub(crate) fn gathered(&mut self, gathered: &WordsGathered) {
        let is_signed = self.keys.is_none_or(|keys| gathered::is_signed(self.session, gathered, keys));
        for GatheredRun { first, last, before, hash, digest } in &gathered.runs {
            let says = |claim: &Claim| {
                (claim.first, claim.seq) == (*first, *last)
                    && Digest::from_bytes(&claim.before) == *before
                    && Digest::from_bytes(&claim.hash) == *hash
                    && Digest::from_bytes(&claim.digest) == *digest
            };
            if is_signed {
                self.claims.retain(|claim| !says(claim));
            }
            for claim in self.claims.iter_mut().filter(|claim| says(claim)) {
                claim.fault = Fault::Hidden { seq: claim.seq };
            }
        }
    }

    /// The next checkpoint, once the walk has come to its event.
    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        let Checkpoint { number, seq, .. } = *checkpoint;
        self.trust(checkpoint)?;
        if seq > self.last {
            return Err(Fault::Cut { last: self.last, signed: seq });
        }
        let expected = self.checkpoints + 1;
        if number != expected || checkpoint.previous != self.previous || seq < self.last {
            return Err(Fault::CheckpointMissing { number: expected, seq });
        }
        if checkpoint.hash != self.hash {
            return Err(Fault::Rewritten { seq });
        }
        // Signed again without it, it came back.
        self.erasure = checkpoint.erased_by.is_some().then(|| checkpoint.clone());
        (self.checkpoints, self.signed, self.previous) = (number, seq, checkpoint.digest());
        Ok(())
    }

    fn trust(&self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        match self.keys {
            None => Ok(()),
            Some(keys) => trusted(checkpoint, keys),
        }
    }

    /// After the last event and the last checkpoint.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        if let Some(claim) = self.claims.first() {
            (self.last, self.hash) = (Seq(claim.first.0.saturating_sub(1)), claim.before);
            return Err(claim.fault.clone());
        }
        let erased_to = self.erasure.as_ref().map_or(Seq::START, |erasure| erasure.seq);
        match (self.hidden, self.keys) {
            (Some(seq), Some(_)) if seq > erased_to => Err(Fault::Hidden { seq }),
            (_, _) => Ok(()),
        }
    }

    pub(crate) const fn checks_signatures(&self) -> bool {
        self.keys.is_some()
    }

    pub(crate) fn is_erased(&self) -> bool {
        self.hidden.is_some()
    }

    pub(crate) fn report(&self, fault: Option<Fault>) -> ChainReport {
        ChainReport {
            session: self.session,
            events: self.last.0,
            hash: self.hash,
            checkpoints: self.checkpoints,
            signed: self.signed,
            fault,
        }
    }
}

/// Signed, and by one of these.
pub(crate) fn trusted(checkpoint: &Checkpoint, keys: &[PublicKey]) -> Result<(), Fault> {
    let Checkpoint { number, seq, key, .. } = *checkpoint;
    if !checkpoint.is_signed() {
        return Err(Fault::CheckpointChanged { number, seq });
    }
    if !keys.contains(&key) {
        return Err(Fault::UnknownKey { number, seq, key });
    }
    Ok(())
}

/// Only words that streamed do.
fn may_stand_for_others(event_type: EventType) -> bool {
    [EventType::TextDelta, EventType::ThinkingDelta, EventType::ToolCallDelta].contains(&event_type)
}
