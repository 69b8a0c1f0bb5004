//! Erasing a session: what was said goes, that it was said stays, and the chain still holds.

use std::sync::Arc;

use holdstead_core::{Session, State, fold, is_unfinished};
use holdstead_protocol::{AgentState, Event, EventBody, EventId, Seq, SessionId, SessionOpened, Timestamp};

use crate::audit::PAGE;
use crate::db::{Db, Param, Snapshot};
use crate::notary::{self, Notary};
use crate::{Checkpoint, Erasure, SessionRecord, StoreError, chain, decode, rows, sql};

/// Why a session was not erased.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EraseError {
    #[error("there is no such session")]
    NoSession,
    #[error("this session has not ended: end it first")]
    NotEnded,
    /// It has ended and still has a process, or an answer on its way.
    #[error("this session's agent is still going: try again in a moment")]
    StillGoing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) async fn erase(
    db: &dyn Db,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
    by: &str,
) -> Result<Erasure, EraseError> {
    let erasure = Erasure { at: db.now().await?, by: by.to_owned() };
    // With its head locked, nothing is appended meanwhile.
    let mut transaction = db.begin(Some(session)).await?;
    let rows = transaction.query(sql::SESSION, vec![Param::Id(session.uuid())]).await?;
    let record = rows.first().ok_or(EraseError::NoSession).and_then(|row| Ok(decode::session(row)?))?;
    if let Some(earlier) = record.erased {
        return Ok(earlier);
    }
    match record.state.agent {
        AgentState::Ended if is_unfinished(&record.state) => {
            return Err(EraseError::StillGoing);
        }
        AgentState::Ended => {}
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => return Err(EraseError::NotEnded),
    }
    empty_events(&mut *transaction, session).await?;
    transaction.query(sql::DROP_ASKS, vec![Param::Id(session.uuid())]).await?;
    transaction.query(sql::DROP_SECRETS_OF_SESSION, vec![Param::Id(session.uuid())]).await?;
    empty_head(&mut *transaction, &record, &erasure).await?;
    let signed = match notary {
        Some(notary) => sign(&mut *transaction, notary, session, &erasure).await?,
        None => None,
    };
    transaction.commit().await?;
    db.forget().await?;
    if let (Some(notary), Some(signed)) = (notary, signed) {
        notary.log(vec![notary::Kept::Checkpoint(signed)]).await?;
    }
    Ok(erasure)
}

/// Each event keeps its line, and what its data and salt hashed to.
async fn empty_events(transaction: &mut dyn Snapshot, session: SessionId) -> Result<(), StoreError> {
    let mut after = Seq::START;
    loop {
        let id = || Param::Id(session.uuid());
        let page = vec![id(), Param::Int(decode::number(after)), Param::Int(PAGE)];
        let rows = transaction.query(sql::READ_CHAIN, page).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = decode::seq(last, "seq")?;
        for row in &rows {
            let salt = row.bytes("salt")?.try_into().map_err(|_| StoreError::corrupt("a salt"))?;
            let hash = chain::data_hash(&salt, &row.bytes("data")?);
            let empty = Param::Bytes(Vec::new());
            let params = vec![id(), Param::Int(row.int("seq")?), Param::Bytes(hash.to_vec()), empty];
            transaction.query(sql::ERASE_EVENT, params).await?;
        }
    }
}

/// Whose it was and which agent it had stays, and that it has ended.
async fn empty_head(
    transaction: &mut dyn Snapshot,
    record: &SessionRecord,
    erasure: &Erasure,
) -> Result<(), StoreError> {
    let kept = &record.opened;
    let opened = SessionOpened {
        permission_mode: kept.permission_mode,
        ..SessionOpened::new(kept.owner.clone(), kept.agent.clone())
    };
    let head = rows::head_row(record.id, &erased(&opened)?, record.head, record.changed_at, chain::START)?;
    let opening = rows::opening_row(&opened, record.opened_at)?;
    let params = vec![
        Param::Id(record.id.uuid()),
        Param::Bytes(opening.opened),
        Param::Bytes(head.state),
        Param::Bytes(head.agent_state),
        Param::Int(i64::from(head.state_version)),
        Param::Int(erasure.at.micros()),
        Param::Text(erasure.by.clone()),
    ];
    transaction.query(sql::ERASE_HEAD, params).await.map(|_| ())
}

/// The state of a session of which nothing is left.
pub(crate) fn erased(opened: &SessionOpened) -> Result<Session, StoreError> {
    let body = EventBody::SessionOpened(opened.clone());
    let at = Timestamp::from_micros(0);
    let mut state = State::Unopened;
    fold(&mut state, &Event { id: EventId::from_uuid(uuid::Uuid::nil()), seq: Seq(1), at, body });
    match state {
        State::Opened(session) => Ok(Session { agent: AgentState::Ended, ..*session }),
        State::Unopened => Err(StoreError::corrupt("a session that nothing opens")),
    }
}

/// Whoever takes data away without the key is found out.
async fn sign(
    transaction: &mut dyn Snapshot,
    notary: &Notary,
    session: SessionId,
    erasure: &Erasure,
) -> Result<Option<Checkpoint>, StoreError> {
    loop {
        let found = notary::head_and_last(transaction, session).await?;
        let Some((head, last)) = found else { return Ok(None) };
        let by = Some(erasure.by.clone());
        let checkpoint = Checkpoint::sign(&notary.key, head, last.as_ref(), erasure.at, by);
        // If another node signed the session meanwhile, that one comes first.
        if notary::add(transaction, &checkpoint).await? {
            return Ok(Some(checkpoint));
        }
    }
}
