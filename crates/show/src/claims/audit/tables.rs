//! The tables, as an attacker has them who has the database's password and nothing else.

use holdstead_protocol::SessionId;
use rusqlite::Connection;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::Result;
use crate::database::{Database, Kind, file_of};
use crate::waiting::until;

pub(super) struct Tables<'a> {
    pub(super) database: &'a Database,
}

/// Seq, id, time, type, data, salt.
pub(super) type Line = (i64, Uuid, i64, String, Vec<u8>, Vec<u8>);

impl Tables<'_> {
    /// Runs it with `{id}` in place of the session's.
    pub(super) async fn run(&self, session: SessionId, sql: &str) -> Result<()> {
        let sql = self.filled(session, sql);
        self.database.run([&sql, &sql]).await
    }

    pub(super) async fn number(&self, session: SessionId, sql: &str) -> Result<i64> {
        self.database.number(&self.filled(session, sql)).await
    }

    fn filled(&self, session: SessionId, sql: &str) -> String {
        sql.replace("{id}", &self.bytes(session.uuid().as_bytes()))
    }

    /// Of a statement for SQLite and one for PostgreSQL the one that runs here.
    pub(super) fn of_each(&self, [sqlite, postgres]: [&'static str; 2]) -> &'static str {
        match self.database.kind() {
            Kind::Sqlite => sqlite,
            Kind::Postgres => postgres,
        }
    }

    pub(super) async fn lines(&self, session: SessionId) -> Result<Vec<Line>> {
        let sql = "SELECT seq, id, at, type, data, salt FROM events WHERE session_id = $1 ORDER BY seq";
        let url = self.database.url();
        Ok(match self.database.kind() {
            Kind::Sqlite => {
                let connection = Connection::open(file_of(&url)?)?;
                let mut statement = connection.prepare(sql)?;
                let lines = statement.query_map([session.uuid().as_bytes()], |row| {
                    let id = Uuid::from_bytes(row.get(1)?);
                    Ok((row.get(0)?, id, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
                })?;
                lines.collect::<rusqlite::Result<_>>()?
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&url).await?;
                sqlx::query_as(sql).bind(session.uuid()).fetch_all(&mut connection).await?
            }
        })
    }

    /// Bytes as the database reads them in a statement.
    pub(super) fn bytes(&self, bytes: &[u8]) -> String {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match (self.database.kind(), bytes.len()) {
            (Kind::Sqlite, _) => format!("X'{digits}'"),
            (Kind::Postgres, 16) => format!("'{digits}'::uuid"),
            (Kind::Postgres, _) => format!("'\\x{digits}'::bytea"),
        }
    }

    /// Waits until this query says so: what an agent or the gateway does last is written a moment later.
    pub(super) async fn wait_for(&self, count: usize, sql: &str) -> Result<()> {
        until(&format!("{sql} is {count}"), async || {
            let number = usize::try_from(self.database.number(sql).await?)?;
            Ok((number == count).then_some(()))
        })
        .await
    }

    /// All tables of ours in PostgreSQL.
    async fn names(&self) -> Result<Vec<String>> {
        let mut connection = PgConnection::connect(&self.database.url()).await?;
        let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        Ok(sqlx::query_scalar(sql).fetch_all(&mut connection).await?)
    }

    /// Where this text is kept: in the files, or where there are none to read, in the tables.
    pub(super) async fn appears(&self, words: &str) -> Result<Vec<String>> {
        let mut places = Vec::new();
        match self.database.kind() {
            Kind::Sqlite => {
                let url = self.database.url();
                let path = file_of(&url)?;
                for ending in ["", "-wal", "-shm"] {
                    let bytes = std::fs::read(format!("{path}{ending}")).unwrap_or_default();
                    if contains(&bytes, words) {
                        places.push(format!("holdstead.db{ending}"));
                    }
                }
            }
            Kind::Postgres => {
                // A row as text has its bytes as digits.
                let digits: String = words.bytes().map(|byte| format!("{byte:02x}")).collect();
                let words = words.replace('\'', "''");
                for table in self.names().await? {
                    let sql = format!(
                        "SELECT count(*) FROM {table} t WHERE position('{words}' IN t::text) > 0 \
                         OR position('{digits}' IN t::text) > 0"
                    );
                    if self.database.number(&sql).await? > 0 {
                        places.push(table);
                    }
                }
            }
        }
        Ok(places)
    }
}

pub(super) fn contains(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}
