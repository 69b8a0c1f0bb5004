//! A batch in PostgreSQL. Heads are locked first and in the order of their ids; nothing else is ever locked
//! before them, so that batches of many nodes cannot deadlock.

use std::collections::{BTreeSet, HashMap, HashSet};

use holdstead_protocol::{Event, InteractionId, SessionId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::backend::{Item, Patience, Tried, WriteError, Written};
use crate::db::Row;
use crate::plan::{self, Loaded};
use crate::rows::{AskRow, EventRow, HeadRow, OpeningRow};
use crate::search::{FoundRow, Language};
use crate::{StoreError, decode, sql};

pub(crate) const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

const LOCK_HEADS: &str = "SELECT id, last_seq, last_at, head_hash, state_version, state, erased_at FROM sessions \
    WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED";
const WAIT_FOR_HEADS: &str = "SELECT id, last_seq, last_at, head_hash, state_version, state, erased_at FROM sessions \
    WHERE id = ANY($1) ORDER BY id FOR UPDATE";

pub(crate) const LOCK_HEAD: &str = "SELECT id FROM sessions WHERE id = $1 FOR UPDATE";

pub(crate) async fn write(
    connection: &mut PgConnection,
    items: &[&Item],
    patience: Patience,
) -> Result<Tried, WriteError> {
    let mut loaded = Loaded::default();
    let mut skipped = match lock_heads(connection, items, patience, &mut loaded).await? {
        Locked::Without(skipped) => skipped,
        Locked::Outdated(sessions) => return Ok(Tried::Outdated(sessions)),
    };
    // After the locks: what was decided before us happened before us.
    let now = Timestamp::from_micros(sqlx::query_scalar(NOW).fetch_one(&mut *connection).await?);
    let (indexes, ours): (Vec<usize>, Vec<&Item>) =
        items.iter().copied().enumerate().filter(|(_, item)| !skipped.contains(&item.session)).unzip();
    loaded.found = found(connection, &ours).await?;
    let concerned: Vec<Uuid> =
        plan::concerned(&ours, &loaded.heads).into_iter().map(InteractionId::uuid).collect();
    if !concerned.is_empty() {
        let asks = sqlx::query("SELECT id, session_id, doc FROM asks WHERE id = ANY($1)").bind(concerned);
        for row in asks.fetch_all(&mut *connection).await? {
            loaded.asks.push(decode::loaded_ask(&Row::Postgres(row))?);
        }
    }
    let mut plan = plan::plan(&ours, loaded, now, rand::random)?;

    // Another node may have opened a session since we saw that there was none.
    let opening: Vec<_> = plan
        .sessions
        .values()
        .filter_map(|session| Some((&session.head, session.opening.as_ref()?)))
        .collect();
    if !opening.is_empty() {
        let wanted: HashSet<SessionId> = opening.iter().map(|(head, _)| head.id).collect();
        let opened = insert_heads(connection, &opening).await?;
        skipped.extend(wanted.difference(&opened));
        plan.sessions.retain(|id, _| !skipped.contains(id));
    }
    let heads =
        plan.sessions.values().filter(|session| session.opening.is_none()).map(|session| &session.head);
    update_heads(connection, heads).await?;
    insert_events(connection, plan.sessions.values().flat_map(|session| &session.events)).await?;
    insert_asks(connection, plan.sessions.values().flat_map(|session| &session.new_asks)).await?;
    update_asks(connection, plan.sessions.values().flat_map(|session| &session.changed_asks)).await?;
    insert_found(connection, plan.sessions.values().flat_map(|session| &session.found)).await?;

    let mut written: Vec<_> = items.iter().map(|_| Written::Busy).collect();
    for (index, result) in indexes.into_iter().zip(plan.results) {
        if !skipped.contains(&items[index].session) {
            written[index] = Written::Done(Box::new(result));
        }
    }
    Ok(Tried::Written(written))
}

/// What came of locking the heads.
enum Locked {
    /// But for those of these sessions, which exist and whose head somebody else holds.
    Without(HashSet<SessionId>),
    /// An older version wrote the state of these.
    Outdated(Vec<SessionId>),
}

/// Locks and loads the heads.
async fn lock_heads(
    connection: &mut PgConnection,
    items: &[&Item],
    patience: Patience,
    loaded: &mut Loaded,
) -> Result<Locked, WriteError> {
    let ids: BTreeSet<SessionId> = items.iter().map(|item| item.session).collect();
    let sql = match patience {
        Patience::Skip => LOCK_HEADS,
        Patience::Wait => WAIT_FOR_HEADS,
    };
    let wanted: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let mut outdated = Vec::new();
    for row in sqlx::query(sql).bind(wanted).fetch_all(&mut *connection).await? {
        let row = Row::Postgres(row);
        if decode::is_outdated(&row)? {
            outdated.push(SessionId::from_uuid(row.id("id")?));
            continue;
        }
        let (id, head) = decode::head(&row)?;
        loaded.heads.insert(id, head);
    }
    if !outdated.is_empty() {
        return Ok(Locked::Outdated(outdated));
    }
    let missing: Vec<Uuid> =
        ids.iter().filter(|id| !loaded.heads.contains_key(id)).map(|id| id.uuid()).collect();
    if missing.is_empty() {
        return Ok(Locked::Without(HashSet::new()));
    }
    let exist = sqlx::query_scalar("SELECT id FROM sessions WHERE id = ANY($1)").bind(missing);
    let held = exist.fetch_all(connection).await?.into_iter().map(SessionId::from_uuid);
    Ok(Locked::Without(held.collect()))
}

/// Looks for items that a commit without a reply may have written. Their heads are locked: that commit is over.
async fn found(
    connection: &mut PgConnection,
    items: &[&Item],
) -> Result<HashMap<usize, Vec<Event>>, WriteError> {
    let mut found = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(seq) = item.maybe_at else { continue };
        let rows = sqlx::query(sql::READ)
            .bind(item.session.uuid())
            .bind(decode::number(seq) - 1)
            .bind(plan::MOST_EVENTS)
            .fetch_all(&mut *connection)
            .await?;
        let events =
            rows.into_iter().map(|row| decode::event(&Row::Postgres(row))).collect::<Result<_, _>>()?;
        if let Some(events) = plan::written_by(item, events) {
            found.insert(index, events);
        }
    }
    Ok(found)
}

