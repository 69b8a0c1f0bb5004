//! SQLite: one file, or memory. One connection writes; a file is read through others meanwhile.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdstead_protocol::{SessionId, Timestamp};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Arguments as _, AssertSqlSafe, Connection as _, Row as _, SqlSafeStr as _, Transaction};
use tokio::sync::Mutex;

use crate::backend::{Backend, Item, Patience, Tried, WriteError, Written};
use crate::clock::{Clock, SystemClock, keep_runtime_busy};
use crate::db::{Db, Param, Row, Snapshot};
use crate::error::is_away;
use crate::search::Language;
use crate::store::Store;
use crate::{Claim, StoreError, owners_alone, refold, sqlite_write};

/// How often the log is tried to be emptied while others read or write.
const FORGET_TRIES: u32 = 100;
const FORGET_PAUSE: Duration = Duration::from_millis(50);

/// A journal in SQLite.
pub type SqliteJournal = Store<Sqlite>;

/// A SQLite database.
#[derive(Debug)]
pub struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Where it is, unless it is in memory.
    path: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    /// The clock is not the machine's, so it may stand still while the database works.
    injected: bool,
    refolding: Mutex<()>,
}

impl SqliteJournal {
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let db = Sqlite::connect(url, Arc::new(SystemClock), false).await?;
        Ok(Self::start(db, |backend| backend))
    }

    /// With a clock of the caller's. Calls keep the runtime busy, so that paused time stands still meanwhile.
    pub async fn open_with_clock(url: &str, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_between(url, clock, |backend| backend).await
    }

    /// With something between the batcher and the database.
    pub async fn open_between(
        url: &str,
        clock: Arc<dyn Clock>,
        between: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Result<Self, StoreError> {
        Ok(Self::start(keep_runtime_busy(Sqlite::connect(url, clock, true)).await?, between))
    }

    /// The connection that writes, for maintenance by hand.
    pub fn pool(&self) -> &SqlitePool {
        &self.db.writer
    }
}

/// Whether its file is there.
pub(crate) fn is_there(url: &str) -> Result<bool, StoreError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| StoreError::BadUrl { url: url.to_owned(), why: error.to_string() })?;
    Ok(options.get_filename().exists())
}

/// Makes the file, its owner's alone, before SQLite makes one that others may read. The files beside it follow its mode.
fn make_private(path: &Path) -> Result<(), StoreError> {
    match owners_alone().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::file(format!("make {}", path.display()), &error)),
    }
}

