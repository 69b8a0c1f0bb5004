//! Erasing a session: what was said goes, that it was said stays, and the chain still holds.
//!
//! First it is put on record, then what was said is taken away step by step. Until that is done the session counts as
//! unfinished, so that a gateway that starts goes on with it.

use std::sync::Arc;
use std::{fmt, io};

use holdstead_core::{Head, State, fold, is_unfinished};
use holdstead_protocol::{AgentState, Event, EventBody, EventId, Seq, SessionId, SessionOpened, Timestamp};

use crate::db::{Db, Param, Snapshot};
use crate::notary::{self, Notary};
use crate::{Erasure, Member, SessionRecord, StoreError, chain, decode, refold, rows, sql};

/// How many rows one step takes away at most, and about how many bytes.
const STEP: usize = 128;
const STEP_BYTES: usize = 4 * 1024 * 1024;
/// How many events are read at a time: each may have a megabyte.
const PAGE: i64 = 16;

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
    #[error("another node has taken this node's place: it takes the session away")]
    LostPlace,
    #[error("the session's file has not got its name: {0}")]
    NoFile(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who is on record for a session that went to a file.
const AGED_OUT: &str = "Holdstead, to a file";

/// The file that a session goes to.
pub struct Going {
    to: String,
    head: Seq,
    /// The node that wrote it. One that lost its place since takes nothing away.
    member: Option<Member>,
    give_name: GiveName,
}

type GiveName = Box<dyn FnOnce() -> io::Result<()> + Send>;

impl Going {
    /// It has everything up to the event `head`, and its name when `give_name` has run. That runs with the session locked, so
    /// of two nodes that write the file at once only the one that takes the session away gives it its name.
    pub fn new(
        to: impl Into<String>,
        head: Seq,
        member: Option<Member>,
        give_name: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self { to: to.into(), head, member, give_name: Box::new(give_name) }
    }
}

impl fmt::Debug for Going {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Going").field("to", &self.to).field("head", &self.head).finish_non_exhaustive()
    }
}

/// Why it goes.
#[derive(Debug)]
pub(crate) enum Why<'a> {
    /// Somebody wants it gone.
    Erased {
        by: &'a str,
    },
    AgedOut(Going),
}

impl Why<'_> {
    fn by(&self) -> String {
        match self {
            Self::Erased { by } => (*by).to_owned(),
            Self::AgedOut(_) => AGED_OUT.to_owned(),
        }
    }
}

pub(crate) async fn erase(
    db: &dyn Db,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
    why: Why<'_>,
) -> Result<Erasure, EraseError> {
    let (erasure, left) = mark(db, notary, session, why).await?;
    match left {
        Left::Something => empty(db, session, &erasure).await?,
        Left::Nothing => {}
    }
    Ok(erasure)
}

/// What is left of a session that was erased.
enum Left {
    /// Nobody can read it any more, and whoever goes on takes it away.
    Something,
    Nothing,
}

