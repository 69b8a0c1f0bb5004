//! The one statement that writes a batch to PostgreSQL.

use std::collections::HashMap;

use holdstead_core::STATE_VERSION;
use holdstead_protocol::{InteractionId, SessionId, Timestamp};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::plan::{Plan, Seen};
use crate::rows::{AskRow, EventRow, HeadRow, OpeningRow, SessionPlan};
use crate::search::FoundRow;
use crate::{UnderWay, decode};

/// Everything that a batch leads to. The last line fails where a head is not what it was, is held by another writer, or is
/// of a session that another writer opened: before anything else is written, and the statement with it. Heads of journals
/// that the batch only reads get a share lock: their writers wait for its commit.
macro_rules! store {
    ($opening:literal, $all:literal) => {
        concat!(
            "WITH free AS ( \
               SELECT s.id FROM UNNEST($1::uuid[], $2::bigint[], $3::bytea[]) AS seen (id, seq, hash) \
               JOIN sessions s ON s.id = seen.id AND s.last_seq = seen.seq AND s.head_hash = seen.hash \
               AND s.state_version = $4 AND s.erased_at IS NULL ORDER BY s.id FOR UPDATE OF s SKIP LOCKED \
             ), base AS ( \
               SELECT s.id FROM UNNEST($49::uuid[], $50::bigint[], $51::bytea[]) AS seen (id, seq, hash) \
               JOIN sessions s ON s.id = seen.id AND s.last_seq = seen.seq AND s.head_hash = seen.hash \
               AND s.state_version = $4 ORDER BY s.id FOR SHARE OF s SKIP LOCKED \
             ), head AS ( \
               UPDATE sessions s SET last_seq = new.last_seq, last_at = new.last_at, head_hash = new.head_hash, \
               state = new.state, agent_state = new.agent_state, changed_at = new.last_at, \
               unfinished = new.unfinished, title = new.title, archived_at = new.archived_at, \
               archived_by = new.archived_by \
               FROM UNNEST($1::uuid[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bytea[], \
               $10::bool[], $11::bytea[], $12::bigint[], $13::text[]) AS new (id, last_seq, last_at, head_hash, \
               state, agent_state, unfinished, title, archived_at, archived_by) WHERE s.id = new.id \
             ), event AS ( \
               INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) \
               SELECT * FROM UNNEST($14::uuid[], $15::bigint[], $16::uuid[], $17::bigint[], $18::text[], \
               $19::bytea[], $20::bytea[], $21::bytea[]) \
             ), asked AS ( \
               INSERT INTO asks (id, session_id, owner, live, opened_at, due_at, request_seq, response_seq, doc, \
               decided_at, under_way) SELECT * FROM UNNEST($22::uuid[], $23::uuid[], $24::text[], $25::bool[], $26::bigint[], \
               $27::bigint[], $28::bigint[], $29::bigint[], $30::bytea[], $31::bigint[], $32::text[]) \
             ), changed AS ( \
               UPDATE asks a SET live = new.live, due_at = new.due_at, request_seq = new.request_seq, \
               response_seq = new.response_seq, doc = new.doc, decided_at = new.decided_at, under_way = new.under_way \
               FROM UNNEST($33::uuid[], $34::bool[], $35::bigint[], $36::bigint[], $37::bigint[], $38::bytea[], \
               $39::bigint[], $40::text[]) AS new (id, live, due_at, request_seq, response_seq, doc, decided_at, under_way) \
               WHERE a.id = new.id RETURNING a.id \
             ), found AS ( \
               INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
               SELECT * FROM UNNEST($41::uuid[], $42::bigint[], $43::text[], $44::text[], $45::bigint[], \
               $46::uuid[], $47::text[], $48::text[]) ON CONFLICT (session_id, seq) DO NOTHING \
             )",
            $opening,
            " SELECT 1 / ((SELECT count(*) FROM free) = cardinality($1::uuid[]) \
               AND (SELECT count(*) FROM base) = cardinality($49::uuid[]) \
               AND (SELECT count(*) FROM changed) = cardinality($33::uuid[])",
            $all,
            ")::int"
        )
    };
}

