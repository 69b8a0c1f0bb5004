//! Brings the tables of a SQLite file up to date, and writes down what was done where it always was.

use std::sync::Arc;

use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha384};

use crate::StoreError;

/// Version, name, statements. What is here never changes: files have its checksum.
const MIGRATIONS: [(i64, &str, &str); 15] = [
    (1, "journal", include_str!("../migrations/sqlite/0001_journal.sql")),
    (2, "audit", include_str!("../migrations/sqlite/0002_audit.sql")),
    (3, "secrets", include_str!("../migrations/sqlite/0003_secrets.sql")),
    (4, "rounds", include_str!("../migrations/sqlite/0004_rounds.sql")),
    (5, "tickets", include_str!("../migrations/sqlite/0005_tickets.sql")),
    (6, "people", include_str!("../migrations/sqlite/0006_people.sql")),
    (7, "guard", include_str!("../migrations/sqlite/0007_guard.sql")),
    (8, "sessions by state", include_str!("../migrations/sqlite/0008_sessions_by_state.sql")),
    (9, "archive", include_str!("../migrations/sqlite/0009_archive.sql")),
    (10, "search", include_str!("../migrations/sqlite/0010_search.sql")),
    (12, "passkeys", include_str!("../migrations/sqlite/0012_passkeys.sql")),
    (13, "under way", include_str!("../migrations/sqlite/0013_under_way.sql")),
    (14, "search words", include_str!("../migrations/sqlite/0014_search_words.sql")),
    (20, "aged out", include_str!("../migrations/sqlite/0020_aged_out.sql")),
    (21, "browser keys", include_str!("../migrations/sqlite/0021_browser_keys.sql")),
];

/// As sqlx makes it: files that were made with it open, and it opens those that are made here.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";
const DONE: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
    VALUES ($1, $2, TRUE, $3, 0)";

#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("it has version {0} of the tables, which this Holdstead does not know: run the newer one")]
    Unknown(i64),
    #[error("version {0} of its tables is not the one that this Holdstead has: run the one that made it")]
    Changed(i64),
}

/// One gateway at a time: each step is one transaction that looks again.
pub(crate) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| StoreError::Migrate { source: Arc::new(error) };
    connection.execute_batch(TABLE).map_err(failed)?;
    let unfit = |unfit| StoreError::Migrate { source: Arc::new(unfit) };
    let done = done(connection).map_err(failed)?;
    for (version, checksum) in &done {
        let ours = MIGRATIONS.iter().find(|(ours, _, _)| ours == version);
        let (_, _, sql) = ours.ok_or_else(|| unfit(Unfit::Unknown(*version)))?;
        if Sha384::digest(sql)[..] != checksum[..] {
            return Err(unfit(Unfit::Changed(*version)));
        }
    }
    for (version, name, sql) in MIGRATIONS {
        if !done.iter().any(|(done, _)| *done == version) {
            step(connection, version, name, sql).map_err(failed)?;
        }
    }
    Ok(())
}

fn done(connection: &Connection) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let mut statement =
        connection.prepare("SELECT version, checksum FROM _sqlx_migrations ORDER BY version")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn step(connection: &Connection, version: i64, name: &str, sql: &str) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let stepped = take(connection, version, name, sql);
    connection.execute_batch(if stepped.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    stepped
}

fn take(connection: &Connection, version: i64, name: &str, sql: &str) -> rusqlite::Result<()> {
    // Somebody else may have opened the same file at the same moment.
    if done(connection)?.iter().any(|(done, _)| *done == version) {
        return Ok(());
    }
    connection.execute_batch(sql)?;
    connection.execute(DONE, params![version, name, &Sha384::digest(sql)[..]]).map(|_| ())
}
