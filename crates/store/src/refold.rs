//! Shows a session that another version folded as this one folds it, and stores it so when it is written.
//!
//! While nodes are replaced one after the other, two versions run side by side, and each folds the events its own way. A node
//! that reads folds in memory: it waits for no writer, and takes nothing from the other version. A node that appends stores
//! its own fold first. What the older one cannot read is left to the newer one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};

use holdstead_core::{STATE_VERSION, State, findable, fold};
use holdstead_protocol::{Event, Seq, SessionId, Timestamp};
use tokio::sync::{Mutex, MutexGuard};

use crate::db::{Db, Param, Row, Snapshot};
use crate::plan::words_of;
use crate::rows::{self, AskRow, HeadRow};
use crate::search::{FoundRow, Language, Sum};
use crate::sqlite_row::SqliteRow;
use crate::{StoreError, decode, sql};

/// How many events are read at a time.
const PAGE: i64 = 1_000;
/// How often a session is folded for one audit of it: a node of another version may fold it its own way in between.
const TIMES: u32 = 5;

/// Many may come for one session: the first does the work. A few sessions share a lock.
#[derive(Debug, Default)]
pub(crate) struct Refolding([Mutex<()>; 16]);

impl Refolding {
    async fn alone(&self, session: SessionId) -> MutexGuard<'_, ()> {
        let [.., last] = session.uuid().into_bytes();
        self.0[usize::from(last) % self.0.len()].lock().await
    }
}

/// A file that a newer version wrote to is not for us: nobody runs beside us who could see to what we cannot read.
pub(crate) async fn refuse_newer(db: &dyn Db) -> Result<(), StoreError> {
    let rows = db.query(sql::NEWER, vec![Param::Int(i64::from(STATE_VERSION))]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (session, found) = (SessionId::from_uuid(row.id("id")?), row.int("state_version")?);
    Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION })
}

/// Rows with a session's state or its asks in them, as this version folds them. A session that this version cannot fold is
/// told and left as it is, and keeps nobody from the others. What a list is chosen by stays as the other version stored it.
pub(crate) async fn query(
    db: &dyn Db,
    sql: &'static str,
    params: Vec<Param>,
) -> Result<Vec<Row>, StoreError> {
    let rows = db.query(sql, params.clone()).await?;
    shown(db, sql, params, rows).await
}

/// The same for the few rows that have one key.
pub(crate) async fn look(db: &dyn Db, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
    let rows = db.look(sql, params.clone()).await?;
    shown(db, sql, params, rows).await
}

/// The same for a query for words.
pub(crate) async fn find(db: &dyn Db, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
    let rows = db.find(sql, params.clone()).await?;
    shown(db, sql, params, rows).await
}

/// Where all of these rows are of this version, they are what is shown. Otherwise rows and events are read at one moment.
async fn shown(
    db: &dyn Db,
    sql: &'static str,
    params: Vec<Param>,
    rows: Vec<Row>,
) -> Result<Vec<Row>, StoreError> {
    if other_version(&rows)?.is_none() {
        return Ok(rows);
    }
    let mut snapshot = db.snapshot().await?;
    let (mut sessions, mut shown) = (BTreeMap::new(), Vec::new());
    for row in snapshot.query(sql, params).await? {
        if decode::other_version(&row)?.is_none() {
            shown.push(row);
            continue;
        }
        let session = SessionId::from_uuid(row.id("session_id")?);
        let ours = match sessions.entry(session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(readable(session, fold_in_memory(&mut *snapshot, session).await)?.flatten())
            }
        };
        shown.push(match ours {
            Some((head, asks)) => folded_row(&mut *snapshot, row, head, asks).await?,
            None => row,
        });
    }
    Ok(shown)
}