impl Sqlite {
    async fn connect(url: &str, clock: Arc<dyn Clock>, injected: bool) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::from_str(url)
            .map_err(|error| StoreError::BadUrl { url: url.to_owned(), why: error.to_string() })?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            // What is erased is overwritten, and does not stay on pages that nothing points to.
            .pragma("secure_delete", "ON");
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let path = (!in_memory).then(|| options.get_filename().to_owned());
        if let Some(path) = &path {
            make_private(path)?;
        }
        // A database in memory is gone with its connection.
        let one = SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false);
        let writer = one.connect_with(options.clone()).await?;
        migrations().run(&writer).await.map_err(|error| StoreError::Migrate { source: Arc::new(error) })?;
        let readers = if in_memory {
            writer.clone()
        } else {
            let readers = SqlitePoolOptions::new().max_connections(4).test_before_acquire(false);
            readers.connect_with(options.pragma("query_only", "ON")).await?
        };
        let db = Self { writer, readers, path, clock, injected, refolding: Mutex::default() };
        refold::refuse_newer(&db).await?;
        Ok(db)
    }

    async fn run(
        &self,
        pool: &SqlitePool,
        sql: &'static str,
        params: Vec<Param>,
    ) -> Result<Vec<Row>, StoreError> {
        let call = async { Ok(rows(sqlx::query_with(sql, arguments(params)?).fetch_all(pool).await?)) };
        self.awake(call).await
    }

    /// Old pages go from the log into the file, which has the new ones, and the log is emptied. Says whether it was.
    ///
    /// On a connection of its own that waits for nobody: others are read and written meanwhile.
    async fn truncate_log(&self) -> Result<bool, StoreError> {
        let options = self.writer.connect_options().as_ref().clone().busy_timeout(Duration::ZERO);
        let emptied = async {
            let mut connection = SqliteConnection::connect_with(&options).await?;
            let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection).await?;
            connection.close().await.map(|()| row)
        };
        match emptied.await {
            Ok(row) => Ok(row.try_get::<i64, _>("busy")? == 0),
            Err(error) if is_away(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn awake<T>(&self, call: impl Future<Output = T> + Send) -> T {
        if self.injected { keep_runtime_busy(call).await } else { call.await }
    }
}

fn migrations() -> Migrator {
    let first = include_str!("../migrations/sqlite/0001_journal.sql").into_sql_str();
    let second = include_str!("../migrations/sqlite/0002_audit.sql").into_sql_str();
    let third = include_str!("../migrations/sqlite/0003_secrets.sql").into_sql_str();
    let fourth = include_str!("../migrations/sqlite/0004_rounds.sql").into_sql_str();
    let fifth = include_str!("../migrations/sqlite/0005_tickets.sql").into_sql_str();
    let sixth = include_str!("../migrations/sqlite/0006_people.sql").into_sql_str();
    let seventh = include_str!("../migrations/sqlite/0007_guard.sql").into_sql_str();
    let eighth = include_str!("../migrations/sqlite/0008_sessions_by_state.sql").into_sql_str();
    let ninth = include_str!("../migrations/sqlite/0009_archive.sql").into_sql_str();
    let tenth = include_str!("../migrations/sqlite/0010_search.sql").into_sql_str();
    let twelfth = include_str!("../migrations/sqlite/0012_passkeys.sql").into_sql_str();
    Migrator::with_migrations(vec![
        Migration::new(1, "journal".into(), MigrationType::Simple, first, false),
        Migration::new(2, "audit".into(), MigrationType::Simple, second, false),
        Migration::new(3, "secrets".into(), MigrationType::Simple, third, false),
        Migration::new(4, "rounds".into(), MigrationType::Simple, fourth, false),
        Migration::new(5, "tickets".into(), MigrationType::Simple, fifth, false),
        Migration::new(6, "people".into(), MigrationType::Simple, sixth, false),
        Migration::new(7, "guard".into(), MigrationType::Simple, seventh, false),
        Migration::new(8, "sessions by state".into(), MigrationType::Simple, eighth, false),
        Migration::new(9, "archive".into(), MigrationType::Simple, ninth, false),
        Migration::new(10, "search".into(), MigrationType::Simple, tenth, false),
        Migration::new(12, "passkeys".into(), MigrationType::Simple, twelfth, false),
    ])
}

fn arguments(params: Vec<Param>) -> Result<SqliteArguments, StoreError> {
    let mut arguments = SqliteArguments::default();
    for param in params {
        let added = match param {
            Param::Id(id) => arguments.add(id),
            Param::MaybeId(id) => arguments.add(id),
            Param::Int(number) => arguments.add(number),
            Param::Flag(flag) => arguments.add(flag),
            Param::MaybeInt(number) => arguments.add(number),
            Param::Text(text) => arguments.add(text),
            Param::MaybeText(text) => arguments.add(text),
            Param::Bytes(bytes) => arguments.add(bytes),
            Param::MaybeBytes(bytes) => arguments.add(bytes),
        };
        added.map_err(|error| StoreError::from(sqlx::Error::Encode(error)))?;
    }
    Ok(arguments)
}

fn rows(rows: Vec<sqlx::sqlite::SqliteRow>) -> Vec<Row> {
    rows.into_iter().map(Row::Sqlite).collect()
}

#[async_trait]
impl Backend for Sqlite {
    async fn write(&self, items: &[&Item], _patience: Patience) -> Result<Vec<Written>, WriteError> {
        loop {
            let call = async {
                // IMMEDIATE takes the write lock at once: a batch never has to be given up halfway for want of it.
                let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
                let written = match sqlite_write::write(&mut transaction, items, self.clock.now()).await? {
                    Tried::Written(written) => written,
                    outdated @ Tried::Outdated(_) => {
                        transaction.rollback().await?;
                        return Ok(outdated);
                    }
                };
                match transaction.commit().await {
                    Ok(()) => Ok(Tried::Written(written)),
                    Err(error) => Err(WriteError::in_commit(error, &written)),
                }
            };
            match self.awake(call).await? {
                Tried::Written(written) => return Ok(written),
                Tried::Outdated(sessions) => refold::all(self, &sessions).await?,
            }
        }
    }
}

#[async_trait]
impl Db for Sqlite {
    async fn query(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.run(&self.readers, sql, params).await
    }

    fn language(&self) -> Language {
        sqlite_write::LANGUAGE
    }

    async fn find(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.query(sql, params).await
    }

    async fn execute(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.run(&self.writer, sql, params).await
    }

    async fn explain(&self, sql: &'static str, params: Vec<Param>) -> Result<String, StoreError> {
        let sql = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let query = sqlx::query_with(sql, arguments(params)?);
        let rows = self.awake(query.fetch_all(&self.readers)).await?;
        let lines: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get("detail")).collect();
        Ok(lines?.join("\n"))
    }

    fn refolding(&self) -> &Mutex<()> {
        &self.refolding
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.awake(self.readers.begin()).await?;
        Ok(Box::new(SqliteSnapshot { transaction, injected: self.injected }))
    }

    /// The one who writes is alone: no session needs a lock of its own.
    async fn begin(&self, _lock: Option<SessionId>) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.awake(self.writer.begin_with("BEGIN IMMEDIATE")).await?;
        Ok(Box::new(SqliteSnapshot { transaction, injected: self.injected }))
    }

    async fn forget(&self) -> Result<(), StoreError> {
        if self.path.is_none() {
            return Ok(());
        }
        for _ in 0..FORGET_TRIES {
            if self.awake(self.truncate_log()).await? {
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
        match &self.path {
            Some(path) => Claim::of_file(path).await,
            None => Ok(Claim::alone()),
        }
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn close(&self) {
        self.awake(async {
            self.readers.close().await;
            self.writer.close().await;
        })
        .await;
    }
}

struct SqliteSnapshot {
    transaction: Transaction<'static, sqlx::Sqlite>,
    injected: bool,
}

#[async_trait]
impl Snapshot for SqliteSnapshot {
    async fn query(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let transaction = &mut *self.transaction;
        let call =
            async { Ok(rows(sqlx::query_with(sql, arguments(params)?).fetch_all(transaction).await?)) };
        if self.injected { keep_runtime_busy(call).await } else { call.await }
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let commit = self.transaction.commit();
        Ok(if self.injected { keep_runtime_busy(commit).await } else { commit.await }?)
    }
}
