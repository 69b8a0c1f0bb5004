//! PostgreSQL: any number of nodes on one database, whose clock they share.

use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_protocol::{Seq, SessionId, Timestamp};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{Arguments as _, AssertSqlSafe, Connection as _, Row as _, SqlSafeStr as _, Transaction};

use crate::backend::{Backend, Item, Patience, Tried, WriteError, Written};
use crate::batch::Batchers;
use crate::db::{Db, Param, Row, Snapshot};
use crate::error::is_away;
use crate::postgres_check::is_current;
use crate::postgres_connections::{Connections, prepare};
use crate::postgres_write::Known;
use crate::refold::Refolding;
use crate::search::Language;
use crate::seen::{LastSeen, Place};
use crate::store::Store;
use crate::{Claim, Cluster, StoreError, decode, postgres_write, refold, sql};

/// How many batches are on their way at once: a slow one holds the sessions of its lane, and no others.
const LANES: usize = 2;
const READERS: usize = 8;
const MEMBERS: usize = 2;

/// A journal in PostgreSQL.
pub type PostgresJournal = Store<Postgres>;

/// A PostgreSQL database.
#[derive(Debug)]
pub struct Postgres {
    /// One for each lane.
    writers: Connections,
    readers: Connections,
    /// For what the nodes know of each other: nothing else keeps a node from renewing in time.
    pub(crate) members: Connections,
    /// For hints to other nodes.
    pub(crate) teller: Connections,
    /// For whoever needs several statements together.
    pool: PgPool,
    /// For a connection that listens.
    options: PgConnectOptions,
    known: Known,
    pub(crate) seen: Arc<LastSeen>,
    refolding: Refolding,
}

impl PostgresJournal {
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_between(url, |backend| backend).await
    }

    /// With something between the batcher and the database.
    pub async fn open_between(
        url: &str,
        between: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Result<Self, StoreError> {
        Self::start(Postgres::connect(url).await?, Batchers::Tasks(LANES), between)
    }
}

/// Words are looked up in their own index, which is read as a bitmap.
const FOR_WORDS: &str = "SET LOCAL enable_bitmapscan = on;
    SET LOCAL plan_cache_mode = force_custom_plan";
/// Words that are everywhere are met soon enough on the way back through time.
const BACK_THROUGH_TIME: &str = "SET LOCAL enable_bitmapscan = off";
/// Of words in more events than this, the newest are found by going back through time.
const RARE: i64 = 20_000;

impl Postgres {
    pub(crate) const fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    pub(crate) const fn pool(&self) -> &PgPool {
        &self.pool
    }

    async fn connect(url: &str) -> Result<Self, StoreError> {
        let mut options = PgConnectOptions::from_str(url)
            .map_err(|error| StoreError::BadUrl { url: without_secret(url), why: error.to_string() })?;
        if options.get_application_name().is_none() {
            options = options.application_name("holdstead");
        }
        let seen = Arc::new(LastSeen::default());
        let connections = |most| Connections::new(options.clone(), most, Arc::clone(&seen));
        let writers = connections(LANES);
        // A pool tries for long before it says why it cannot.
        writers.give_back(writers.take().await?);
        let pool = pool_of(8, &seen).connect_with(options.clone()).await?;
        migrations().run(&pool).await.map_err(|error| StoreError::Migrate { source: Arc::new(error) })?;
        Ok(Self {
            writers,
            readers: connections(READERS),
            members: connections(MEMBERS),
            teller: connections(1),
            pool,
            known: Known::new(Arc::clone(&seen)),
            seen,
            options,
            refolding: Refolding::default(),
        })
    }
}

/// Every connection that it makes is checked. One that it made earlier may lead to a server that another one took over from, so
/// that is asked in place of whether the connection still works.
pub(crate) fn pool_of(most: u32, seen: &Arc<LastSeen>) -> PgPoolOptions {
    let (at_first, again) = (Arc::clone(seen), Arc::clone(seen));
    PgPoolOptions::new()
        .max_connections(most)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let seen = Arc::clone(&at_first);
            Box::pin(async move { prepare(connection, &seen).await.map(drop) })
        })
        .before_acquire(move |connection, _| {
            let seen = Arc::clone(&again);
            Box::pin(async move { is_current(connection, &seen).await })
        })
}

