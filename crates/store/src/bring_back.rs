//! A session that went to a file comes back from it: every event says again what it said, or nothing changes.

use std::io::BufRead;
use std::sync::Arc;

use holdstead_protocol::{EventBody, EventType, Seq, SessionId};

use crate::db::{Db, Param, Row, Snapshot};
use crate::export::{EventLine, Line, read_line};
use crate::notary::{self, Notary};
use crate::{StoreError, chain, decode, refold, rows, sql};

/// How many events are written together.
const STEP: usize = 128;

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BroughtBack {
    pub session: SessionId,
    pub events: u64,
}

/// Why a file brings no session back.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BringBackError {
    #[error("the file has events of another session in it: give the one that this session went to")]
    Several,
    #[error("session {session} is not in this database")]
    NoSession { session: SessionId },
    #[error("session {session} did not go to a file: it is here, or somebody erased it")]
    NotAway { session: SessionId },
    #[error(
        "event {seq} of the file is not the one that this journal had: it was changed, or is of another journal"
    )]
    Other { seq: Seq },
    #[error("the file does not have event {seq}: it is not whole")]
    Lacks { seq: Seq },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whoever is interrupted calls this again: until all of it is there, nothing of it is shown.
pub(crate) async fn bring_back(
    db: &dyn Db,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
    file: &mut (dyn BufRead + Send),
) -> Result<BroughtBack, BringBackError> {
    let token = away(db, session).await?;
    let (mut opened, mut some) = (None, Vec::new());
    let (mut events, mut number) = (0, 0);
    while let Some(line) = read_line(file, &mut number)? {
        let Line::Event(event) = line else { continue };
        if session != event.session {
            return Err(BringBackError::Several);
        }
        if event.seq == Seq::START.next() {
            opened = event.data.clone();
        }
        events += 1;
        some.push(event);
        if some.len() == STEP {
            put_back(db, &token, std::mem::take(&mut some)).await?;
        }
    }
    put_back(db, &token, some).await?;
    let opened = opened.ok_or(BringBackError::Lacks { seq: Seq::START.next() })?;
    let id = || Param::Id(session.uuid());
    let now = db.now().await?;
    let mut transaction = hold(db, session, &token).await?;
    if let Some(row) = transaction.query(sql::STILL_AWAY, vec![id()]).await?.first() {
        return Err(BringBackError::Lacks { seq: decode::seq(row, "seq")? });
    }
    let EventBody::SessionOpened(opened) = decode::body(EventType::SessionOpened, opened.as_bytes())? else {
        return Err(BringBackError::Other { seq: Seq::START.next() });
    };
    let opened = rows::bytes(&opened)?;
    transaction.query(sql::BRING_BACK, vec![id(), Param::Bytes(opened)]).await?;
    notary::sign_and_commit(transaction, notary, session, now, None).await?;
    refold::refold(db, session).await?;
    Ok(BroughtBack { session, events })
}

/// The fencing token of what is done here: the session, and the moment at which it went to its file.
async fn away(db: &dyn Db, session: SessionId) -> Result<[Param; 2], BringBackError> {
    let rows = refold::look(db, sql::SESSION, vec![Param::Id(session.uuid())]).await?;
    let Some(row) = rows.first() else { return Err(BringBackError::NoSession { session }) };
    let record = decode::session(row)?;
    match (record.erased, record.aged_out_to) {
        (Some(erasure), Some(_)) if !row.flag("unfinished")? => {
            Ok([Param::Id(session.uuid()), Param::Int(erasure.at.micros())])
        }
        (Some(_) | None, Some(_) | None) => Err(BringBackError::NotAway { session }),
    }
}

/// A transaction in which the session is in its file as it was: no process erases it, and no other one has brought it back.
async fn hold(
    db: &dyn Db,
    session: SessionId,
    token: &[Param; 2],
) -> Result<Box<dyn Snapshot>, BringBackError> {
    let mut transaction = db.begin(Some(session)).await?;
    if transaction.query(sql::STILL_IN_ITS_FILE, token.to_vec()).await?.is_empty() {
        return Err(BringBackError::NotAway { session });
    }
    Ok(transaction)
}

async fn put_back(db: &dyn Db, token: &[Param; 2], events: Vec<EventLine>) -> Result<(), BringBackError> {
    let Some(first) = events.first() else { return Ok(()) };
    let mut transaction = hold(db, first.session, token).await?;
    for event in events {
        let (seq, id) = (event.seq, Param::Id(event.session.uuid()));
        let at = vec![id.clone(), Param::Int(decode::number(seq) - 1), Param::Int(1)];
        let found = transaction.query(sql::READ_CHAIN, at).await?;
        let row = found.first().filter(|row| decode::seq(row, "seq").is_ok_and(|found| found == seq));
        let row = row.ok_or(BringBackError::Other { seq })?;
        match row.maybe_bytes("data_hash")? {
            Some(hash) => take(&mut *transaction, id, event, &hash).await?,
            None if is_same(row, &event)? => {}
            None => return Err(BringBackError::Other { seq }),
        }
    }
    Ok(transaction.commit().await?)
}

/// What is back, or was never away.
fn is_same(row: &Row, event: &EventLine) -> Result<bool, StoreError> {
    let data = event.data.as_ref().map(String::as_bytes);
    Ok(Some(row.bytes("data")?.as_slice()) == data && decode::hash(row, "hash")? == event.hash)
}

async fn take(
    transaction: &mut dyn Snapshot,
    id: Param,
    event: EventLine,
    hash: &[u8],
) -> Result<(), BringBackError> {
    let seq = event.seq;
    let (Some(data), Some(salt)) = (event.data, event.salt) else {
        return Err(BringBackError::Other { seq });
    };
    if chain::data_hash(&salt, data.as_bytes()) != *hash {
        return Err(BringBackError::Other { seq });
    }
    let params = vec![
        id,
        Param::Int(decode::number(seq)),
        Param::Bytes(salt.to_vec()),
        Param::Bytes(data.into_bytes()),
    ];
    transaction.query(sql::BRING_BACK_EVENT, params).await?;
    Ok(())
}