/// Puts it on record, and signs for it. From then on nothing of the session is shown and nothing is appended to it,
/// whatever is left of it: whoever stops halfway leaves an erased session that is not empty yet, never one that looks
/// whole.
async fn mark(
    db: &dyn Db,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
    why: Why<'_>,
) -> Result<(Erasure, Left), EraseError> {
    let erasure = Erasure { at: db.now().await?, by: why.by() };
    // With its head locked, nothing is appended meanwhile.
    let mut transaction = db.begin(Some(session)).await?;
    refold::refold_locked(&mut *transaction, db.language(), session).await?;
    let rows = transaction.query(sql::SESSION, vec![Param::Id(session.uuid())]).await?;
    let row = rows.first().ok_or(EraseError::NoSession)?;
    let record = decode::session(row)?;
    if let Some(earlier) = &record.erased {
        if record.aged_out_to.is_none() || matches!(why, Why::AgedOut(_)) {
            let left = if row.flag("unfinished")? { Left::Something } else { Left::Nothing };
            return Ok((earlier.clone(), left));
        }
        let (at, by) = (Param::Int(erasure.at.micros()), Param::Text(erasure.by.clone()));
        transaction.query(sql::ERASE_FOR_GOOD, vec![Param::Id(session.uuid()), at, by]).await?;
        notary::sign_and_commit(transaction, notary, session, erasure.at, Some(erasure.by.clone())).await?;
        return Ok((erasure, Left::Something));
    }
    if let Why::AgedOut(going) = &why
        && going.head != record.head
    {
        return Err(EraseError::StillGoing);
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
    let file = match why {
        Why::Erased { .. } => None,
        Why::AgedOut(going) => Some(keep(&mut *transaction, going).await?),
    };
    transaction.query(sql::DROP_SECRETS_OF_SESSION, vec![Param::Id(session.uuid())]).await?;
    empty_head(&mut *transaction, &record, &erasure, file).await?;
    notary::sign_and_commit(transaction, notary, session, erasure.at, Some(erasure.by.clone())).await?;
    Ok((erasure, Left::Something))
}

/// The session's file has its name, if this node may still give it.
async fn keep(
    transaction: &mut dyn Snapshot,
    Going { to, member, give_name, .. }: Going,
) -> Result<String, EraseError> {
    if let Some(Member { id, epoch }) = member {
        let params = vec![Param::Id(id.uuid()), Param::Int(epoch)];
        if transaction.query(sql::HOLD_MEMBER, params).await?.is_empty() {
            return Err(EraseError::LostPlace);
        }
    }
    let named = tokio::task::spawn_blocking(give_name).await.map_err(io::Error::other);
    match named.and_then(|named| named) {
        Ok(()) => Ok(to),
        Err(error) => Err(EraseError::NoFile(error.to_string())),
    }
}

/// Takes away what is left, a little at a time: on SQLite, everybody else who writes waits for each of these steps. The
/// moment of the erasure is its fencing token, which each step checks: another process may have gone on and come to the
/// end since, and the session may be back from its file.
async fn empty(db: &dyn Db, session: SessionId, erasure: &Erasure) -> Result<(), StoreError> {
    let token = || vec![Param::Id(session.uuid()), Param::Int(erasure.at.micros())];
    let mut after = Seq::START;
    loop {
        let Some(mut transaction) = hold(db, session, token()).await? else { return Ok(()) };
        let Some(last) = empty_some(&mut *transaction, session, after).await? else { break };
        transaction.commit().await?;
        after = last;
    }
    for drop_some in [sql::DROP_SOME_ASKS, sql::DROP_SOME_FOUND] {
        loop {
            let Some(mut transaction) = hold(db, session, token()).await? else { return Ok(()) };
            let some = vec![Param::Id(session.uuid()), Param::Int(STEP as i64)];
            let dropped = transaction.query(drop_some, some).await?.len();
            transaction.commit().await?;
            if dropped < STEP {
                break;
            }
        }
    }
    db.forget().await?;
    db.execute(sql::NOTHING_LEFT, token()).await.map(drop)
}

/// A transaction in which the session is still to be emptied by this erasure.
async fn hold(
    db: &dyn Db,
    session: SessionId,
    token: Vec<Param>,
) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
    let mut transaction = db.begin(Some(session)).await?;
    let held = transaction.query(sql::STILL_BEING_EMPTIED, token).await?;
    Ok((!held.is_empty()).then_some(transaction))
}

/// Each event keeps its line, and what its data and salt hashed to. Returns the last one, if there was any.
async fn empty_some(
    transaction: &mut dyn Snapshot,
    session: SessionId,
    mut after: Seq,
) -> Result<Option<Seq>, StoreError> {
    let id = || Param::Id(session.uuid());
    let (mut emptied, mut bytes) = (0, 0);
    while emptied < STEP && bytes < STEP_BYTES {
        let page = vec![id(), Param::Int(decode::number(after)), Param::Int(PAGE)];
        let rows = transaction.query(sql::READ_CHAIN, page).await?;
        let Some(last) = rows.last() else { break };
        after = decode::seq(last, "seq")?;
        emptied += rows.len();
        for row in &rows {
            // Whoever began may have come so far.
            if row.maybe_bytes("data_hash")?.is_some() {
                continue;
            }
            let salt = row.bytes("salt")?.try_into().map_err(|_| StoreError::corrupt("a salt"))?;
            let data = row.bytes("data")?;
            bytes += data.len();
            let hash = chain::data_hash(&salt, &data);
            let empty = Param::Bytes(Vec::new());
            let params = vec![id(), Param::Int(row.int("seq")?), Param::Bytes(hash.to_vec()), empty];
            transaction.query(sql::ERASE_EVENT, params).await?;
        }
    }
    Ok((emptied > 0).then_some(after))
}

/// Whose it was and which agent it had stays, and that it has ended.
async fn empty_head(
    transaction: &mut dyn Snapshot,
    record: &SessionRecord,
    erasure: &Erasure,
    file: Option<String>,
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
        Param::MaybeText(file),
    ];
    transaction.query(sql::ERASE_HEAD, params).await.map(|_| ())
}

/// The state of a session of which nothing is left.
pub(crate) fn erased(opened: &SessionOpened) -> Result<Head, StoreError> {
    let body = EventBody::SessionOpened(opened.clone());
    let at = Timestamp::from_micros(0);
    let mut state = State::Unopened;
    fold(
        &mut state,
        &Event { id: EventId::from_uuid(uuid::Uuid::nil()), seq: Seq(1), at, heard: None, body },
    );
    match state {
        State::Opened(session) => Ok(Head { agent: AgentState::Ended, ..Head::clone(&session.head) }),
        State::Unopened => Err(StoreError::corrupt("a session that nothing opens")),
    }
}
