//! A batch in SQLite: the heads and asks it needs, and the rows it leads to. The write lock is held already.

use std::collections::{BTreeSet, HashMap};

use holdstead_protocol::{Event, InteractionId, SessionId, Timestamp};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::backend::{Item, Tried, WriteError, Written};
use crate::db::Row;
use crate::plan::{self, Loaded};
use crate::rows::{AskRow, EventRow, HeadRow, OpeningRow, SessionPlan};
use crate::search::{FoundRow, Language};
use crate::{StoreError, decode, sql};

/// Statements for up to this many rows are kept prepared.
const KEPT: usize = 4;

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    items: &[&Item],
    now: Timestamp,
) -> Result<Tried, WriteError> {
    let ids: BTreeSet<SessionId> = items.iter().map(|item| item.session).collect();
    let mut loaded =
        Loaded { heads: HashMap::new(), asks: Vec::new(), found: found(connection, items).await? };
    let mut outdated = Vec::new();
    for row in select(connection, HEADS, ids.into_iter().map(SessionId::uuid).collect()).await? {
        if decode::is_outdated(&row)? {
            outdated.push(SessionId::from_uuid(row.id("id")?));
            continue;
        }
        let (id, head) = decode::head(&row)?;
        loaded.heads.insert(id, head);
    }
    if !outdated.is_empty() {
        return Ok(Tried::Outdated(outdated));
    }
    let concerned = plan::concerned(items, &loaded.heads);
    for row in select(connection, ASKS, concerned.into_iter().map(InteractionId::uuid).collect()).await? {
        loaded.asks.push(decode::loaded_ask(&row)?);
    }
    let plan = plan::plan(items, loaded, now, rand::random)?;
    insert_events(connection, plan.sessions.values().flat_map(|session| &session.events)).await?;
    for SessionPlan { head, opening, new_asks, changed_asks, found, .. } in plan.sessions.values() {
        match opening {
            Some(opening) => insert_head(connection, head, opening).await?,
            None => update_head(connection, head).await?,
        }
        for ask in new_asks {
            insert_ask(connection, ask).await?;
        }
        for ask in changed_asks {
            update_ask(connection, ask).await?;
        }
        for row in found {
            insert_found(connection, row).await?;
        }
    }
    let written = plan.results.into_iter().map(|result| Written::Done(Box::new(result)));
    Ok(Tried::Written(written.collect()))
}

/// Looks for items that a commit without a reply may have written.
async fn found(
    connection: &mut SqliteConnection,
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
            rows.into_iter().map(|row| decode::event(&Row::Sqlite(row))).collect::<Result<_, _>>()?;
        if let Some(events) = plan::written_by(item, events) {
            found.insert(index, events);
        }
    }
    Ok(found)
}

const HEADS: &str =
    "SELECT id, last_seq, last_at, head_hash, state_version, state, erased_at FROM sessions WHERE id IN (";
const ASKS: &str = "SELECT id, session_id, doc FROM asks WHERE id IN (";

async fn select(
    connection: &mut SqliteConnection,
    sql: &'static str,
    ids: Vec<uuid::Uuid>,
) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::with_capacity(ids.len());
    // SQLite takes 32,766 values at once.
    for ids in ids.chunks(10_000) {
        let mut query = QueryBuilder::<Sqlite>::new(sql);
        let mut list = query.separated(", ");
        for id in ids {
            list.push_bind(*id);
        }
        query.push(")");
        let some = query.build().persistent(ids.len() <= KEPT).fetch_all(&mut *connection).await?;
        rows.extend(some.into_iter().map(Row::Sqlite));
    }
    Ok(rows)
}