/// Whether a gateway has made its tables here.
pub(crate) async fn is_there(url: &str) -> Result<bool, StoreError> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| StoreError::BadUrl { url: without_secret(url), why: error.to_string() })?;
    let mut connection = PgConnection::connect_with(&options).await?;
    let found =
        sqlx::query_scalar("SELECT to_regclass('sessions') IS NOT NULL").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(found)
}

/// A URL that can be shown: what stands before the host, or behind a question mark, may be a password.
pub fn without_secret(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (_, _) => url.to_owned(),
    }
}

/// Version, name, statements. What is here never changes: databases have its checksum.
const MIGRATIONS: [(i64, &str, &str); 19] = [
    (1, "journal", include_str!("../migrations/postgres/0001_journal.sql")),
    (2, "audit", include_str!("../migrations/postgres/0002_audit.sql")),
    (3, "secrets", include_str!("../migrations/postgres/0003_secrets.sql")),
    (4, "rounds", include_str!("../migrations/postgres/0004_rounds.sql")),
    (5, "tickets", include_str!("../migrations/postgres/0005_tickets.sql")),
    (6, "people", include_str!("../migrations/postgres/0006_people.sql")),
    (7, "guard", include_str!("../migrations/postgres/0007_guard.sql")),
    (8, "sessions by state", include_str!("../migrations/postgres/0008_sessions_by_state.sql")),
    (9, "archive", include_str!("../migrations/postgres/0009_archive.sql")),
    (10, "search", include_str!("../migrations/postgres/0010_search.sql")),
    (12, "passkeys", include_str!("../migrations/postgres/0012_passkeys.sql")),
    (13, "under way", include_str!("../migrations/postgres/0013_under_way.sql")),
    (15, "nodes", include_str!("../migrations/postgres/0015_nodes.sql")),
    (16, "runners' agents", include_str!("../migrations/postgres/0016_runners_agents.sql")),
    (17, "watchers", include_str!("../migrations/postgres/0017_watchers.sql")),
    (18, "claims", include_str!("../migrations/postgres/0018_claims.sql")),
    (19, "shards", include_str!("../migrations/postgres/0019_shards.sql")),
    (20, "aged out", include_str!("../migrations/postgres/0020_aged_out.sql")),
    (21, "browser keys", include_str!("../migrations/postgres/0021_browser_keys.sql")),
];

