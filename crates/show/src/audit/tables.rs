//! The tables, as somebody with a password to the database and no other has them.

use std::time::Duration;

use holdstead_protocol::SessionId;
use rusqlite::Connection;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::sleep;
use uuid::Uuid;

use crate::Result;
use crate::database::{Kind, file_of};

#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) kind: Kind,
    pub(crate) url: String,
}

/// Seq, id, time, type, data, salt.
pub(crate) type Line = (i64, Uuid, i64, String, Vec<u8>, Vec<u8>);

impl Tables {
    pub(crate) fn new(kind: Kind, url: &str) -> Self {
        Self { kind, url: url.to_owned() }
    }

    /// Runs it with `{id}` in place of the session's.
    pub(crate) async fn run(&self, session: SessionId, sql: &str) -> Result<()> {
        let sql = sql.replace("{id}", &self.bytes(session.uuid().as_bytes()));
        match self.kind {
            Kind::Sqlite => {
                Connection::open(file_of(&self.url)?)?.execute_batch(&sql)?;
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
                connection.close().await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn number(&self, session: SessionId, sql: &str) -> Result<i64> {
        let sql = sql.replace("{id}", &self.bytes(session.uuid().as_bytes()));
        Ok(match self.kind {
            Kind::Sqlite => Connection::open(file_of(&self.url)?)?.query_one(&sql, [], |row| row.get(0))?,
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await?
            }
        })
    }

    pub(crate) async fn lines(&self, session: SessionId) -> Result<Vec<Line>> {
        let sql = "SELECT seq, id, at, type, data, salt FROM events WHERE session_id = $1 ORDER BY seq";
        Ok(match self.kind {
            Kind::Sqlite => {
                let connection = Connection::open(file_of(&self.url)?)?;
                let mut statement = connection.prepare(sql)?;
                let lines = statement.query_map([session.uuid().as_bytes()], |row| {
                    let id = Uuid::from_bytes(row.get(1)?);
                    Ok((row.get(0)?, id, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
                })?;
                lines.collect::<rusqlite::Result<_>>()?
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                sqlx::query_as(sql).bind(session.uuid()).fetch_all(&mut connection).await?
            }
        })
    }

    /// Bytes as the database reads them in a statement.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match (self.kind, bytes.len()) {
            (Kind::Sqlite, _) => format!("X'{digits}'"),
            (Kind::Postgres, 16) => format!("'{digits}'::uuid"),
            (Kind::Postgres, _) => format!("'\\x{digits}'::bytea"),
        }
    }

    pub(crate) async fn change_eraser(&self, session: SessionId) -> Result<()> {
        self.run(session, "UPDATE sessions SET erased_by = 'somebody else' WHERE id = {id}").await
    }

    /// An agent that was told to end takes a moment to go, and its going is written down.
    pub(crate) async fn wait_until_ended(&self, count: usize) -> Result<()> {
        let nobody = SessionId::from_uuid(Uuid::nil());
        let ended = match self.kind {
            Kind::Sqlite => "CAST(agent_state AS TEXT) = '\"ended\"'",
            Kind::Postgres => "convert_from(agent_state, 'UTF8') = '\"ended\"'",
        };
        let sql = format!("SELECT count(*) FROM sessions WHERE {ended} AND NOT unfinished");
        for _ in 0..400 {
            if usize::try_from(self.number(nobody, &sql).await?)? == count {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        Err(format!("{count} sessions did not end").into())
    }

    /// All tables of ours in PostgreSQL.
    async fn names(&self) -> Result<Vec<String>> {
        let mut connection = PgConnection::connect(&self.url).await?;
        let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        Ok(sqlx::query_scalar(sql).fetch_all(&mut connection).await?)
    }

    /// Where this text is kept: in the files, or where there are none to read, in the tables.
    pub(crate) async fn appears(&self, words: &str) -> Result<Vec<String>> {
        let mut places = Vec::new();
        match self.kind {
            Kind::Sqlite => {
                let path = self.url.trim_start_matches("sqlite:");
                for ending in ["", "-wal", "-shm"] {
                    let bytes = std::fs::read(format!("{path}{ending}")).unwrap_or_default();
                    if contains(&bytes, words) {
                        places.push(format!("holdstead.db{ending}"));
                    }
                }
            }
            Kind::Postgres => {
                let nobody = SessionId::from_uuid(Uuid::nil());
                // A row as text has its bytes as digits.
                let digits: String = words.bytes().map(|byte| format!("{byte:02x}")).collect();
                let words = words.replace('\'', "''");
                for table in self.names().await? {
                    let sql = format!(
                        "SELECT count(*) FROM {table} t WHERE position('{words}' IN t::text) > 0 \
                         OR position('{digits}' IN t::text) > 0"
                    );
                    if self.number(nobody, &sql).await? > 0 {
                        places.push(table);
                    }
                }
            }
        }
        Ok(places)
    }
}

pub(crate) fn contains(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}
