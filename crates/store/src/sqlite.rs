//! SQLite: one file, or memory. One connection writes, on the thread of the batcher; a file is read through others
//! meanwhile.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdstead_protocol::{SessionId, Timestamp};
use rusqlite::Connection;
use tokio::task::spawn_blocking;

use crate::backend::{Backend, Item, Patience, Tried, WriteError, Written};
use crate::batch::Batchers;
use crate::clock::{Clock, SystemClock};
use crate::db::{Db, Param, Row, Snapshot};
use crate::recent::Recent;
use crate::refold::Refolding;
use crate::search::Language;
use crate::sqlite_connections::{BUSY, Connections, Lent, Place, make_private, open};
use crate::sqlite_row::{bound, run};
use crate::store::Store;
use crate::{Claim, StoreError, refold, sqlite_migrate, sqlite_write};

/// How often the log is tried to be emptied while others read or write.
const FORGET_TRIES: u32 = 100;
const FORGET_PAUSE: Duration = Duration::from_millis(50);

/// A journal in SQLite.
pub type SqliteJournal = Store<Sqlite>;

/// A SQLite database.
#[derive(Debug)]
pub struct Sqlite {
    connections: Connections,
    clock: Arc<dyn Clock>,
    calls: Calls,
    recent: Recent,
    refolding: Refolding,
}

/// Where SQLite works, which blocks whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    /// On threads that may block.
    OnThreads,
    /// On the caller's own. To a runtime whose time is paused, waiting for another thread looks like having nothing to do,
    /// and it would jump to the next timer: an ask would expire while it is being written.
    InPlace,
}

impl SqliteJournal {
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let db = Sqlite::connect(url, Arc::new(SystemClock), Calls::OnThreads).await?;
        Self::start(db, Batchers::OneThread, |backend| backend)
    }

    /// With a clock of the caller's. Calls block the caller's runtime, so that paused time stands still meanwhile.
    pub async fn open_with_clock(url: &str, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_between(url, clock, |backend| backend).await
    }

    /// With something between the batcher and the database.
    pub async fn open_between(
        url: &str,
        clock: Arc<dyn Clock>,
        between: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Result<Self, StoreError> {
        let db = Sqlite::connect(url, clock, Calls::InPlace).await?;
        Self::start(db, Batchers::Tasks(1), between)
    }

    /// Works with the connection that writes, for maintenance by hand.
    pub async fn by_hand<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let writer = self.db.connections.writer().await;
        self.db.calls.run(move || Ok(work(writer.connection()?)?)).await
    }
}

/// Whether its file is there.
pub(crate) fn is_there(url: &str) -> Result<bool, StoreError> {
    Ok(match Place::of(url)? {
        Place::Memory => false,
        Place::File(path) => path.exists(),
    })
}

impl Sqlite {
    async fn connect(url: &str, clock: Arc<dyn Clock>, calls: Calls) -> Result<Self, StoreError> {
        let place = Place::of(url)?;
        if let Place::File(path) = &place {
            make_private(path)?;
        }
        let connect = move || {
            let connection = open(&place)?;
            sqlite_migrate::migrate(&connection)?;
            Ok(Connections::new(place, connection))
        };
        let connections = calls.run(connect).await?;
        let (recent, refolding) = (Recent::default(), Refolding::default());
        let db = Self { connections, clock, calls, recent, refolding };
        refold::refuse_newer(&db).await?;
        Ok(db)
    }

    async fn begun(&self, lent: Lent, begin: &'static str) -> Result<Box<dyn Snapshot>, StoreError> {
        let begin = move || {
            lent.connection()?.execute_batch(begin)?;
            Ok(lent)
        };
        let lent = self.calls.run(begin).await?;
        Ok(Box::new(SqliteSnapshot { lent: Some(lent), calls: self.calls }))
    }
}

impl Calls {
    async fn run<T: Send + 'static>(
        self,
        call: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::InPlace => {
                let called = call();
                // Others have their turn, as they have while a thread works.
                tokio::task::yield_now().await;
                called
            }
            Self::OnThreads => spawn_blocking(call).await.unwrap_or_else(|_| Err(ended())),
        }
    }
}

/// Several statements in one transaction. Without a connection the last one ended early.
struct SqliteSnapshot {
    lent: Option<Lent>,
    calls: Calls,
}

