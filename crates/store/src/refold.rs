//! Brings what an older version folded up to date: one session at a time, when it is read or written.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use holdstead_core::{STATE_VERSION, State, findable, fold};
use holdstead_protocol::{Event, Seq, SessionId, Timestamp};

use crate::db::{Db, Param, Row, Snapshot};
use crate::plan::words_of;
use crate::rows::{self, AskRow, HeadRow};
use crate::search::FoundRow;
use crate::{StoreError, decode, sql};

/// How many events are read at a time.
const PAGE: i64 = 1_000;

/// A database that a newer version wrote to is not for us.
pub(crate) async fn refuse_newer(db: &dyn Db) -> Result<(), StoreError> {
    let rows = db.query(sql::NEWER, vec![Param::Int(i64::from(STATE_VERSION))]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (session, found) = (SessionId::from_uuid(row.id("id")?), row.int("state_version")?);
    Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION })
}

/// Rows with a session's state or its asks in them. Those of an older version are folded again first; one that cannot be
/// is told and left as it is, and keeps nobody from the others.
pub(crate) async fn query(
    db: &dyn Db,
    sql: &'static str,
    params: Vec<Param>,
) -> Result<Vec<Row>, StoreError> {
    rows_of(db, || db.query(sql, params.clone())).await
}

/// The same for the few rows that have one key.
pub(crate) async fn look(db: &dyn Db, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
    rows_of(db, || db.look(sql, params.clone())).await
}

/// The same for a query for words.
pub(crate) async fn find(db: &dyn Db, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
    rows_of(db, || db.find(sql, params.clone())).await
}

async fn rows_of<F>(db: &dyn Db, look: impl Fn() -> F + Send) -> Result<Vec<Row>, StoreError>
where
    F: Future<Output = Result<Vec<Row>, StoreError>> + Send,
{
    let mut tried = BTreeSet::new();
    loop {
        let rows = look().await?;
        let mut outdated = BTreeSet::new();
        for row in &rows {
            if decode::is_outdated(row)? {
                outdated.insert(SessionId::from_uuid(row.id("session_id")?));
            }
        }
        // What was folded may belong elsewhere in a list, so that the next look finds others.
        if outdated.is_subset(&tried) {
            return Ok(rows);
        }
        for session in outdated.difference(&tried) {
            refold_or_tell(db, *session).await?;
        }
        tried.extend(outdated);
    }
}

pub(crate) async fn all(db: &dyn Db, sessions: &[SessionId]) -> Result<(), StoreError> {
    for session in sessions {
        refold(db, *session).await?;
    }
    Ok(())
}

/// A session that cannot be folded again is told. Other errors may pass, and are the caller's.
pub(crate) async fn refold_or_tell(db: &dyn Db, session: SessionId) -> Result<(), StoreError> {
    match refold(db, session).await {
        Err(error @ (StoreError::Corrupt { .. } | StoreError::Panicked { .. })) => {
            tracing::error!(%session, %error,
                "a session of an older version cannot be folded again and is left alone: run `holdstead audit verify`");
            Ok(())
        }
        other => other,
    }
}

/// Folds the session's journal again and stores what it comes to, unless that was done meanwhile.
pub(crate) async fn refold(db: &dyn Db, session: SessionId) -> Result<(), StoreError> {
    // Many may come for one session: the first does the work.
    let _alone = db.refolding().lock().await;
    let id = || vec![Param::Id(session.uuid())];
    let outdated = |rows: &[Row]| rows.first().map_or(Ok(false), decode::is_outdated);
    if !outdated(&db.query(sql::SESSION, id()).await?)? {
        return Ok(());
    }
    let mut folded = Folded { session, state: State::Unopened, last: None, found: Vec::new() };
    db.execute(sql::DROP_FOUND, id()).await?;
    // Most is read before the head is locked for good: nobody else waits for a long journal.
    loop {
        let rows = db.query(sql::READ, folded.page()).await?;
        if !folded.take(rows)? {
            break;
        }
        folded.flush(db).await?;
    }
    let mut locked = db.begin(Some(session)).await?;
    let rows = locked.query(sql::SESSION, id()).await?;
    let Some(row) = rows.first().filter(|_| matches!(outdated(&rows), Ok(true))) else { return Ok(()) };
    let (head, asks) = match decode::erasure(row)? {
        Some(_) => (decode::erased_head(session, row)?, Vec::new()),
        None => {
            loop {
                let rows = locked.query(sql::READ, folded.page()).await?;
                if !folded.take(rows)? {
                    break;
                }
            }
            add_found(db, &mut *locked, std::mem::take(&mut folded.found)).await?;
            folded.rows(row)?
        }
    };
    replace(&mut *locked, head, asks).await?;
    locked.commit().await
}

/// What a session's events come to, as far as they were read.
struct Folded {
    session: SessionId,
    state: State,
    last: Option<(Seq, Timestamp)>,
    /// What was not written yet.
    found: Vec<FoundRow>,
}

impl Folded {
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

    /// What events are found by never changes, so it can be written before the rest. With the head locked: nobody erases
    /// the session meanwhile.
    async fn flush(&mut self, db: &dyn Db) -> Result<(), StoreError> {
        let mut locked = db.begin(Some(self.session)).await?;
        let rows = locked.query(sql::SESSION, vec![Param::Id(self.session.uuid())]).await?;
        let erased = rows.first().map(decode::erasure).transpose()?.flatten();
        let found = std::mem::take(&mut self.found);
        if erased.is_none() {
            add_found(db, &mut *locked, found).await?;
        }
        locked.commit().await
    }

    fn rows(self, head: &Row) -> Result<(HeadRow, Vec<AskRow>), StoreError> {
        let (State::Opened(session), Some((seq, at))) = (self.state, self.last) else {
            return Err(StoreError::corrupt(format!("session {} has a head and no events", self.session)));
        };
        let asks =
            session.asks.iter().map(|(id, ask)| rows::ask_row(self.session, &session.head.owner, *id, ask));
        let asks = asks.collect::<Result<_, _>>()?;
        Ok((rows::head_row(self.session, &session.head, seq, at, decode::hash(head, "head_hash")?)?, asks))
    }
}

async fn add_found(db: &dyn Db, locked: &mut dyn Snapshot, found: Vec<FoundRow>) -> Result<(), StoreError> {
    let language = db.language();
    for row in found {
        let place = vec![Param::Id(row.session.uuid()), Param::Int(decode::number(row.seq))];
        locked.query(language.add, row.params()).await?;
        if let Some(add_words) = language.add_words {
            locked.query(add_words, place).await?;
        }
    }
    Ok(())
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
