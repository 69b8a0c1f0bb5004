//! SQLite by itself, with our tables and settings: one loop, one commit after the other.

use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, params};
use uuid::Uuid;

use super::written::{Found, Written};
use crate::Result;
use crate::database::file_of;

const HASH: [u8; 32] = [0x5a; 32];

/// Cycles a second. `url` is that of a database with our tables in it.
pub(super) fn measure(url: &str, written: &Written, lasting: Duration) -> Result<f64> {
    let mut connection = Connection::open(file_of(url)?)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")?;
    let session = Uuid::now_v7();
    connection.execute(
        "INSERT INTO sessions (id, owner, agent, last_seq, last_at, head_hash, state_version, state, agent_state, opened, \
         opened_at, changed_at, listed, unfinished) VALUES ($1, 'everybody', x'', 0, 0, $2, 1, x'', x'', x'', 0, 0, TRUE, FALSE)",
        params![session.as_bytes(), HASH],
    )?;
    let mut seq = 0_i64;
    let mut cycles = 0_u32;
    let begin = Instant::now();
    while begin.elapsed() < lasting {
        let ask = Uuid::new_v4();
        for (step, data) in written.events.iter().enumerate() {
            seq += 1;
            let commit = connection.transaction()?;
            write(&commit, session, seq, data, written)?;
            match step {
                0 => commit
                    .prepare_cached(
                        "INSERT INTO asks (id, session_id, owner, live, opened_at, request_seq, doc) \
                         VALUES ($1, $2, 'everybody', TRUE, $3, $3, $4)",
                    )?
                    .execute(params![ask.as_bytes(), session.as_bytes(), seq, written.ask])?,
                _ => commit
                    .prepare_cached(
                        "UPDATE asks SET live = FALSE, response_seq = $2, decided_at = $2, doc = $3 WHERE id = $1",
                    )?
                    .execute(params![ask.as_bytes(), seq, written.ask])?,
            };
            if let Some(Found { kind, text, words }) = written.found.get(step) {
                commit
                    .prepare_cached(
                        "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
                         VALUES ($1, $2, $3, 'everybody', $2, $4, $5, $6)",
                    )?
                    .execute(params![session.as_bytes(), seq, kind, ask.as_bytes(), text, words])?;
            }
            commit.commit()?;
        }
        cycles += 1;
    }
    Ok(f64::from(cycles) / begin.elapsed().as_secs_f64())
}

/// The event, and the head that follows from it.
fn write(
    commit: &Transaction<'_>,
    session: Uuid,
    seq: i64,
    data: &[u8],
    written: &Written,
) -> rusqlite::Result<()> {
    commit
        .prepare_cached(
            "INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) \
             VALUES ($1, $2, $3, $2, 'interaction_request', $4, $5, $6)",
        )?
        .execute(params![session.as_bytes(), seq, Uuid::now_v7().as_bytes(), data, [0x5a_u8; 16], HASH])?;
    commit
        .prepare_cached(
            "UPDATE sessions SET last_seq = $2, last_at = $2, changed_at = $2, head_hash = $4, state = $3 WHERE id = $1",
        )?
        .execute(params![session.as_bytes(), seq, written.head, HASH])?;
    Ok(())
}