async fn insert_events<'e>(
    connection: &mut SqliteConnection,
    events: impl Iterator<Item = &'e EventRow>,
) -> Result<(), StoreError> {
    let events: Vec<_> = events.collect();
    for some in events.chunks(1_000) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) ",
        );
        query.push_values(some, |mut row, event| {
            row.push_bind(event.line.session.uuid())
                .push_bind(decode::number(event.line.seq))
                .push_bind(event.line.id.uuid())
                .push_bind(event.line.at.micros())
                .push_bind(event.line.event_type.as_str())
                .push_bind(event.data.as_slice())
                .push_bind(event.salt.as_slice())
                .push_bind(event.hash.as_slice());
        });
        query.build().persistent(some.len() <= KEPT).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn insert_head(
    connection: &mut SqliteConnection,
    head: &HeadRow,
    opening: &OpeningRow,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sessions (id, owner, agent, title, last_seq, last_at, head_hash, state_version, state, \
         agent_state, opened, opened_at, changed_at, listed, unfinished, archived_at, archived_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $6, $13, $14, $15, $16)",
    )
    .bind(head.id.uuid())
    .bind(opening.owner.as_str())
    .bind(opening.agent.as_slice())
    .bind(head.title.as_deref())
    .bind(decode::number(head.last_seq))
    .bind(head.last_at.micros())
    .bind(head.hash.as_slice())
    .bind(i64::from(head.state_version))
    .bind(head.state.as_slice())
    .bind(head.agent_state.as_slice())
    .bind(opening.opened.as_slice())
    .bind(opening.opened_at.micros())
    .bind(opening.listed)
    .bind(head.unfinished)
    .bind(head.archived.as_ref().map(|archived| archived.at.micros()))
    .bind(head.archived.as_ref().map(|archived| archived.by.as_str()))
    .execute(connection)
    .await?;
    Ok(())
}

async fn update_head(connection: &mut SqliteConnection, head: &HeadRow) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE sessions SET last_seq = $2, last_at = $3, head_hash = $4, state_version = $5, state = $6, \
         agent_state = $7, changed_at = $3, unfinished = $8, title = $9, archived_at = $10, archived_by = $11 WHERE id = $1",
    )
    .bind(head.id.uuid())
    .bind(decode::number(head.last_seq))
    .bind(head.last_at.micros())
    .bind(head.hash.as_slice())
    .bind(i64::from(head.state_version))
    .bind(head.state.as_slice())
    .bind(head.agent_state.as_slice())
    .bind(head.unfinished)
    .bind(head.title.as_deref())
    .bind(head.archived.as_ref().map(|archived| archived.at.micros()))
    .bind(head.archived.as_ref().map(|archived| archived.by.as_str()))
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_ask(connection: &mut SqliteConnection, ask: &AskRow) -> Result<(), StoreError> {
    sqlx::query(sql::ADD_ASK)
        .bind(ask.id.uuid())
        .bind(ask.session.uuid())
        .bind(ask.owner.as_str())
        .bind(ask.live)
        .bind(ask.opened_at.micros())
        .bind(ask.due_at.map(Timestamp::micros))
        .bind(decode::number(ask.request_seq))
        .bind(ask.response_seq.map(decode::number))
        .bind(ask.decided_at.map(Timestamp::micros))
        .bind(ask.doc.as_slice())
        .execute(connection)
        .await?;
    Ok(())
}

async fn update_ask(connection: &mut SqliteConnection, ask: &AskRow) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE asks SET live = $2, due_at = $3, request_seq = $4, response_seq = $5, doc = $6, decided_at = $7 \
         WHERE id = $1",
    )
    .bind(ask.id.uuid())
    .bind(ask.live)
    .bind(ask.due_at.map(Timestamp::micros))
    .bind(decode::number(ask.request_seq))
    .bind(ask.response_seq.map(decode::number))
    .bind(ask.doc.as_slice())
    .bind(ask.decided_at.map(Timestamp::micros))
    .execute(connection)
    .await?;
    Ok(())
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
    vocabulary: Some("SELECT term FROM search_vocabulary WHERE term >= $1 AND term <= $2 LIMIT $3"),
    beginning: "*",
    quote: '"',
    and: " AND ",
    or: " OR ",
};

async fn insert_found(connection: &mut SqliteConnection, row: &FoundRow) -> Result<(), StoreError> {
    sqlx::query(LANGUAGE.add)
        .bind(row.session.uuid())
        .bind(decode::number(row.seq))
        .bind(row.kind)
        .bind(row.owner.as_str())
        .bind(row.at.micros())
        .bind(row.interaction.map(InteractionId::uuid))
        .bind(row.text.as_str())
        .bind(row.words.as_str())
        .execute(connection)
        .await?;
    Ok(())
}
