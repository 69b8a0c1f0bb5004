//! Databases that a show has for itself and leaves nothing of.

use std::fmt;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// An empty database: a file, or a schema on the server that the environment names.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite { folder: TempDir },
    Postgres { server: String, schema: String },
}

impl Database {
    pub(crate) async fn new(kind: Kind) -> Result<Self> {
        match kind {
            Kind::Sqlite => Ok(Self::Sqlite { folder: TempDir::new()? }),
            Kind::Postgres => {
                let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").map_err(
                    |_| "this show needs PostgreSQL: run it with `just`, or with `scripts/postgres with …`",
                )?;
                let schema = format!("show_{}", Uuid::now_v7().simple());
                run(&server, format!("CREATE SCHEMA {schema}")).await?;
                Ok(Self::Postgres { server, schema })
            }
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Sqlite { .. } => Kind::Sqlite,
            Self::Postgres { .. } => Kind::Postgres,
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite { folder } => format!("sqlite:{}", folder.path().join("holdstead.db").display()),
            Self::Postgres { server, schema } => format!("{server}?options[search_path]={schema}"),
        }
    }

    /// Runs one of the two statements without the journal's knowledge.
    pub(crate) async fn run(&self, [sqlite, postgres]: [&str; 2]) -> Result<()> {
        match self {
            Self::Sqlite { .. } => {
                let connection = rusqlite::Connection::open(file_of(&self.url())?)?;
                Ok(connection.execute_batch(sqlite)?)
            }
            Self::Postgres { .. } => run(&self.url(), postgres.to_owned()).await,
        }
    }

    /// The one number that this query returns.
    pub(crate) async fn number(&self, query: &str) -> Result<i64> {
        let query = format!("SELECT CAST(({query}) AS BIGINT)");
        match self {
            Self::Sqlite { .. } => {
                let connection = rusqlite::Connection::open(file_of(&self.url())?)?;
                Ok(connection.query_one(&query, [], |row| row.get(0))?)
            }
            Self::Postgres { .. } => {
                let mut connection = PgConnection::connect(&self.url()).await?;
                let number = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut connection).await?;
                connection.close().await?;
                Ok(number)
            }
        }
    }

    /// What it takes on disk, with its indexes.
    pub(crate) async fn bytes(&self) -> Result<u64> {
        match self {
            Self::Sqlite { .. } => Ok(std::fs::metadata(file_of(&self.url())?).map_or(0, |file| file.len())),
            Self::Postgres { .. } => {
                let tables = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class \
                              WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
                Ok(u64::try_from(self.number(tables).await?)?)
            }
        }
    }

    /// Gives back to the disk what is not used any more.
    pub(crate) async fn vacuum(&self) -> Result<()> {
        match self {
            Self::Sqlite { .. } => {
                let connection = rusqlite::Connection::open(file_of(&self.url())?)?;
                Ok(connection.execute_batch(
                    "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
                )?)
            }
            // Whatever else is on that server is small.
            Self::Postgres { server, .. } => run(server, "VACUUM FULL".to_owned()).await,
        }
    }

    /// Takes it away. A file goes by itself; a schema that is left behind is on a server made for the show.
    pub(crate) async fn remove(self) -> Result<()> {
        match self {
            Self::Sqlite { folder } => Ok(folder.close()?),
            Self::Postgres { server, schema } => run(&server, format!("DROP SCHEMA {schema} CASCADE")).await,
        }
    }
}

/// Where the SQLite database of this URL is.
pub(crate) fn file_of(url: &str) -> Result<&str> {
    Ok(url.strip_prefix("sqlite:").ok_or("this is no SQLite")?)
}

async fn run(server: &str, sql: String) -> Result<()> {
    let mut connection = PgConnection::connect(server).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}