const STORE: &str = store!("", "");
/// In the order of their ids, because an insert waits for another of the same id.
const STORE_AND_OPEN: &str = store!(
    ", opened AS ( \
       INSERT INTO sessions (id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
       agent_state, opened, opened_at, changed_at, listed, unfinished, archived_at, archived_by) \
       SELECT id, owner, agent, title, last_seq, last_at, head_hash, $4, state, \
       agent_state, opened, opened_at, last_at, listed, unfinished, archived_at, archived_by \
       FROM UNNEST($52::uuid[], $53::text[], $54::bytea[], $55::bytea[], $56::bigint[], $57::bigint[], \
       $58::bytea[], $59::bytea[], $60::bytea[], $61::bytea[], $62::bigint[], $63::bool[], $64::bool[], \
       $65::bigint[], $66::text[]) AS new (id, owner, agent, title, last_seq, last_at, head_hash, state, \
       agent_state, opened, opened_at, listed, unfinished, archived_at, archived_by) \
       ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING id \
     )",
    " AND (SELECT count(*) FROM opened) = cardinality($52::uuid[])"
);

/// Whether somebody else was faster: the division by zero.
pub(crate) fn is_conflict(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("22012"))
}

/// Whether a guess was wrong: that, or a row that was taken for a new one is there.
pub(crate) fn is_wrong_guess(error: &sqlx::Error) -> bool {
    is_conflict(error)
        || error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

type Statement<'q> = Query<'q, Postgres, PgArguments>;

pub(crate) async fn store(
    connection: &mut PgConnection,
    Plan { sessions, bases, .. }: &Plan,
    seen: &HashMap<SessionId, Seen>,
) -> Result<(), sqlx::Error> {
    let (mut heads, mut openings) = (Vec::new(), Vec::new());
    for (id, SessionPlan { head, opening, .. }) in sessions {
        match (opening, seen.get(id)) {
            (Some(opening), _) => openings.push((head, opening)),
            (None, Some(seen)) => heads.push((head, *seen)),
            // Nothing follows from a session that was neither read nor opened.
            (None, None) => {}
        }
    }
    let sql = if openings.is_empty() { STORE } else { STORE_AND_OPEN };
    let statement = bind_heads(sqlx::query(sql), &heads);
    let statement =
        bind_events(statement, &sessions.values().flat_map(|plan| &plan.events).collect::<Vec<_>>());
    let statement =
        bind_new_asks(statement, &sessions.values().flat_map(|plan| &plan.new_asks).collect::<Vec<_>>());
    let statement = bind_changed_asks(
        statement,
        &sessions.values().flat_map(|plan| &plan.changed_asks).collect::<Vec<_>>(),
    );
    let statement =
        bind_found(statement, &sessions.values().flat_map(|plan| &plan.found).collect::<Vec<_>>());
    let bases: Vec<_> = bases.iter().filter_map(|id| Some((*id, *seen.get(id)?))).collect();
    let statement = bind_bases(statement, &bases);
    let statement = if openings.is_empty() { statement } else { bind_openings(statement, &openings) };
    statement.execute(connection).await.map(|_| ())
}

fn bind_heads<'q>(statement: Statement<'q>, rows: &[(&'q HeadRow, Seen)]) -> Statement<'q> {
    statement
        .bind(column(rows, |(head, _)| head.id.uuid()))
        .bind(column(rows, |(_, seen)| decode::number(seen.seq)))
        .bind(column(rows, |(_, seen)| seen.hash.to_vec()))
        .bind(i64::from(STATE_VERSION))
        .bind(column(rows, |(head, _)| decode::number(head.last_seq)))
        .bind(column(rows, |(head, _)| head.last_at.micros()))
        .bind(column(rows, |(head, _)| head.hash.as_slice()))
        .bind(column(rows, |(head, _)| head.state.as_slice()))
        .bind(column(rows, |(head, _)| head.agent_state.as_slice()))
        .bind(column(rows, |(head, _)| head.unfinished))
        .bind(column(rows, |(head, _)| head.title.as_deref()))
        .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.at.micros())))
        .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.by.as_str())))
}