fn migrations() -> Migrator {
    let all = MIGRATIONS.into_iter().map(|(version, name, sql)| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrations = Migrator::with_migrations(all.collect());
    // A newer node that runs beside this one may have added tables and columns; it takes none away.
    migrations.set_ignore_missing(true);
    migrations
}

fn arguments(params: Vec<Param>) -> Result<PgArguments, StoreError> {
    let mut arguments = PgArguments::default();
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

impl Postgres {
    /// In a task of its own: whoever is given up in the middle of BEGIN would leave a connection in the pool inside a
    /// transaction that nobody ends, and the next one who gets it would be refused.
    pub(crate) async fn transaction(
        &self,
        begin: &'static str,
    ) -> Result<Transaction<'static, sqlx::Postgres>, StoreError> {
        let pool = self.pool.clone();
        let begun = tokio::spawn(async move { pool.begin_with(begin).await });
        let begun = async { begun.await.map_err(|_| sqlx::Error::WorkerCrashed).flatten() };
        self.seen.unless_refused(begun).await
    }
}

impl Postgres {
    /// Remembers the newest event among what was read, before anybody is told.
    async fn read(
        &self,
        sql: &'static str,
        params: Vec<Param>,
        newest: impl Fn(&[Row]) -> Option<Place> + Send,
    ) -> Result<Vec<Row>, StoreError> {
        loop {
            let mut reader = self.readers.take().await?;
            let query = sqlx::query_with(sql, arguments(params.clone())?);
            match query.fetch_all(&mut reader.connection).await {
                Ok(found) => {
                    let found = rows(found);
                    // If its server is not the one any more, another one is asked.
                    if self.seen.saw(reader.timeline, newest(&found)).is_ok() {
                        self.readers.give_back(reader);
                        return Ok(found);
                    }
                }
                // It broke since it was used last. There are not many such, and then a new one tells.
                Err(error) if is_away(&error) && !reader.is_new => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn rows(rows: Vec<sqlx::postgres::PgRow>) -> Vec<Row> {
    rows.into_iter().map(Row::Postgres).collect()
}

#[async_trait]
impl Backend for Postgres {
    async fn write(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError> {
        let alone = patience == Patience::Skip && items.iter().all(|item| item.maybe_at.is_none());
        // A connection on which something failed is not given back.
        let mut writer = self.writers.take().await?;
        if alone {
            let (timeline, connection) = (writer.timeline, &mut writer.connection);
            match postgres_write::write(connection, timeline, items, &self.known).await? {
                Some(Tried::Written(written)) => {
                    self.writers.give_back(writer);
                    return Ok(written);
                }
                // Before their heads are held: a long journal takes its time.
                Some(Tried::OtherVersion(sessions)) => {
                    self.writers.give_back(writer);
                    refold::all(self, &sessions).await?;
                    writer = self.writers.take().await?;
                }
                None => {}
            }
        }
        let (timeline, connection) = (writer.timeline, &mut writer.connection);
        let written =
            postgres_write::write_locked(connection, timeline, items, patience, &self.known).await?;
        self.writers.give_back(writer);
        Ok(written)
    }
}

#[async_trait]
impl Db for Postgres {
    async fn query(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.read(sql, params, |_| None).await
    }

    async fn events(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.read(sql::READ, sql::page(session, after, limit), |rows| {
            rows.last().and_then(|row| decode::place(session, row).ok())
        })
        .await
    }

    fn language(&self) -> Language {
        postgres_write::LANGUAGE
    }

    async fn find(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let mut transaction = self.transaction("BEGIN READ ONLY").await?;
        sqlx::raw_sql(FOR_WORDS).execute(&mut *transaction).await?;
        // The server's guess at how many events have a word is too rough to choose by.
        let Some(Param::Text(words)) = params.get(1) else { return Err(StoreError::corrupt("no words")) };
        let few = sqlx::query_scalar(postgres_write::COUNT_FOUND).bind(words.as_str()).bind(RARE + 1);
        let few: i64 = few.persistent(false).fetch_one(&mut *transaction).await?;
        let sql = if few <= RARE {
            sql
        } else {
            sqlx::raw_sql(BACK_THROUGH_TIME).execute(&mut *transaction).await?;
            postgres_write::FIND_COMMON
        };
        let query = sqlx::query_with(sql, arguments(params)?).persistent(false);
        let found = query.fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(rows(found))
    }

    async fn execute(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        let query = sqlx::query_with(sql, arguments(params)?);
        self.seen.unless_refused(query.fetch_all(&self.pool)).await.map(rows)
    }

    async fn explain(&self, sql: &'static str, params: Vec<Param>) -> Result<String, StoreError> {
        let sql = AssertSqlSafe(format!("EXPLAIN {sql}"));
        let rows = sqlx::query_with(sql, arguments(params)?).fetch_all(&self.pool).await?;
        let lines: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        Ok(lines?.join("\n"))
    }

    fn refolding(&self) -> &Refolding {
        &self.refolding
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        Ok(Box::new(PostgresSnapshot(self.transaction(begin).await?)))
    }

    async fn begin(&self, lock: Option<SessionId>) -> Result<Box<dyn Snapshot>, StoreError> {
        let mut transaction = PostgresSnapshot(self.transaction("BEGIN").await?);
        if let Some(session) = lock {
            transaction.query(postgres_write::LOCK_HEAD, vec![Param::Id(session.uuid())]).await?;
        }
        Ok(Box::new(transaction))
    }

    /// Its old rows go with the next vacuum, which is the server's own business.
    async fn forget(&self) -> Result<(), StoreError> {
        self.known.recent.clear();
        Ok(())
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        Ok(Claim::open_to_all())
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        let rows = self.query(postgres_write::NOW, Vec::new()).await?;
        let row = rows.first().ok_or_else(|| StoreError::corrupt("the server has no clock"))?;
        decode::moment(row, "now")
    }

    async fn close(&self) {
        self.writers.close().await;
        self.readers.close().await;
        self.members.close().await;
        self.teller.close().await;
        self.pool.close().await;
    }
}

struct PostgresSnapshot(Transaction<'static, sqlx::Postgres>);

#[async_trait]
impl Snapshot for PostgresSnapshot {
    async fn query(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        Lent(&mut self.0).query(sql, params).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }
}

/// A connection in a transaction that somebody else began.
pub(crate) struct Lent<'c>(pub(crate) &'c mut PgConnection);

#[async_trait]
impl Snapshot for Lent<'_> {
    async fn query(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        Ok(rows(sqlx::query_with(sql, arguments(params)?).fetch_all(&mut *self.0).await?))
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        sqlx::raw_sql("COMMIT").execute(self.0).await?;
        Ok(())
    }
}
