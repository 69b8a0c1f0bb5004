//! What the batcher asks of a database: write these items, in this order, all of them or none.
//!
//! Public so that tests can put something between the batcher and the database, such as a connection that breaks
//! at the worst moment.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_core::Command;
use holdstead_protocol::{EventId, Seq, SessionId};
use uuid::Uuid;

use crate::error::is_away;
use crate::{AppendError, Appended, Source, StoreError, WentBack};

/// One command on its way into a journal.
#[derive(Debug, Clone)]
pub struct Item {
    pub session: SessionId,
    pub command: Command,
    /// Made when the item was queued. Writing it again writes events with the same ids.
    first_event: Uuid,
    /// Where its first event must be if the commit whose reply was lost did happen.
    pub(crate) maybe_at: Option<Seq>,
}

impl Item {
    pub fn new(session: SessionId, command: Command) -> Self {
        Self { session, command, first_event: Uuid::now_v7(), maybe_at: None }
    }

    /// The id of the item's event with this index.
    pub(crate) fn event_id(&self, index: usize) -> EventId {
        EventId::from_uuid(match index {
            0 => self.first_event,
            index => Uuid::new_v5(&self.first_event, &(index as u64).to_be_bytes()),
        })
    }
}

/// What became of one item.
#[derive(Debug)]
pub enum Written {
    Done(Box<Result<Appended, AppendError>>),
    /// Another node holds the session's head: try again, with everything behind it in its session.
    Busy,
}

/// What came of trying to write a batch.
#[derive(Debug)]
pub(crate) enum Tried {
    Written(Vec<Written>),
    /// These sessions are to be folded again first: another version wrote their state.
    OtherVersion(Vec<SessionId>),
}

/// Why a batch was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The database refused something in it. Nothing was written.
    Refused(Source),
    /// The database is away or busy. Nothing was written.
    Away(Source),
    /// The commit was sent and its reply never came. Each item's first event is at this place, or nowhere.
    Lost { planned: Vec<Option<Seq>>, source: Source },
    /// The database lacks what was seen, and none is used any more. Nothing was written.
    WentBack(WentBack),
    /// What is stored cannot be read. Nothing was written.
    Corrupt(StoreError),
    /// The database's own code panicked, with these words. It may have been written.
    Panicked(String),
}

/// Whether to wait for heads that another node holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Leave them out.
    Skip,
    /// Stand in line: they were left out too often.
    Wait,
}

#[async_trait]
pub trait Backend: Send + Sync + Debug {
    /// Decides and writes a batch in one transaction. One result for each item, in their order.
    async fn write(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError>;
}

impl From<sqlx::Error> for WriteError {
    fn from(error: sqlx::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        match error {
            E::Unreachable { source } => Self::Away(source),
            E::Refused { source } => Self::Refused(source),
            E::WentBack(went_back) => Self::WentBack(went_back),
            other @ (E::BadUrl { .. }
            | E::Absent { .. }
            | E::Migrate { .. }
            | E::Unknown { .. }
            | E::Overloaded { .. }
            | E::Corrupt { .. }
            | E::NewerVersion { .. }
            | E::File { .. }
            | E::Panicked { .. }
            | E::Claimed { .. }
            | E::NoWriter { .. }
            | E::OldFormat { .. }
            | E::NoKey) => Self::Corrupt(other),
        }
    }
}

impl WriteError {
    /// For an error of COMMIT itself: a database that refused has rolled back, one that went away may have committed.
    pub(crate) fn in_commit(error: sqlx::Error, written: &[Written]) -> Self {
        if error.as_database_error().is_some() && !is_away(&error) {
            return error.into();
        }
        Self::Lost { planned: planned(written), source: Arc::new(error) }
    }
}

/// Where each item's first event would be.
pub fn planned(written: &[Written]) -> Vec<Option<Seq>> {
    let first = |written: &Written| match written {
        Written::Done(result) => result.as_ref().as_ref().ok()?.events.first().map(|event| event.seq),
        Written::Busy => None,
    };
    written.iter().map(first).collect()
}
