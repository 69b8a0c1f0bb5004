//! A batch in PostgreSQL, in two round trips: what it is decided on is read, and then everything is written by one
//! statement, which the server commits by itself. It is written only if the heads are as they were read and nobody holds
//! them. If they are not, the batch is decided again with its heads locked.
//!
//! Heads are locked first and in the order of their ids; nothing else is ever locked before them, so that batches of many
//! nodes cannot deadlock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use holdstead_protocol::{Event, InteractionId, SessionId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::backend::{Item, Patience, Tried, WriteError, Written, planned};
use crate::db::Row;
use crate::plan::{self, Loaded, Plan, Seen, Wanted};
use crate::postgres::Lent;
use crate::postgres_store::{is_conflict, is_wrong_guess, store};
use crate::recent::{Recent, is_all_written};
use crate::rows::SessionPlan;
use crate::search::Language;
use crate::seen::{LastSeen, Place, Timeline};
use crate::server_clock::ServerClock;
use crate::{decode, refold, sql};

macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

pub(crate) use now;

pub(crate) const NOW: &str = concat!("SELECT ", now!(), " AS now");

pub(crate) const LOCK_HEAD: &str = "SELECT id FROM sessions WHERE id = $1 FOR UPDATE";
const LOCK_HEADS: &str = "SELECT id FROM sessions WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED";
const WAIT_FOR_HEADS: &str = "SELECT id FROM sessions WHERE id = ANY($1) ORDER BY id FOR UPDATE";
/// A writer that waits for one of these holds the head of one session and no other journal's, so it cannot deadlock.
const SHARE_HEADS: &str = "SELECT id FROM sessions WHERE id = ANY($1) ORDER BY id FOR SHARE SKIP LOCKED";
const WAIT_TO_SHARE: &str = "SELECT id FROM sessions WHERE id = ANY($1) ORDER BY id FOR SHARE";

/// What is known without asking the server.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) recent: Recent,
    pub(crate) seen: Arc<LastSeen>,
    clock: ServerClock,
}

impl Known {
    pub(crate) fn new(seen: Arc<LastSeen>) -> Self {
        Self { seen, ..Self::default() }
    }

    /// Written, before anybody is told. If another server has taken over meanwhile, nobody knows whether it has this.
    fn wrote(
        &self,
        timeline: Timeline,
        sessions: &BTreeMap<SessionId, SessionPlan>,
        written: &[Written],
    ) -> Result<(), WriteError> {
        let saw = self.seen.saw(timeline, sessions.values().map(|plan| Place::from(&plan.head)));
        saw.map_err(|ended| WriteError::Lost { planned: planned(written), source: Arc::new(ended) })
    }
}

/// What a batch is decided on: the clock, heads, and asks. Heads have no `session_id`, the clock has no `id`.
const LOOK: &str = concat!(
    "SELECT NULL::uuid AS id, NULL::uuid AS session_id, NULL::bigint AS last_seq, ",
    now!(),
    " AS last_at, NULL::bytea AS head_hash, NULL::bigint AS state_version, NULL::bytea AS state, \
     NULL::bigint AS erased_at, NULL::bytea AS doc \
     UNION ALL SELECT id, NULL, last_seq, last_at, head_hash, state_version, state, erased_at, NULL FROM sessions \
     WHERE id = ANY($1) \
     UNION ALL SELECT id, session_id, NULL, NULL, NULL, NULL, NULL, NULL, doc FROM asks WHERE id = ANY($2) \
     UNION ALL SELECT id, session_id, NULL, NULL, NULL, NULL, NULL, NULL, doc FROM asks \
     WHERE session_id = ANY($3) AND under_way = 'undelivered' \
     UNION ALL SELECT id, session_id, NULL, NULL, NULL, NULL, NULL, NULL, doc FROM asks \
     WHERE session_id = ANY($4) AND live = TRUE"
);

/// Without locks: nothing is written if anything is not as it is remembered, or as it was read. Then there is nothing to say.
pub(crate) async fn write(
    connection: &mut PgConnection,
    timeline: Timeline,
    items: &[&Item],
    known: &Known,
) -> Result<Option<Tried>, WriteError> {
    if let Some(now) = known.clock.now()
        && let Some(loaded) = known.recent.loaded(items)
    {
        let seen = loaded.seen();
        let plan = plan::plan(items, loaded, now, rand::random)?;
        if is_all_written(&plan)
            && let Some(written) =
                write_plan(connection, timeline, plan, &seen, known, is_wrong_guess).await?
        {
            return Ok(Some(written));
        }
    }
    known.recent.forget(items);
    let (plan, seen) = match look(connection, timeline, items, known).await? {
        Looked::At(plan, seen) => (plan, seen),
        Looked::OtherVersion(sessions) => return Ok(Some(Tried::OtherVersion(sessions))),
    };
    write_plan(connection, timeline, plan, &seen, known, is_conflict).await
}