/// What the session comes to, unless it is of this version already.
async fn fold_in_memory(
    snapshot: &mut dyn Snapshot,
    session: SessionId,
) -> Result<Option<(HeadRow, Vec<AskRow>)>, StoreError> {
    let rows = snapshot.query(sql::SESSION, id(session)).await?;
    let Some((row, found)) = rows.first().zip(other_version(&rows)?) else { return Ok(None) };
    let mut folded = Folded::nothing(session);
    let read = folded.read_on(snapshot, row).await;
    said_of(session, found, read.and_then(|()| folded.rows(row))).map(Some)
}

/// The row, with what this version folds the session to in the place of what the other one stored.
async fn folded_row(
    snapshot: &mut dyn Snapshot,
    stored: Row,
    head: &HeadRow,
    asks: &[AskRow],
) -> Result<Row, StoreError> {
    let archived = head.archived.as_ref();
    let mut columns = vec![
        ("state_version", Param::Int(i64::from(head.state_version))),
        ("state", Param::Bytes(head.state.clone())),
        ("agent_state", Param::Bytes(head.agent_state.clone())),
        ("unfinished", Param::Flag(head.unfinished)),
        ("title", Param::MaybeBytes(head.title.clone())),
        ("archived_at", Param::MaybeInt(archived.map(|archived| archived.at.micros()))),
        ("archived_by", Param::MaybeText(archived.map(|archived| archived.by.clone()))),
    ];
    if stored.maybe_bytes("doc").is_ok() {
        let id = stored.id("id")?;
        // The other version knows of an ask that this one does not: nothing of it is shown.
        let Some(ask) = asks.iter().find(|ask| ask.id.uuid() == id) else { return Ok(stored) };
        let response = match ask.response_seq {
            Some(seq) => {
                let at = Param::Int(decode::number(seq).saturating_sub(1));
                let events =
                    snapshot.query(sql::READ, vec![Param::Id(head.id.uuid()), at, Param::Int(1)]).await?;
                events.first().map(|event| event.bytes("data")).transpose()?
            }
            None => None,
        };
        columns.push(("doc", Param::Bytes(ask.doc.clone())));
        columns.push(("response", Param::MaybeBytes(response)));
    }
    Ok(Row::Folded { stored: Box::new(stored), folded: SqliteRow::of(columns) })
}

/// The database at one moment, in which this session is stored as this version folds it, unless it cannot be: for the audit,
/// which compares what is stored.
pub(crate) async fn snapshot(db: &dyn Db, session: SessionId) -> Result<Box<dyn Snapshot>, StoreError> {
    for _ in 0..TIMES {
        let refolded = refold_or_tell(db, session).await?;
        let mut snapshot = db.snapshot().await?;
        let other = other_version(&snapshot.query(sql::SESSION, id(session)).await?)?;
        if other.is_none() || refolded == Refolded::LeftAlone {
            return Ok(snapshot);
        }
    }
    Err(contested(session))
}

/// It may be otherwise in a moment.
fn contested(session: SessionId) -> StoreError {
    StoreError::unreachable(format!("nodes of another version work on session {session}"))
}

pub(crate) async fn all(db: &dyn Db, sessions: &[SessionId]) -> Result<(), StoreError> {
    for session in sessions {
        refold(db, *session).await?;
    }
    Ok(())
}

/// What became of a session of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refolded {
    Done,
    LeftAlone,
}

/// A session that cannot be folded again is told. Other errors may pass, and are the caller's.
pub(crate) async fn refold_or_tell(db: &dyn Db, session: SessionId) -> Result<Refolded, StoreError> {
    Ok(match readable(session, refold(db, session).await)? {
        Some(()) => Refolded::Done,
        None => Refolded::LeftAlone,
    })
}

