//! Brings what an older version folded up to date, when a journal is opened.

use holdstead_core::STATE_VERSION;
use holdstead_protocol::{Event, Seq, SessionId};

use crate::db::{Db, Param, Snapshot};
use crate::rows::{self, AskRow, HeadRow};
use crate::{StoreError, decode, sql};

pub(crate) async fn rebuild(db: &dyn Db) -> Result<(), StoreError> {
    let version = || vec![Param::Int(i64::from(STATE_VERSION))];
    if let Some(row) = db.query(sql::NEWER, version()).await?.first() {
        let session = SessionId::from_uuid(row.id("id")?);
        let found = row.int("state_version")?;
        return Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION });
    }
    loop {
        let outdated = db.query(sql::OUTDATED, version()).await?;
        if outdated.is_empty() {
            return Ok(());
        }
        tracing::info!(sessions = outdated.len(), "folding sessions of an older version again");
        for row in outdated {
            db.refold(SessionId::from_uuid(row.id("id")?)).await?;
        }
    }
}

/// The head and the asks that the session's events come to. Its head is locked.
pub(crate) async fn refolded(
    locked: &mut dyn Snapshot,
    session: SessionId,
) -> Result<(HeadRow, Vec<AskRow>), StoreError> {
    let id = Param::Id(session.uuid());
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(Seq::START, |event| event.seq);
        let page = vec![id.clone(), Param::Int(decode::number(after)), Param::Int(1_000)];
        let rows = locked.query(sql::READ, page).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            events.push(decode::event(row)?);
        }
    }
    let rows = locked.query(sql::SESSION, vec![id]).await?;
    if let Some(row) = rows.first()
        && decode::erasure(row)?.is_some()
    {
        return decode::erased_head(session, row).map(|head| (head, Vec::new()));
    }
    let hash = rows.first().map(|row| decode::hash(row, "head_hash")).transpose()?;
    let refolded = hash.map(|hash| rows::refolded(session, hash, &events)).transpose()?.flatten();
    refolded.ok_or_else(|| StoreError::corrupt(format!("session {session} has a head and no events")))
}