fn bind_events<'q>(statement: Statement<'q>, rows: &[&'q EventRow]) -> Statement<'q> {
    statement
        .bind(column(rows, |event| event.line.session.uuid()))
        .bind(column(rows, |event| decode::number(event.line.seq)))
        .bind(column(rows, |event| event.line.id.uuid()))
        .bind(column(rows, |event| event.line.at.micros()))
        .bind(column(rows, |event| event.line.event_type.as_str()))
        .bind(column(rows, |event| event.data.as_slice()))
        .bind(column(rows, |event| event.salt.as_slice()))
        .bind(column(rows, |event| event.hash.as_slice()))
}

fn bind_new_asks<'q>(statement: Statement<'q>, rows: &[&'q AskRow]) -> Statement<'q> {
    statement
        .bind(column(rows, |ask| ask.id.uuid()))
        .bind(column(rows, |ask| ask.session.uuid()))
        .bind(column(rows, |ask| ask.owner.as_str()))
        .bind(column(rows, |ask| ask.live))
        .bind(column(rows, |ask| ask.opened_at.micros()))
        .bind(column(rows, |ask| ask.due_at.map(Timestamp::micros)))
        .bind(column(rows, |ask| decode::number(ask.request_seq)))
        .bind(column(rows, |ask| ask.response_seq.map(decode::number)))
        .bind(column(rows, |ask| ask.doc.as_slice()))
        .bind(column(rows, |ask| ask.decided_at.map(Timestamp::micros)))
        .bind(column(rows, |ask| ask.under_way.map(UnderWay::as_str)))
}

fn bind_changed_asks<'q>(statement: Statement<'q>, rows: &[&'q AskRow]) -> Statement<'q> {
    statement
        .bind(column(rows, |ask| ask.id.uuid()))
        .bind(column(rows, |ask| ask.live))
        .bind(column(rows, |ask| ask.due_at.map(Timestamp::micros)))
        .bind(column(rows, |ask| decode::number(ask.request_seq)))
        .bind(column(rows, |ask| ask.response_seq.map(decode::number)))
        .bind(column(rows, |ask| ask.doc.as_slice()))
        .bind(column(rows, |ask| ask.decided_at.map(Timestamp::micros)))
        .bind(column(rows, |ask| ask.under_way.map(UnderWay::as_str)))
}

fn bind_found<'q>(statement: Statement<'q>, rows: &[&'q FoundRow]) -> Statement<'q> {
    statement
        .bind(column(rows, |row| row.session.uuid()))
        .bind(column(rows, |row| decode::number(row.seq)))
        .bind(column(rows, |row| row.kind))
        .bind(column(rows, |row| row.owner.as_str()))
        .bind(column(rows, |row| row.at.micros()))
        .bind(column(rows, |row| row.interaction.map(InteractionId::uuid)))
        .bind(column(rows, |row| row.text.as_str()))
        .bind(column(rows, |row| row.words.as_str()))
}

fn bind_bases<'q>(statement: Statement<'q>, rows: &[(SessionId, Seen)]) -> Statement<'q> {
    statement
        .bind(column(rows, |(id, _)| id.uuid()))
        .bind(column(rows, |(_, seen)| decode::number(seen.seq)))
        .bind(column(rows, |(_, seen)| seen.hash.to_vec()))
}

fn bind_openings<'q>(statement: Statement<'q>, rows: &[(&'q HeadRow, &'q OpeningRow)]) -> Statement<'q> {
    statement
        .bind(column(rows, |(head, _)| head.id.uuid()))
        .bind(column(rows, |(_, opening)| opening.owner.as_str()))
        .bind(column(rows, |(_, opening)| opening.agent.as_slice()))
        .bind(column(rows, |(head, _)| head.title.as_deref()))
        .bind(column(rows, |(head, _)| decode::number(head.last_seq)))
        .bind(column(rows, |(head, _)| head.last_at.micros()))
        .bind(column(rows, |(head, _)| head.hash.as_slice()))
        .bind(column(rows, |(head, _)| head.state.as_slice()))
        .bind(column(rows, |(head, _)| head.agent_state.as_slice()))
        .bind(column(rows, |(_, opening)| opening.opened.as_slice()))
        .bind(column(rows, |(_, opening)| opening.opened_at.micros()))
        .bind(column(rows, |(_, opening)| opening.listed))
        .bind(column(rows, |(head, _)| head.unfinished))
        .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.at.micros())))
        .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.by.as_str())))
}

fn column<R: Copy, T>(rows: &[R], value: impl Fn(R) -> T) -> Vec<T> {
    rows.iter().copied().map(value).collect()
}