/// Returns those that were inserted. In the order of their ids, because an insert waits for another of the same id.
async fn insert_heads(
    connection: &mut PgConnection,
    rows: &[(&HeadRow, &OpeningRow)],
) -> Result<HashSet<SessionId>, StoreError> {
    let inserted = sqlx::query_scalar(
        "INSERT INTO sessions (id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
         agent_state, opened, opened_at, changed_at, listed, unfinished, archived_at, archived_by) \
         SELECT id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
         agent_state, opened, opened_at, last_at, listed, unfinished, archived_at, archived_by \
         FROM UNNEST($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bytea[], \
         $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bigint[], $13::bool[], $14::bool[], $15::bigint[], $16::text[]) \
         AS new (id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
         agent_state, opened, opened_at, listed, unfinished, archived_at, archived_by) \
         ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING id",
    )
    .bind(column(rows, |(head, _)| head.id.uuid()))
    .bind(column(rows, |(_, opening)| opening.owner.as_str()))
    .bind(column(rows, |(_, opening)| opening.agent.as_slice()))
    .bind(column(rows, |(head, _)| head.title.as_deref()))
    .bind(column(rows, |(head, _)| decode::number(head.last_seq)))
    .bind(column(rows, |(head, _)| head.last_at.micros()))
    .bind(column(rows, |(head, _)| head.hash.as_slice()))
    .bind(column(rows, |(head, _)| i64::from(head.state_version)))
    .bind(column(rows, |(head, _)| head.state.as_slice()))
    .bind(column(rows, |(head, _)| head.agent_state.as_slice()))
    .bind(column(rows, |(_, opening)| opening.opened.as_slice()))
    .bind(column(rows, |(_, opening)| opening.opened_at.micros()))
    .bind(column(rows, |(_, opening)| opening.listed))
    .bind(column(rows, |(head, _)| head.unfinished))
    .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.at.micros())))
    .bind(column(rows, |(head, _)| head.archived.as_ref().map(|archived| archived.by.as_str())))
    .fetch_all(connection)
    .await?;
    Ok(inserted.into_iter().map(SessionId::from_uuid).collect())
}

