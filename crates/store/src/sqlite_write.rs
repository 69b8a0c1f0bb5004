//! A batch in SQLite: the heads and asks it needs, and the rows it leads to, in one transaction and on one thread.

use std::collections::HashMap;

use holdstead_core::STATE_VERSION;
use holdstead_protocol::{Event, Timestamp};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use uuid::Uuid;

use crate::backend::{Item, Tried, WriteError, Written};
use crate::clock::Clock;
use crate::plan::{self, Loaded, Plan, Seen, Wanted};
use crate::recent::{Recent, is_all_written};
use crate::rows::{AskRow, EventRow, HeadRow, OpeningRow, SessionPlan};
use crate::search::{FoundRow, Language};
use crate::sqlite_row::{put, run};
use crate::{UnderWay, decode, sql};

/// Decides on what is remembered if that will do, and else on what is read.
pub(crate) fn write(
    connection: &Connection,
    items: &[&Item],
    recent: &Recent,
    clock: &dyn Clock,
) -> Result<Tried, WriteError> {
    if let Some(loaded) = recent.loaded(items)
        && let Some(written) = write_known(connection, items, loaded, recent, clock)?
    {
        return Ok(Tried::Written(written));
    }
    recent.forget(items);
    write_read(connection, items, recent, clock)
}

