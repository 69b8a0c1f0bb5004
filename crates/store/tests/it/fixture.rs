//! A database for one test.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdstead_protocol::{Seq, SessionId};
use holdstead_store::backend::{Backend, Item, Patience, WriteError, Written, planned};
use holdstead_store::{Journal, PostgresJournal, SqliteJournal, SystemClock};
use sqlx::{AssertSqlSafe, PgPool};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Fixture {
    journal: Arc<dyn Journal>,
    place: Place,
}

enum Place {
    Memory { journal: Arc<SqliteJournal> },
    File { url: String, journal: Arc<SqliteJournal>, _folder: TempDir },
    Postgres { url: String, name: String, pool: PgPool },
}

impl Fixture {
    pub(crate) async fn memory() -> Self {
        let journal = Arc::new(SqliteJournal::open("sqlite::memory:").await.expect("a database in memory"));
        Self { journal: Arc::<SqliteJournal>::clone(&journal), place: Place::Memory { journal } }
    }

    pub(crate) async fn file() -> Self {
        let folder = TempDir::new().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("journal.db").display());
        let journal = Arc::new(SqliteJournal::open(&url).await.expect("a database in a file"));
        let kept = Arc::<SqliteJournal>::clone(&journal);
        Self { journal: kept, place: Place::File { url, journal, _folder: folder } }
    }

    /// A schema of its own on the server that the environment names.
    pub(crate) async fn postgres() -> Self {
        let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!(
                "these tests need PostgreSQL: run `just test`, or \
                 `scripts/postgres with cargo nextest run -p holdstead-store`"
            )
        });
        let name = format!("test_{}", Uuid::now_v7().simple());
        let pool = PgPool::connect(&server).await.expect("the server in HOLDSTEAD_TEST_POSTGRES");
        run_postgres(&pool, format!("CREATE SCHEMA {name}")).await;
        pool.close().await;
        let url = format!("{server}?options[search_path]={name}&application_name={name}");
        let journal = PostgresJournal::open(&url).await.expect("a schema in PostgreSQL");
        // Not the journal's own: those notice that something was taken away.
        let pool = PgPool::connect(&url).await.expect("the same schema");
        let place = Place::Postgres { url, name, pool };
        Self { journal: Arc::new(journal), place }
    }

    /// The address, unless it is in memory.
    pub(crate) fn place_url(&self) -> Option<String> {
        match &self.place {
            Place::Memory { .. } => None,
            Place::File { url, .. } | Place::Postgres { url, .. } => Some(url.clone()),
        }
    }

    /// The address of a PostgreSQL database.
    pub(crate) fn url(&self) -> String {
        self.place_url().expect("it has an address")
    }

    pub(crate) fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Another journal on the same database, as another node has it. In memory there is only one.
    pub(crate) async fn second(&self) -> Arc<dyn Journal> {
        match &self.place {
            Place::Memory { .. } => Arc::clone(&self.journal),
            Place::File { url, .. } | Place::Postgres { url, .. } => {
                holdstead_store::open(url).await.expect("a second journal")
            }
        }
    }

    /// Another journal, which loses connections in COMMIT. In memory it has a database of its own.
    pub(crate) async fn losing(&self) -> Arc<dyn Journal> {
        self.between(|inner| {
            Arc::new(LosesReplies { inner, count: AtomicU32::new(0), untold: Mutex::default() })
        })
        .await
    }

    /// Another journal, with something between its writer and the database. In memory it has a database of its own.
    pub(crate) async fn between(
        &self,
        between: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Arc<dyn Journal> {
        let clock = Arc::new(SystemClock);
        match &self.place {
            Place::Memory { .. } => Arc::new(
                SqliteJournal::open_between("sqlite::memory:", clock, between).await.expect("in memory"),
            ),
            Place::File { url, .. } => {
                Arc::new(SqliteJournal::open_between(url, clock, between).await.expect("the same file"))
            }
            Place::Postgres { url, .. } => {
                Arc::new(PostgresJournal::open_between(url, between).await.expect("the same schema"))
            }
        }
    }

    /// Closes the journal and opens the same database again. Nothing is left of one in memory.
    pub(crate) async fn reopened(&self) -> Option<Arc<dyn Journal>> {
        self.journal.close().await;
        match &self.place {
            Place::Memory { .. } => None,
            Place::File { url, .. } | Place::Postgres { url, .. } => {
                Some(holdstead_store::open(url).await.expect("the same database"))
            }
        }
    }

    /// Changes the database behind the journal's back.
    pub(crate) async fn run(&self, sqlite: &str, postgres: &str) {
        match &self.place {
            Place::Memory { journal } | Place::File { journal, .. } => {
                let sql = sqlite.to_owned();
                journal.by_hand(move |connection| connection.execute_batch(&sql)).await.expect(sqlite);
            }
            Place::Postgres { pool, .. } => run_postgres(pool, postgres.to_owned()).await,
        }
    }

    /// The number that a query gives.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let sql = sql.to_owned();
        match &self.place {
            Place::Memory { journal } | Place::File { journal, .. } => {
                let count =
                    journal.by_hand(move |connection| connection.query_one(&sql, [], |row| row.get(0)));
                count.await.expect("a number")
            }
            Place::Postgres { pool, .. } => {
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.expect("a number")
            }
        }
    }

    /// From now on an event with these words in it is refused by the database.
    pub(crate) async fn poison(&self, marker: &str) {
        let sqlite = format!(
            "CREATE TRIGGER poison BEFORE INSERT ON events \
             WHEN instr(NEW.data, CAST('{marker}' AS BLOB)) > 0 \
             BEGIN SELECT RAISE(ABORT, 'poisoned'); END"
        );
        let postgres = format!(
            "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF position('{marker}'::bytea IN NEW.data) > 0 THEN RAISE EXCEPTION 'poisoned'; END IF; \
             RETURN NEW; END $$; \
             CREATE TRIGGER poison BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION poison()"
        );
        self.run(&sqlite, &postgres).await;
    }

    /// Changes a column of every ask.
    pub(crate) async fn run_on_all_asks(&self, set: &str) {
        let sql = format!("UPDATE asks SET {set}");
        self.run(&sql, &sql).await;
    }

    /// Breaks every connection that the journal has, where there are connections to break.
    pub(crate) async fn break_connections(&self) {
        if let Place::Postgres { name, .. } = &self.place {
            let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").expect("set");
            let pool = PgPool::connect(&server).await.expect("the server");
            let sql = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
            );
            run_postgres(&pool, sql).await;
        }
    }

    /// The name of the index that serves a query must be in its plan, and nothing that reads a whole table.
    pub(crate) fn check_plan(&self, name: &str, plan: &str, index: &str) {
        let (primary, bad): (_, &[&str]) = match &self.place {
            Place::Memory { .. } | Place::File { .. } => ("sqlite_autoindex_", &["SCAN", "TEMP B-TREE"]),
            Place::Postgres { .. } => ("_pkey", &["Seq Scan", "Sort", "Hash", "Bitmap"]),
        };
        let index = if index == "primary key" { primary } else { index };
        assert!(plan.contains(index), "`{name}` does not use {index}:\n{plan}");
        for word in bad {
            let whole_partial_index =
                *word == "SCAN" && (index == "sessions_unfinished" || name.ends_with("by age"));
            assert!(whole_partial_index || !plan.contains(word), "`{name}` has a {word}:\n{plan}");
        }
    }

    /// The index of what a session's events are found by.
    pub(crate) fn found_by_session(&self) -> &'static str {
        match &self.place {
            Place::Memory { .. } | Place::File { .. } => "search_by_session",
            Place::Postgres { .. } => "search_pkey",
        }
    }

    pub(crate) async fn end(self) {
        if let Place::Postgres { name, pool, .. } = &self.place {
            run_postgres(pool, format!("DROP SCHEMA {name} CASCADE")).await;
        }
        self.journal.close().await;
    }
}