async fn update_heads<'r>(
    connection: &mut PgConnection,
    rows: impl Iterator<Item = &'r HeadRow>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE sessions s SET last_seq = new.last_seq, last_at = new.last_at, head_hash = new.head_hash, \
         state_version = new.state_version, state = new.state, agent_state = new.agent_state, \
         changed_at = new.last_at, unfinished = new.unfinished, title = new.title, \
         archived_at = new.archived_at, archived_by = new.archived_by \
         FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bytea[], \
         $8::bool[], $9::bytea[], $10::bigint[], $11::text[]) AS new (id, last_seq, last_at, head_hash, \
         state_version, state, agent_state, unfinished, title, archived_at, archived_by) \
         WHERE s.id = new.id",
    )
    .bind(column(&rows, |head| head.id.uuid()))
    .bind(column(&rows, |head| decode::number(head.last_seq)))
    .bind(column(&rows, |head| head.last_at.micros()))
    .bind(column(&rows, |head| head.hash.as_slice()))
    .bind(column(&rows, |head| i64::from(head.state_version)))
    .bind(column(&rows, |head| head.state.as_slice()))
    .bind(column(&rows, |head| head.agent_state.as_slice()))
    .bind(column(&rows, |head| head.unfinished))
    .bind(column(&rows, |head| head.title.as_deref()))
    .bind(column(&rows, |head| head.archived.as_ref().map(|archived| archived.at.micros())))
    .bind(column(&rows, |head| head.archived.as_ref().map(|archived| archived.by.as_str())))
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_events<'r>(
    connection: &mut PgConnection,
    rows: impl Iterator<Item = &'r EventRow>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) \
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::uuid[], $4::bigint[], $5::text[], $6::bytea[], \
         $7::bytea[], $8::bytea[])",
    )
    .bind(column(&rows, |event| event.line.session.uuid()))
    .bind(column(&rows, |event| decode::number(event.line.seq)))
    .bind(column(&rows, |event| event.line.id.uuid()))
    .bind(column(&rows, |event| event.line.at.micros()))
    .bind(column(&rows, |event| event.line.event_type.as_str()))
    .bind(column(&rows, |event| event.data.as_slice()))
    .bind(column(&rows, |event| event.salt.as_slice()))
    .bind(column(&rows, |event| event.hash.as_slice()))
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_asks<'r>(
    connection: &mut PgConnection,
    rows: impl Iterator<Item = &'r AskRow>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO asks (id, session_id, owner, live, opened_at, due_at, request_seq, response_seq, doc, decided_at) \
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::text[], $4::bool[], $5::bigint[], $6::bigint[], \
         $7::bigint[], $8::bigint[], $9::bytea[], $10::bigint[])",
    )
    .bind(column(&rows, |ask| ask.id.uuid()))
    .bind(column(&rows, |ask| ask.session.uuid()))
    .bind(column(&rows, |ask| ask.owner.as_str()))
    .bind(column(&rows, |ask| ask.live))
    .bind(column(&rows, |ask| ask.opened_at.micros()))
    .bind(column(&rows, |ask| ask.due_at.map(Timestamp::micros)))
    .bind(column(&rows, |ask| decode::number(ask.request_seq)))
    .bind(column(&rows, |ask| ask.response_seq.map(decode::number)))
    .bind(column(&rows, |ask| ask.doc.as_slice()))
    .bind(column(&rows, |ask| ask.decided_at.map(Timestamp::micros)))
    .execute(connection)
    .await?;
    Ok(())
}

async fn update_asks<'r>(
    connection: &mut PgConnection,
    rows: impl Iterator<Item = &'r AskRow>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE asks a SET live = new.live, due_at = new.due_at, request_seq = new.request_seq, \
         response_seq = new.response_seq, doc = new.doc, decided_at = new.decided_at \
         FROM UNNEST($1::uuid[], $2::bool[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[]) \
         AS new (id, live, due_at, request_seq, response_seq, doc, decided_at) WHERE a.id = new.id",
    )
    .bind(column(&rows, |ask| ask.id.uuid()))
    .bind(column(&rows, |ask| ask.live))
    .bind(column(&rows, |ask| ask.due_at.map(Timestamp::micros)))
    .bind(column(&rows, |ask| decode::number(ask.request_seq)))
    .bind(column(&rows, |ask| ask.response_seq.map(decode::number)))
    .bind(column(&rows, |ask| ask.doc.as_slice()))
    .bind(column(&rows, |ask| ask.decided_at.map(Timestamp::micros)))
    .execute(connection)
    .await?;
    Ok(())
}

/// Where each is at its best: the order by time is either that of an index or, with `+ 0`, of none.
macro_rules! find {
    ($at:literal) => {
        concat!(
            "SELECT f.session_id AS id, f.session_id, f.seq, f.kind, f.at, f.interaction_id, f.text, s.title, \
             s.state_version FROM search f JOIN sessions s ON s.id = f.session_id AND s.erased_at IS NULL AND s.listed \
             WHERE f.owner = $1 AND array_to_tsvector(string_to_array(f.words, ' ')) @@ $2::text::tsquery AND (",
            $at,
            ", f.session_id, f.seq) < ($3, $4, $5) ORDER BY ",
            $at,
            " DESC, f.session_id DESC, f.seq DESC LIMIT $6"
        )
    };
}

pub(crate) const FIND_COMMON: &str = find!("f.at");
pub(crate) const COUNT_FOUND: &str = "SELECT count(*) FROM (SELECT 1 FROM search \
    WHERE array_to_tsvector(string_to_array(words, ' ')) @@ $1::text::tsquery LIMIT $2) AS few";

pub(crate) const LANGUAGE: Language = Language {
    find: find!("f.at + 0"),
    add: "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session_id, seq) DO NOTHING",
    vocabulary: None,
    beginning: ":*",
    quote: '\'',
    and: " & ",
    or: " | ",
};

async fn insert_found<'r>(
    connection: &mut PgConnection,
    rows: impl Iterator<Item = &'r FoundRow>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::text[], \
         $8::text[]) ON CONFLICT (session_id, seq) DO NOTHING",
    )
    .bind(column(&rows, |row| row.session.uuid()))
    .bind(column(&rows, |row| decode::number(row.seq)))
    .bind(column(&rows, |row| row.kind))
    .bind(column(&rows, |row| row.owner.as_str()))
    .bind(column(&rows, |row| row.at.micros()))
    .bind(column(&rows, |row| row.interaction.map(InteractionId::uuid)))
    .bind(column(&rows, |row| row.text.as_str()))
    .bind(column(&rows, |row| row.words.as_str()))
    .execute(connection)
    .await?;
    Ok(())
}

fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