/// Nothing, if what is remembered is not enough, or is not what there is.
fn write_known(
    connection: &Connection,
    items: &[&Item],
    loaded: Loaded,
    recent: &Recent,
    clock: &dyn Clock,
) -> Result<Option<Vec<Written>>, WriteError> {
    let seen = loaded.seen();
    let plan = plan::plan(items, loaded, clock.now(), rand::random)?;
    if !is_all_written(&plan) {
        return Ok(None);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for (id, Seen { seq, hash }) in seen {
        let (id, seq, hash) = (id.uuid(), decode::number(seq), hash.as_slice());
        if run(&transaction, IS_HEAD, &[&blob(&id), &seq, &hash, &STATE_VERSION])?.is_empty() {
            return Ok(None);
        }
    }
    match put_rows(&transaction, &plan) {
        Ok(()) => {}
        // An ask that was taken for a new one is there.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    transaction.commit()?;
    Ok(Some(done(plan, recent)))
}

/// Decides and commits. What is not committed is rolled back.
fn write_read(
    connection: &Connection,
    items: &[&Item],
    recent: &Recent,
    clock: &dyn Clock,
) -> Result<Tried, WriteError> {
    // IMMEDIATE takes the write lock at once: a batch never has to be given up halfway for want of it.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut loaded = Loaded { found: found(&transaction, items)?, ..Loaded::default() };
    let mut others = Vec::new();
    for session in plan::sessions(items) {
        for row in run(&transaction, HEAD, &[&blob(&session.uuid())])? {
            if decode::other_version(&row)?.is_some() {
                others.push(session);
            } else {
                let (id, head) = decode::head(&row)?;
                loaded.heads.insert(id, head);
            }
        }
    }
    if !others.is_empty() {
        return Ok(Tried::OtherVersion(others));
    }
    let Wanted { asks, undelivered, live } = Wanted::by(items);
    let by_id = asks.iter().map(|ask| (ASK, ask.uuid()));
    let undelivered = undelivered.iter().map(|session| (UNDELIVERED, session.uuid()));
    let live = live.iter().map(|session| (LIVE, session.uuid()));
    for (sql, id) in by_id.chain(undelivered).chain(live) {
        for row in run(&transaction, sql, &[&blob(&id)])? {
            loaded.asks.push(decode::loaded_ask(&row)?);
        }
    }
    let plan = plan::plan(items, loaded, clock.now(), rand::random)?;
    put_rows(&transaction, &plan)?;
    // An error of COMMIT leaves the transaction open, and so nothing written.
    transaction.commit()?;
    Ok(Tried::Written(done(plan, recent)))
}

fn put_rows(transaction: &Connection, plan: &Plan) -> rusqlite::Result<()> {
    for SessionPlan { head, opening, events, new_asks, changed_asks, .. } in plan.sessions.values() {
        match opening {
            Some(opening) => insert_head(transaction, head, opening)?,
            None => update_head(transaction, head)?,
        }
        for event in events {
            insert_event(transaction, event)?;
        }
        for ask in new_asks {
            insert_ask(transaction, ask)?;
        }
        for ask in changed_asks {
            update_ask(transaction, ask)?;
        }
    }
    // Last of all: the index puts what it holds into the file before each statement of several writes that follows.
    for row in plan.sessions.values().flat_map(|session| &session.found) {
        insert_found(transaction, row)?;
    }
    Ok(())
}

/// It is committed.
fn done(plan: Plan, recent: &Recent) -> Vec<Written> {
    recent.keep(plan.sessions);
    plan.results.into_iter().map(|result| Written::Done(Box::new(result))).collect()
}

/// Looks for items that a commit without a reply may have written.
fn found(connection: &Connection, items: &[&Item]) -> Result<HashMap<usize, Vec<Event>>, WriteError> {
    let mut found = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(seq) = item.maybe_at else { continue };
        let (session, after) = (item.session.uuid(), decode::number(seq) - 1);
        let rows = run(connection, sql::READ, &[&blob(&session), &after, &plan::MOST_EVENTS])?;
        let events = rows.iter().map(decode::event).collect::<Result<_, _>>()?;
        if let Some(events) = plan::written_by(item, events) {
            found.insert(index, events);
        }
    }
    Ok(found)
}

const HEAD: &str =
    "SELECT id, last_seq, last_at, head_hash, state_version, state, erased_at FROM sessions WHERE id = $1";
/// Whether a head is as it is remembered.
const IS_HEAD: &str = "SELECT id FROM sessions WHERE id = $1 AND last_seq = $2 AND head_hash = $3 AND state_version = $4 \
    AND erased_at IS NULL";
const ASK: &str = "SELECT id, session_id, doc FROM asks WHERE id = $1";
const UNDELIVERED: &str =
    "SELECT id, session_id, doc FROM asks WHERE session_id = $1 AND under_way = 'undelivered'";
const LIVE: &str = "SELECT id, session_id, doc FROM asks WHERE session_id = $1 AND live = TRUE";

/// Ids are kept as their bytes.
fn blob(id: &Uuid) -> &[u8] {
    id.as_bytes()
}

fn insert_event(connection: &Connection, event: &EventRow) -> rusqlite::Result<()> {
    put(
        connection,
        "INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &blob(&event.line.session.uuid()),
            &decode::number(event.line.seq),
            &blob(&event.line.id.uuid()),
            &event.line.at.micros(),
            &event.line.event_type.as_str(),
            &event.data,
            &event.salt.as_slice(),
            &event.hash.as_slice(),
        ],
    )
}

fn insert_head(connection: &Connection, head: &HeadRow, opening: &OpeningRow) -> rusqlite::Result<()> {
    put(
        connection,
        "INSERT INTO sessions (id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
         agent_state, opened, opened_at, changed_at, listed, unfinished, archived_at, archived_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $6, $13, $14, $15, $16)",
        &[
            &blob(&head.id.uuid()),
            &opening.owner,
            &opening.agent,
            &head.title,
            &decode::number(head.last_seq),
            &head.last_at.micros(),
            &head.hash.as_slice(),
            &head.state_version,
            &head.state,
            &head.agent_state,
            &opening.opened,
            &opening.opened_at.micros(),
            &opening.listed,
            &head.unfinished,
            &head.archived.as_ref().map(|archived| archived.at.micros()),
            &head.archived.as_ref().map(|archived| archived.by.as_str()),
        ],
    )
}

