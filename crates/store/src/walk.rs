//! One walk along a journal, event by event and checkpoint by checkpoint. It needs no database: exports are walked too.

use holdstead_protocol::{Seq, SessionId, Timestamp};

use crate::chain::{self, Hash};
use crate::{ChainReport, Checkpoint, Fault, PublicKey};

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
        if line.seq != seq {
            return Err(Fault::Missing { seq });
        }
        let data = match content {
            Content::Kept { salt, data } => {
                chain::data_hash(salt.try_into().map_err(|_| Fault::Changed { seq })?, data)
            }
            Content::Erased(hash) => {
                self.hidden = Some(seq);
                hash
            }
        };
        let hash = chain::link(&self.hash, line, &data);
        if *stored != hash {
            return Err(Fault::Changed { seq });
        }
        if self.at.is_some_and(|before| line.at < before) {
            return Err(Fault::Backwards { seq });
        }
        (self.last, self.at, self.hash) = (seq, Some(line.at), hash);
        Ok(())
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
    pub(crate) fn end(&self) -> Result<(), Fault> {
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