/// Nothing, where this version cannot fold the session.
fn readable<T>(session: SessionId, folded: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match folded {
        Ok(folded) => Ok(Some(folded)),
        Err(error @ (StoreError::Corrupt { .. } | StoreError::Panicked { .. })) => {
            tracing::error!(%session, %error,
                "a session of an older version cannot be folded again and is left alone: run `holdstead audit verify`");
            Ok(None)
        }
        Err(error @ StoreError::NewerVersion { .. }) => {
            tracing::warn!(%error, "a session is left to the nodes of the newer version");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Folds the session's journal again and stores what it comes to, unless that was done meanwhile.
pub(crate) async fn refold(db: &dyn Db, session: SessionId) -> Result<(), StoreError> {
    let _alone = db.refolding().alone(session).await;
    let Some(found) = other_version(&db.query(sql::SESSION, id(session)).await?)? else { return Ok(()) };
    said_of(session, found, fold_again(db, session).await)
}

fn id(session: SessionId) -> Vec<Param> {
    vec![Param::Id(session.uuid())]
}

/// The first version among these rows that is another one.
fn other_version(rows: &[Row]) -> Result<Option<i64>, StoreError> {
    let mut versions = rows.iter().map(decode::other_version);
    versions.find(|version| !matches!(version, Ok(None))).unwrap_or(Ok(None))
}

async fn fold_again(db: &dyn Db, session: SessionId) -> Result<(), StoreError> {
    let mut folded = Folded::nothing(session);
    // Most is read before the head is locked: nobody else waits for a long journal.
    while folded.take(db.query(sql::READ, folded.page()).await?)? {}
    let mut locked = db.begin(Some(session)).await?;
    folded.finish(&mut *locked, db.language()).await?;
    locked.commit().await
}

/// The same for whoever holds the head and goes on with what it comes to: nobody of another version comes in between.
pub(crate) async fn refold_locked(
    locked: &mut dyn Snapshot,
    language: Language,
    session: SessionId,
) -> Result<(), StoreError> {
    Folded::nothing(session).finish(locked, language).await
}

/// What cannot be read of a newer version is for that one.
fn said_of<T>(session: SessionId, found: i64, folded: Result<T, StoreError>) -> Result<T, StoreError> {
    match folded {
        Err(StoreError::Corrupt { .. } | StoreError::Panicked { .. }) if found > i64::from(STATE_VERSION) => {
            Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION })
        }
        other => other,
    }
}

/// What a session's events come to, as far as they were read.
struct Folded {
    session: SessionId,
    state: State,
    last: Option<(Seq, Timestamp)>,
    /// What they are found by.
    found: Vec<FoundRow>,
}

impl Folded {
    const fn nothing(session: SessionId) -> Self {
        Self { session, state: State::Unopened, last: None, found: Vec::new() }
    }

    /// Reads the rest and stores what it comes to, unless that was done meanwhile.
    async fn finish(self, locked: &mut dyn Snapshot, language: Language) -> Result<(), StoreError> {
        let session = self.session;
        let rows = locked.query(sql::SESSION, id(session)).await?;
        let Some((row, found)) = rows.first().zip(other_version(&rows)?) else { return Ok(()) };
        said_of(session, found, self.put(locked, language, row, found).await)
    }

    /// In the place of what the version `found` folded to this row.
    async fn put(
        mut self,
        locked: &mut dyn Snapshot,
        language: Language,
        row: &Row,
        found: i64,
    ) -> Result<(), StoreError> {
        self.read_on(locked, row).await?;
        // What a newer version finds events by is right, whatever we would.
        if decode::erasure(row)?.is_none() && found < i64::from(STATE_VERSION) {
            self.put_found(locked, language).await?;
        }
        let (head, asks) = self.rows(row)?;
        replace(locked, head, asks).await
    }

    /// Reads the rest. Of a session that was erased, nothing is left to fold.
    async fn read_on(&mut self, snapshot: &mut dyn Snapshot, row: &Row) -> Result<(), StoreError> {
        if decode::erasure(row)?.is_none() {
            while self.take(snapshot.query(sql::READ, self.page()).await?)? {}
        }
        Ok(())
    }

    /// What comes behind that which was read.
    fn page(&self) -> Vec<Param> {
        let after = self.last.map_or(Seq::START, |(seq, _)| seq);
        vec![Param::Id(self.session.uuid()), Param::Int(decode::number(after)), Param::Int(PAGE)]
    }

    /// Whether there may be more.
    fn take(&mut self, rows: Vec<Row>) -> Result<bool, StoreError> {
        let events = rows.iter().map(decode::event).collect::<Result<Vec<Event>, _>>()?;
        let Some(last) = events.last() else { return Ok(false) };
        self.last = Some((last.seq, last.at));
        catch_unwind(AssertUnwindSafe(|| events.iter().for_each(|event| self.fold(event))))
            .map_err(|panic| StoreError::Panicked { what: words_of(&*panic) })?;
        Ok(true)
    }

    fn fold(&mut self, event: &Event) {
        fold(&mut self.state, event);
        if let Some(session) = self.state.session()
            && let Some(found) = findable(session, event)
        {
            self.found.push(FoundRow::of(self.session, &session.head.owner, event, found));
        }
    }

    /// Puts what its events are found by in the place of what they were, if that is not the same.
    async fn put_found(&mut self, locked: &mut dyn Snapshot, language: Language) -> Result<(), StoreError> {
        let mut sum = Sum::default();
        self.found.iter().for_each(|row| sum.add(row));
        if sum.holds(locked, self.session).await? {
            return Ok(());
        }
        locked.query(sql::DROP_FOUND, id(self.session)).await?;
        for row in std::mem::take(&mut self.found) {
            let place = vec![Param::Id(row.session.uuid()), Param::Int(decode::number(row.seq))];
            locked.query(language.add, row.params()).await?;
            if let Some(add_words) = language.add_words {
                locked.query(add_words, place).await?;
            }
        }
        Ok(())
    }

    fn rows(self, head: &Row) -> Result<(HeadRow, Vec<AskRow>), StoreError> {
        if decode::erasure(head)?.is_some() {
            return Ok((decode::erased_head(self.session, head)?, Vec::new()));
        }
        let (State::Opened(session), Some((seq, at))) = (self.state, self.last) else {
            return Err(StoreError::corrupt(format!("session {} has a head and no events", self.session)));
        };
        let asks =
            session.asks.iter().map(|(id, ask)| rows::ask_row(self.session, &session.head.owner, *id, ask));
        let asks = asks.collect::<Result<_, _>>()?;
        Ok((rows::head_row(self.session, &session.head, seq, at, decode::hash(head, "head_hash")?)?, asks))
    }
}

/// Puts another state and other asks in the place of a session's own.
async fn replace(locked: &mut dyn Snapshot, head: HeadRow, asks: Vec<AskRow>) -> Result<(), StoreError> {
    let id = || Param::Id(head.id.uuid());
    let params = vec![
        id(),
        Param::Int(decode::number(head.last_seq)),
        Param::Int(head.last_at.micros()),
        Param::Int(i64::from(head.state_version)),
        Param::Bytes(head.state),
        Param::Bytes(head.agent_state),
        Param::Flag(head.unfinished),
        Param::MaybeBytes(head.title),
        Param::MaybeInt(head.archived.as_ref().map(|archived| archived.at.micros())),
        Param::MaybeText(head.archived.map(|archived| archived.by)),
    ];
    locked.query(sql::REPLACE_HEAD, params).await?;
    locked.query(sql::DROP_ASKS, vec![id()]).await?;
    for ask in asks {
        let params = vec![
            Param::Id(ask.id.uuid()),
            Param::Id(ask.session.uuid()),
            Param::Text(ask.owner),
            Param::Flag(ask.live),
            Param::Int(ask.opened_at.micros()),
            Param::MaybeInt(ask.due_at.map(Timestamp::micros)),
            Param::Int(decode::number(ask.request_seq)),
            Param::MaybeInt(ask.response_seq.map(decode::number)),
            Param::MaybeInt(ask.decided_at.map(Timestamp::micros)),
            Param::MaybeText(ask.under_way.map(|under_way| under_way.as_str().to_owned())),
            Param::Bytes(ask.doc),
        ];
        locked.query(sql::ADD_ASK, params).await?;
    }
    Ok(())
}