fn update_head(connection: &Connection, head: &HeadRow) -> rusqlite::Result<()> {
    put(
        connection,
        "UPDATE sessions SET last_seq = $2, last_at = $3, head_hash = $4, state_version = $5, state = $6, \
         agent_state = $7, changed_at = $3, unfinished = $8, title = $9, archived_at = $10, archived_by = $11 WHERE id = $1",
        &[
            &blob(&head.id.uuid()),
            &decode::number(head.last_seq),
            &head.last_at.micros(),
            &head.hash.as_slice(),
            &head.state_version,
            &head.state,
            &head.agent_state,
            &head.unfinished,
            &head.title,
            &head.archived.as_ref().map(|archived| archived.at.micros()),
            &head.archived.as_ref().map(|archived| archived.by.as_str()),
        ],
    )
}

fn insert_ask(connection: &Connection, ask: &AskRow) -> rusqlite::Result<()> {
    put(
        connection,
        sql::ADD_ASK,
        &[
            &blob(&ask.id.uuid()),
            &blob(&ask.session.uuid()),
            &ask.owner,
            &ask.live,
            &ask.opened_at.micros(),
            &ask.due_at.map(Timestamp::micros),
            &decode::number(ask.request_seq),
            &ask.response_seq.map(decode::number),
            &ask.decided_at.map(Timestamp::micros),
            &ask.under_way.map(UnderWay::as_str),
            &ask.doc,
        ],
    )
}

fn update_ask(connection: &Connection, ask: &AskRow) -> rusqlite::Result<()> {
    put(
        connection,
        "UPDATE asks SET live = $2, due_at = $3, request_seq = $4, response_seq = $5, doc = $6, decided_at = $7, \
         under_way = $8 WHERE id = $1",
        &[
            &blob(&ask.id.uuid()),
            &ask.live,
            &ask.due_at.map(Timestamp::micros),
            &decode::number(ask.request_seq),
            &ask.response_seq.map(decode::number),
            &ask.doc,
            &ask.decided_at.map(Timestamp::micros),
            &ask.under_way.map(UnderWay::as_str),
        ],
    )
}

/// Its places are given by time, each millisecond having two million.
pub(crate) const LANGUAGE: Language = Language {
    find: "SELECT f.id, f.session_id, f.seq, f.kind, f.at, f.interaction_id, f.text, s.title, s.state_version \
           FROM search_words w JOIN search f ON f.id = w.rowid \
           JOIN sessions s ON s.id = f.session_id AND s.erased_at IS NULL AND s.listed \
           WHERE w.search_words MATCH $2 AND f.owner = $1 AND w.rowid < coalesce( \
           (SELECT id FROM search WHERE session_id = $4 AND seq = $5), min($3 / 1000, 4398046511103) << 21) \
           ORDER BY w.rowid DESC LIMIT $6",
    add: "INSERT INTO search (id, session_id, seq, kind, owner, at, interaction_id, text, words) VALUES ( \
          coalesce((SELECT max(id) + 1 FROM search \
                    WHERE id BETWEEN ($5 / 1000) << 21 AND (($5 / 1000 + 1) << 21) - 1), ($5 / 1000) << 21), \
          $1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session_id, seq) DO NOTHING",
    add_words: Some(
        "INSERT INTO search_words (rowid, words) SELECT id, words FROM search \
         WHERE session_id = $1 AND seq = $2 AND changes() = 1",
    ),
    vocabulary: Some("SELECT term FROM search_vocabulary WHERE term >= $1 AND term <= $2 LIMIT $3"),
    beginning: "*",
    quote: '"',
    and: " AND ",
    or: " OR ",
};

/// With its words, each by a statement of one write.
fn insert_found(connection: &Connection, row: &FoundRow) -> rusqlite::Result<()> {
    put(
        connection,
        LANGUAGE.add,
        &[
            &blob(&row.session.uuid()),
            &decode::number(row.seq),
            &row.kind,
            &row.owner,
            &row.at.micros(),
            &row.interaction.map(|id| id.uuid().into_bytes()),
            &row.text,
            &row.words,
        ],
    )?;
    if connection.changes() == 0 {
        return Ok(());
    }
    let id = connection.last_insert_rowid();
    put(connection, "INSERT INTO search_words (rowid, words) VALUES ($1, $2)", &[&id, &row.words])
}
