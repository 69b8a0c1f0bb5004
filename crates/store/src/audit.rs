//! Checks a journal against itself: the chain of its hashes, and what is stored beside it.

use std::collections::BTreeMap;
use std::fmt;

use holdpoint_core::{Session, State, fold};
use holdpoint_protocol::{InteractionId, Seq, SessionId, Timestamp};

use crate::chain::{self, Hash};
use crate::db::{Param, Row, Snapshot};
use crate::plan::Head;
use crate::rows::{self, AskRow};
use crate::{StoreError, decode, sql};

/// How many events are read at a time.
const PAGE: i64 = 500;

/// What a check of one journal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    pub session: SessionId,
    /// How many events were good.
    pub events: u64,
    /// The hash of the last good one.
    pub hash: [u8; 32],
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
}

impl ChainReport {
    pub fn is_sound(&self) -> bool {
        self.fault.is_none()
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
    /// The stored ask is missing, or is not what the journal folds to, or the journal knows nothing of it.
    Ask {
        id: InteractionId,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchSession => f.write_str("there is no such session"),
            Self::Missing { seq } => write!(f, "event {seq} is missing"),
            Self::Changed { seq } => write!(f, "event {seq} was changed, or its place"),
            Self::Unreadable { seq, why } => write!(f, "event {seq} cannot be read: {why}"),
            Self::Backwards { seq } => write!(f, "event {seq} is older than the one before it"),
            Self::Head { head, last } => write!(f, "the journal ends at {last}, its head says {head}"),
            Self::HeadChanged { seq } => write!(f, "the head is not that of event {seq}"),
            Self::State { seq } => write!(f, "the stored state is not what the events to {seq} come to"),
            Self::Ask { id } => write!(f, "the stored ask {id} is not what the events come to"),
        }
    }
}

pub(crate) async fn verify(
    mut snapshot: Box<dyn Snapshot>,
    session: SessionId,
) -> Result<ChainReport, StoreError> {
    let mut walk = Walk { session, last: Seq::START, at: None, hash: chain::START, state: State::Unopened };
    let fault = walk.check(&mut *snapshot).await?;
    Ok(ChainReport { session, events: walk.last.0, hash: walk.hash, fault })
}

struct Walk {
    session: SessionId,
    last: Seq,
    at: Option<Timestamp>,
    hash: Hash,
    state: State,
}

impl Walk {
    async fn check(&mut self, snapshot: &mut dyn Snapshot) -> Result<Option<Fault>, StoreError> {
        let session = Param::Id(self.session.uuid());
        let heads = snapshot.query(sql::SESSION, vec![session.clone()]).await?;
        let Some(head) = heads.first() else { return Ok(Some(Fault::NoSuchSession)) };
        loop {
            let after = Param::Int(decode::number(self.last));
            let rows =
                snapshot.query(sql::READ_CHAIN, vec![session.clone(), after, Param::Int(PAGE)]).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                if let Err(fault) = self.step(row) {
                    return Ok(Some(fault));
                }
            }
        }
        if let Err(fault) = self.check_head(head) {
            return Ok(Some(fault));
        }
        let asks = snapshot.query(sql::ASK_ROWS, vec![session]).await?;
        let asks = asks.iter().map(decode::ask_row).collect::<Result<Vec<_>, _>>()?;
        Ok(self.check_asks(asks)?.err())
    }

    fn step(&mut self, row: &Row) -> Result<(), Fault> {
        let seq = self.last.next();
        let unreadable = |error: StoreError| Fault::Unreadable { seq, why: error.to_string() };
        if decode::seq(row, "seq").map_err(unreadable)? != seq {
            return Err(Fault::Missing { seq });
        }
        let event = decode::event(row).map_err(unreadable)?;
        let salt = row.bytes("salt").map_err(unreadable)?.try_into().map_err(|_| Fault::Changed { seq })?;
        let data = chain::data_hash(&salt, &row.bytes("data").map_err(unreadable)?);
        let event_type = event.body.event_type();
        let line = chain::Line { id: event.id, session: self.session, seq, at: event.at, event_type };
        let hash = chain::link(&self.hash, line, &data);
        if decode::hash(row, "hash").map_err(unreadable)? != hash {
            return Err(Fault::Changed { seq });
        }
        if self.at.is_some_and(|before| event.at < before) {
            return Err(Fault::Backwards { seq });
        }
        fold(&mut self.state, &event);
        (self.last, self.at, self.hash) = (seq, Some(event.at), hash);
        Ok(())
    }

    fn check_head(&self, row: &Row) -> Result<(), Fault> {
        let seq = self.last;
        let Ok((_, head)) = decode::head(row) else { return Err(Fault::State { seq }) };
        let Head { state, last_seq, last_at, hash } = head;
        if last_seq != seq {
            return Err(Fault::Head { head: last_seq, last: seq });
        }
        if hash != self.hash || Some(last_at) != self.at {
            return Err(Fault::HeadChanged { seq });
        }
        // The stored state has no asks: they have rows of their own.
        let folded = self.state.session().map(|session| Session { asks: BTreeMap::new(), ..session.clone() });
        if folded.as_ref() == Some(&state) { Ok(()) } else { Err(Fault::State { seq }) }
    }

    fn check_asks(&self, rows: Vec<AskRow>) -> Result<Result<(), Fault>, StoreError> {
        let Some(session) = self.state.session() else { return Ok(Ok(())) };
        let mut expected = self.expected(session)?;
        for row in rows {
            if expected.remove(&row.id).as_ref() != Some(&row) {
                return Ok(Err(Fault::Ask { id: row.id }));
            }
        }
        Ok(match expected.into_keys().next() {
            Some(id) => Err(Fault::Ask { id }),
            None => Ok(()),
        })
    }

    fn expected(&self, session: &Session) -> Result<BTreeMap<InteractionId, AskRow>, StoreError> {
        let rows = session
            .asks
            .iter()
            .map(|(id, ask)| rows::ask_row(self.session, session, *id, ask).map(|row| (*id, row)));
        rows.collect()
    }
}