#[async_trait]
impl Snapshot for SqliteSnapshot {
    async fn query(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let lent = self.lent.take().ok_or_else(ended)?;
        let query = move || {
            let rows = lent.connection().and_then(|connection| Ok(run(connection, sql, &bound(&params))?));
            Ok((lent, rows))
        };
        let (lent, rows) = self.calls.run(query).await?;
        self.lent = Some(lent);
        rows
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        let lent = self.lent.take().ok_or_else(ended)?;
        self.calls.run(move || Ok(lent.connection()?.execute_batch("COMMIT")?)).await
    }
}

fn ended() -> StoreError {
    StoreError::Panicked { what: "a call of SQLite ended early".to_owned() }
}

/// Old pages go from the log into the file, which has the new ones, and the log is emptied. Says whether it was.
///
/// On a connection of its own that waits for nobody: others are read and written meanwhile.
fn truncate_log(place: &Place) -> Result<bool, StoreError> {
    let emptied = || {
        let connection = open(place)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>("busy"))
    };
    match emptied().map_err(StoreError::from) {
        Ok(busy) => Ok(busy == 0),
        Err(StoreError::Unreachable { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl Backend for Sqlite {
    /// The batcher has a thread of its own: whatever this takes, it keeps nobody else waiting.
    async fn write(&self, items: &[&Item], _patience: Patience) -> Result<Vec<Written>, WriteError> {
        loop {
            let tried = {
                let lent = self.connections.writer().await;
                sqlite_write::write(lent.connection()?, items, &self.recent, &*self.clock)?
            };
            match tried {
                Tried::Written(written) => return Ok(written),
                Tried::OtherVersion(sessions) => refold::all(self, &sessions).await?,
            }
        }
    }
}

#[async_trait]
impl Db for Sqlite {
    async fn query(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let reader = self.connections.reader().await?;
        self.calls.run(move || Ok(run(reader.connection()?, sql, &bound(&params))?)).await
    }

    /// On the caller's own thread: it takes microseconds, less than to wake another one. If it has to wait for somebody, it
    /// does so elsewhere.
    async fn look(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let Place::File(_) = self.connections.place() else { return self.query(sql, params).await };
        let looked = {
            let reader = self.connections.reader().await?;
            let connection = reader.connection()?;
            connection.busy_timeout(Duration::ZERO)?;
            let looked = run(connection, sql, &bound(&params));
            connection.busy_timeout(BUSY)?;
            looked
        };
        match looked.map_err(StoreError::from) {
            Err(StoreError::Unreachable { .. }) => self.query(sql, params).await,
            looked => looked,
        }
    }

    fn language(&self) -> Language {
        sqlite_write::LANGUAGE
    }

    async fn find(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.query(sql, params).await
    }

    async fn execute(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let writer = self.connections.writer().await;
        self.calls.run(move || Ok(run(writer.connection()?, sql, &bound(&params))?)).await
    }

    async fn explain(&self, sql: &'static str, params: Vec<Param>) -> Result<String, StoreError> {
        let reader = self.connections.reader().await?;
        let explain = move || {
            let rows = run(reader.connection()?, &format!("EXPLAIN QUERY PLAN {sql}"), &bound(&params))?;
            let lines: Result<Vec<_>, _> = rows.iter().map(|row| row.text("detail")).collect();
            Ok(lines?.join("\n"))
        };
        self.calls.run(explain).await
    }

    fn refolding(&self) -> &Refolding {
        &self.refolding
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.begun(self.connections.reader().await?, "BEGIN").await
    }

    /// The one who writes is alone: no session needs a lock of its own.
    async fn begin(&self, _lock: Option<SessionId>) -> Result<Box<dyn Snapshot>, StoreError> {
        self.begun(self.connections.writer().await, "BEGIN IMMEDIATE").await
    }

    async fn forget(&self) -> Result<(), StoreError> {
        self.recent.clear();
        let Place::File(_) = self.connections.place() else { return Ok(()) };
        for _ in 0..FORGET_TRIES {
            let place = self.connections.place().clone();
            if self.calls.run(move || truncate_log(&place)).await? {
                return Ok(());
            }
            tokio::time::sleep(FORGET_PAUSE).await;
        }
        tracing::warn!(
            "readers kept the database's log from being emptied: what was erased is in it a while longer"
        );
        Ok(())
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        match self.connections.place() {
            Place::File(path) => Claim::of_file(path).await,
            Place::Memory => Ok(Claim::open_to_all()),
        }
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn close(&self) {
        self.connections.close().await;
    }
}