async fn write_plan(
    connection: &mut PgConnection,
    timeline: Timeline,
    plan: Plan,
    seen: &HashMap<SessionId, Seen>,
    known: &Known,
    is_conflict: fn(&sqlx::Error) -> bool,
) -> Result<Option<Tried>, WriteError> {
    let stored = match plan.sessions.is_empty() {
        true => Ok(()),
        false => store(connection, &plan, seen).await,
    };
    let written: Vec<_> = plan.results.into_iter().map(|result| Written::Done(Box::new(result))).collect();
    match stored {
        Ok(()) => {
            known.wrote(timeline, &plan.sessions, &written)?;
            known.recent.keep(plan.sessions);
            Ok(Some(Tried::Written(written)))
        }
        Err(error) if is_conflict(&error) => Ok(None),
        // The same statement commits.
        Err(error) => Err(WriteError::in_commit(error, &written)),
    }
}

/// With the heads locked: for batches that met somebody else, and for those of which something may be written already.
/// Those whose head somebody else holds are left out, or waited for.
pub(crate) async fn write_locked(
    connection: &mut PgConnection,
    timeline: Timeline,
    items: &[&Item],
    patience: Patience,
    known: &Known,
) -> Result<Vec<Written>, WriteError> {
    known.recent.forget(items);
    sqlx::raw_sql("BEGIN").execute(&mut *connection).await?;
    let written_to: BTreeSet<SessionId> = items.iter().map(|item| item.session).collect();
    let read = plan::sessions(items).difference(&written_to).copied().collect();
    let (write, share) = match patience {
        Patience::Skip => (LOCK_HEADS, SHARE_HEADS),
        Patience::Wait => (WAIT_FOR_HEADS, WAIT_TO_SHARE),
    };
    let mut held = lock_heads(connection, write, written_to).await?;
    held.extend(lock_heads(connection, share, read).await?);
    let mut is_free = |item: &Item| {
        let read_by_it = item.command.reads();
        let waits = held.contains(&item.session) || read_by_it.is_some_and(|read| held.contains(&read));
        if waits {
            // What follows it in its session waits with it.
            held.insert(item.session);
        }
        !waits
    };
    let (indexes, ours): (Vec<usize>, Vec<&Item>) =
        items.iter().copied().enumerate().filter(|(_, item)| is_free(item)).unzip();
    let (plan, seen) = loop {
        match look(connection, timeline, &ours, known).await? {
            Looked::At(plan, seen) => break (plan, seen),
            // A node of that version came in between. Now none can.
            Looked::OtherVersion(sessions) => {
                for session in sessions {
                    // One that was opened only now is nobody's yet.
                    sqlx::query(LOCK_HEAD).bind(session.uuid()).execute(&mut *connection).await?;
                    refold::refold_locked(&mut Lent(connection), LANGUAGE, session).await?;
                }
            }
        }
    };
    let mut written: Vec<_> = items.iter().map(|_| Written::Busy).collect();
    if !plan.sessions.is_empty() {
        match store(connection, &plan, &seen).await {
            Ok(()) => {}
            // Another node opened a session since we saw that there was none.
            Err(error) if is_conflict(&error) => {
                sqlx::raw_sql("ROLLBACK").execute(connection).await?;
                return Ok(written);
            }
            Err(error) => return Err(error.into()),
        }
    }
    for (index, result) in indexes.into_iter().zip(plan.results) {
        written[index] = Written::Done(Box::new(result));
    }
    match sqlx::raw_sql("COMMIT").execute(connection).await {
        Ok(_) => {
            known.wrote(timeline, &plan.sessions, &written)?;
            Ok(written)
        }
        Err(error) => Err(WriteError::in_commit(error, &written)),
    }
}

