//! What an answer costs at the least: it is made durable, and so is that it is about to be written to the agent. Two
//! commits of one row each, with the bytes that ours write, by the bare driver.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use sqlx::{Connection as _, PgConnection};

use crate::Result;
use crate::database::{Database, Kind, file_of};

/// A table in a database of its own beside the gateway's.
pub(crate) struct Commits {
    database: Database,
    driver: Driver,
    number: i64,
    /// What the two of them write.
    bytes: [Vec<u8>; 2],
}

enum Driver {
    Sqlite(Connection),
    Postgres(PgConnection),
}

/// Of the answer, and of what says that the agent is about to be told: an event, the session's head, the ask. The
/// answer can be found, too.
const BYTES: [&str; 2] = [
    "SELECT (SELECT length(data) FROM events WHERE type = 'interaction_response' ORDER BY at DESC LIMIT 1) \
     + (SELECT length(state) FROM sessions WHERE listed ORDER BY changed_at DESC LIMIT 1) \
     + (SELECT length(doc) FROM asks ORDER BY opened_at DESC LIMIT 1) \
     + (SELECT length(text) + length(words) FROM search WHERE kind = 'decision' ORDER BY at DESC LIMIT 1)",
    "SELECT (SELECT length(data) FROM events WHERE type = 'interaction_update' ORDER BY at DESC LIMIT 1) \
     + (SELECT length(state) FROM sessions WHERE listed ORDER BY changed_at DESC LIMIT 1) \
     + (SELECT length(doc) FROM asks ORDER BY opened_at DESC LIMIT 1)",
];
const TABLE: [&str; 2] = [
    "CREATE TABLE bare (number INTEGER PRIMARY KEY NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE bare (number BIGINT PRIMARY KEY NOT NULL, data BYTEA NOT NULL)",
];
const COMMIT: &str = "INSERT INTO bare (number, data) VALUES ($1, $2)";

impl Commits {
    /// With as many bytes as the last answer had in the gateway's database.
    pub(crate) async fn like(gateway: &Database) -> Result<Self> {
        let mut bytes = [Vec::new(), Vec::new()];
        for (bytes, sql) in bytes.iter_mut().zip(BYTES) {
            *bytes = vec![b'x'; usize::try_from(gateway.number(sql).await?)?];
        }
        let kind = gateway.kind();
        let database = Database::new(kind).await?;
        database.run(TABLE).await?;
        let driver = match kind {
            Kind::Sqlite => {
                let connection = Connection::open(file_of(&database.url())?)?;
                connection.execute_batch(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON",
                )?;
                Driver::Sqlite(connection)
            }
            Kind::Postgres => Driver::Postgres(PgConnection::connect(&database.url()).await?),
        };
        Ok(Self { database, driver, number: 0, bytes })
    }

    pub(crate) async fn two(&mut self) -> Result<Duration> {
        let begin = Instant::now();
        for data in &self.bytes {
            self.number += 1;
            match &mut self.driver {
                Driver::Sqlite(connection) => {
                    connection.prepare_cached(COMMIT)?.execute(params![self.number, data])?;
                }
                Driver::Postgres(connection) => {
                    sqlx::query(COMMIT).bind(self.number).bind(data).execute(connection).await?;
                }
            }
        }
        Ok(begin.elapsed())
    }

    pub(crate) async fn remove(self) -> Result<()> {
        if let Driver::Postgres(connection) = self.driver {
            connection.close().await?;
        }
        self.database.remove().await
    }
}