async fn run_postgres(pool: &PgPool, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(pool).await.expect(&sql);
}

/// A connection that breaks in COMMIT, first before it is done, then after it was, and holds the third time. Whatever was
/// written and not told is told the next time: several lanes write at once.
#[derive(Debug)]
struct LosesReplies {
    inner: Arc<dyn Backend>,
    count: AtomicU32,
    untold: Mutex<HashSet<SessionId>>,
}

impl LosesReplies {
    fn has_untold(&self, items: &[&Item]) -> bool {
        let mut untold = self.untold.lock().expect("no panic before");
        items.iter().filter(|item| untold.remove(&item.session)).count() > 0
    }
}

#[async_trait]
impl Backend for LosesReplies {
    async fn write(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError> {
        let lost = |planned| {
            let source = Arc::new(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            Err(WriteError::Lost { planned, source })
        };
        if self.has_untold(items) {
            return self.inner.write(items, patience).await;
        }
        match self.count.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => lost(items.iter().map(|_| Some(Seq(1))).collect()),
            1 => {
                let written = self.inner.write(items, patience).await?;
                let sessions = items.iter().map(|item| item.session);
                self.untold.lock().expect("no panic before").extend(sessions);
                lost(planned(&written))
            }
            _ => self.inner.write(items, patience).await,
        }
    }
}