/// Returns those of the sessions that exist and whose head another writer holds.
async fn lock_heads(
    connection: &mut PgConnection,
    sql: &'static str,
    mut missing: BTreeSet<SessionId>,
) -> Result<HashSet<SessionId>, WriteError> {
    if missing.is_empty() {
        return Ok(HashSet::new());
    }
    let locked: Vec<Uuid> = sqlx::query_scalar(sql).bind(ids(&missing)).fetch_all(&mut *connection).await?;
    for id in locked {
        missing.remove(&SessionId::from_uuid(id));
    }
    if missing.is_empty() {
        return Ok(HashSet::new());
    }
    let exist = sqlx::query_scalar("SELECT id FROM sessions WHERE id = ANY($1)").bind(ids(&missing));
    Ok(exist.fetch_all(connection).await?.into_iter().map(SessionId::from_uuid).collect())
}

fn ids(sessions: &BTreeSet<SessionId>) -> Vec<Uuid> {
    sessions.iter().map(|id| id.uuid()).collect()
}

enum Looked {
    At(Plan, HashMap<SessionId, Seen>),
    /// Another version wrote the state of these.
    OtherVersion(Vec<SessionId>),
}

/// Reads what the batch is decided on, and decides it.
async fn look(
    connection: &mut PgConnection,
    timeline: Timeline,
    items: &[&Item],
    known: &Known,
) -> Result<Looked, WriteError> {
    let mut loaded = Loaded::default();
    let Wanted { asks, undelivered, live } = Wanted::by(items);
    let rows = sqlx::query(LOOK)
        .bind(ids(&plan::sessions(items)))
        .bind(asks.into_iter().map(InteractionId::uuid).collect::<Vec<_>>())
        .bind(ids(&undelivered))
        .bind(ids(&live))
        .fetch_all(&mut *connection)
        .await?;
    let (mut now, mut asks, mut others) = (Timestamp::from_micros(0), Vec::new(), Vec::new());
    for row in rows.into_iter().map(Row::Postgres) {
        match (row.maybe_id("id")?, row.maybe_id("session_id")?) {
            (None, _) => now = decode::moment(&row, "last_at")?,
            (Some(_), Some(_)) => asks.push(row),
            (Some(id), None) if decode::other_version(&row)?.is_some() => {
                others.push(SessionId::from_uuid(id));
            }
            (Some(_), None) => {
                let (id, head) = decode::head(&row)?;
                loaded.heads.insert(id, head);
            }
        }
    }
    known.clock.set(now);
    if !others.is_empty() {
        return Ok(Looked::OtherVersion(others));
    }
    for row in asks {
        loaded.asks.push(decode::loaded_ask(&row)?);
    }
    loaded.found = found(connection, items).await?;
    // Whoever is refused on what another server had is asked to try again.
    known
        .seen
        .saw(timeline, loaded.heads.iter().map(Place::from))
        .map_err(|ended| WriteError::Away(Arc::new(ended)))?;
    let seen = loaded.seen();
    Ok(Looked::At(plan::plan(items, loaded, now, rand::random)?, seen))
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

/// Where each is at its best: the owner and the order by time are either those of an index or, with `|| ''` and `+ 0`, of
/// none. `OFFSET 0` keeps the server from beginning with all sessions, which it takes for few before it has counted them.
macro_rules! find {
    ($owner:literal, $at:literal) => {
        concat!(
            "SELECT f.session_id AS id, f.session_id, f.seq, f.kind, f.at, f.interaction_id, f.text, s.title, \
             s.state_version FROM (SELECT session_id, seq, kind, at, interaction_id, text, ",
            $at,
            " AS place FROM search WHERE ",
            $owner,
            " = $1 AND array_to_tsvector(string_to_array(words, ' ')) @@ $2::text::tsquery AND (",
            $at,
            ", session_id, seq) < ($3, $4, $5) ORDER BY place DESC, session_id DESC, seq DESC OFFSET 0) f \
             JOIN sessions s ON s.id = f.session_id AND s.erased_at IS NULL AND s.listed \
             ORDER BY f.place DESC, f.session_id DESC, f.seq DESC LIMIT $6"
        )
    };
}

pub(crate) const FIND_COMMON: &str = find!("owner", "at");
pub(crate) const COUNT_FOUND: &str = "SELECT count(*) FROM (SELECT 1 FROM search \
    WHERE array_to_tsvector(string_to_array(words, ' ')) @@ $1::text::tsquery LIMIT $2) AS few";

pub(crate) const LANGUAGE: Language = Language {
    find: find!("owner || ''", "at + 0"),
    add: "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session_id, seq) DO NOTHING",
    add_words: None,
    vocabulary: None,
    beginning: ":*",
    quote: '\'',
    and: " & ",
    or: " | ",
};
