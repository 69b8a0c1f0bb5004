//! Moves the sessions of a range to another database. They can be read all the while, and written before and after.
//!
//! No node needs to be told in time: the database that they leave refuses to be written for them, by a constraint of its
//! tables, from before the first is copied. So whatever was written is copied, and whoever comes too late is told so. They are
//! written again when every node reads them where they are then.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPoolCopyExt as _};
use sqlx::{AssertSqlSafe, Row as _};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::error::HERE;
use crate::postgres::Postgres;
use crate::shard_map::{DatabaseNumber, TagRange};
use crate::sharded::Sharded;
use crate::{Cluster as _, Heads, Journal as _, StoreError, shard_table};

/// The tag in the id of a session, as `ShardTag` has it.
macro_rules! tag {
    ($id:literal) => {
        concat!("((get_byte(uuid_send(", $id, "), 12) << 8) | get_byte(uuid_send(", $id, "), 13))")
    };
}

/// The tables that say whose they are, and how: nothing is written to the others without the first. What was signed stays in
/// the rounds that list it.
const FENCED: [(&str, &str, &str); 3] = [
    ("sessions", tag!("id"), "false"),
    ("secrets", tag!("session_id"), "false"),
    ("checkpoints", tag!("session_id"), "round IS NOT NULL"),
];
/// What moves, and the column that names the session.
const MOVED: [(&str, &str); 5] = [
    ("sessions", "id"),
    ("events", "session_id"),
    ("asks", "session_id"),
    ("search", "session_id"),
    ("secrets", "session_id"),
];
const SOME: &str = concat!(
    "SELECT id FROM sessions WHERE id > $1 AND ",
    tag!("id"),
    " BETWEEN $2 AND $3 ORDER BY id LIMIT $4"
);
const SUM: &str = concat!(
    "SELECT count(*) AS sessions, coalesce(sum(last_seq), 0)::bigint AS events FROM sessions WHERE ",
    tag!("id"),
    " BETWEEN $1 AND $2"
);
const COLUMNS: &str = "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute \
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped";
/// Until the transaction ends. The name is the whole database's, so it has the schema's in it.
const ALONE: &str =
    "SELECT pg_try_advisory_xact_lock(hashtext('holdstead shards'), hashtext(current_schema()))";

/// How many sessions are copied in one transaction.
const PAGE: i64 = 64;
/// How long everybody who writes waits, at most, for somebody who reads long. Then it is tried again.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '1s'";
const LOCK_TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(200);

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub sessions: u64,
    pub events: u64,
    /// How long nothing could be written to them.
    pub read_only: Duration,
}

impl Sharded {
    /// Moves what is in this range there. Interrupted, it goes on where it stopped when it is called again.
    pub async fn move_range(&self, range: TagRange, to: DatabaseNumber) -> Result<Moved, StoreError> {
        // Held to the end.
        let mut turn = self.control().transaction("BEGIN").await?;
        if !sqlx::query_scalar::<_, bool>(ALONE).fetch_one(&mut *turn).await? {
            return Err(refused("somebody else is moving shards now: wait until that is done"));
        }
        let moved = self.move_alone(range, to).await;
        turn.rollback().await?;
        moved
    }

    async fn move_alone(&self, range: TagRange, to: DatabaseNumber) -> Result<Moved, StoreError> {
        let target = &self.inner.shard(to)?.store()?.db;
        let began = Instant::now();
        let map = shard_table::change(self.control(), |map| {
            let other = map.placed().iter().find(|placed| {
                placed.moving_to.is_some_and(|moving| moving != to || !covers(range, placed.range))
            });
            match other.and_then(|other| Some((other.range, other.moving_to?))) {
                Some((range, to)) => Err(refused(format!(
                    "{range} is on its way to database {to}: finish that first, with `holdstead shards move {range} {to}`"
                ))),
                None => Ok(map.moving(range, to)),
            }
        })
        .await?;
        let moving: Vec<(TagRange, DatabaseNumber)> = map
            .placed()
            .iter()
            .filter(|placed| placed.moving_to == Some(to) && placed.database != to)
            .map(|placed| (placed.range, placed.database))
            .collect();
        self.inner.follow(map.clone());
        let mut moved = Moved::default();
        if !moving.is_empty() {
            fence(target, &map.written_in(to)).await?;
        }
        for (range, from) in &moving {
            let source = &self.inner.shard(*from)?.store()?.db;
            fence(source, &map.written_in(*from)).await?;
            copy_all(source, target, *range).await?;
            let (there, here) = (sum(source, *range).await?, sum(target, *range).await?);
            if there != here {
                return Err(StoreError::corrupt(format!(
                    "{range} has {} sessions in database {from}, and {} of them arrived in {to}",
                    there.0, here.0
                )));
            }
            moved.sessions += here.0;
            moved.events += here.1;
        }
        // Nothing is written there before every node reads there: one that looks where they were would not find it.
        let copied = shard_table::change(self.control(), |map| Ok(map.copied(range))).await?;
        self.inner.follow(copied.clone());
        while shard_table::unconfirmed(self.control(), copied.version, self.silent_after()).await? > 0 {
            sleep(PAUSE).await;
        }
        let map = shard_table::change(self.control(), |map| Ok(map.arrived(range))).await?;
        self.inner.follow(map);
        moved.read_only = if moving.is_empty() { Duration::ZERO } else { began.elapsed() };
        for shard in self.inner.data.iter().filter(|shard| shard.number != to) {
            drop_all(&shard.store()?.db, range).await?;
        }
        match self.inner.shard(to)?.store()?.checkpoint(Heads::All).await {
            // Whoever has no key leaves it to the gateways.
            Ok(_) | Err(StoreError::NoKey) => Ok(moved),
            Err(error) => Err(error),
        }
    }
}

fn refused(what: impl Into<String>) -> StoreError {
    StoreError::Shards { what: what.into() }
}

fn covers(range: TagRange, inner: TagRange) -> bool {
    range.first <= inner.first && inner.last <= range.last
}

/// From now on the database takes nothing that is not in these ranges; what was begun before is finished before. What is
/// there already may stay.
async fn fence(db: &Postgres, here: &[TagRange]) -> Result<(), StoreError> {
    for (table, tag, exempt) in FENCED {
        let within: Vec<String> = here
            .iter()
            .map(|range| format!("OR {tag} BETWEEN {} AND {}", range.first.0, range.last.0))
            .collect();
        let drop = format!("ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {HERE}");
        let add = format!(
            "ALTER TABLE {table} ADD CONSTRAINT {HERE} CHECK ({exempt} {}) NOT VALID",
            within.join(" ")
        );
        let mut tries = 0;
        loop {
            match fence_table(db, &drop, &add).await {
                Err(error) if is_lock_timeout(&error) && tries < LOCK_TRIES => tries += 1,
                fenced => break fenced?,
            }
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

async fn fence_table(db: &Postgres, drop: &str, add: &str) -> Result<(), StoreError> {
    let mut transaction = db.transaction("BEGIN").await?;
    for sql in [LOCK_TIMEOUT, drop, add] {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

fn is_lock_timeout(error: &StoreError) -> bool {
    let StoreError::Refused { source } = error else { return false };
    let error = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    error.is_some_and(|error| error.code().as_deref() == Some("55P03"))
}

/// Sessions, and their events.
async fn sum(db: &Postgres, range: TagRange) -> Result<(u64, u64), StoreError> {
    let query = sqlx::query(SUM).bind(i32::from(range.first.0)).bind(i32::from(range.last.0));
    let row = db.seen.unless_refused(query.fetch_one(db.pool())).await?;
    let count = |column| -> Result<u64, StoreError> {
        Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
    };
    Ok((count("sessions")?, count("events")?))
}

async fn some(db: &Postgres, range: TagRange, after: Uuid) -> Result<Vec<Uuid>, StoreError> {
    let query = sqlx::query_scalar(SOME).bind(after).bind(i32::from(range.first.0));
    let query = query.bind(i32::from(range.last.0)).bind(PAGE);
    db.seen.unless_refused(query.fetch_all(db.pool())).await
}

async fn copy_all(source: &Postgres, target: &Postgres, range: TagRange) -> Result<(), StoreError> {
    let mut after = Uuid::nil();
    loop {
        let page = some(source, range, after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = *last;
        copy(source, target, &page).await?;
    }
}

/// In one transaction, with nothing left of an earlier try.
async fn copy(source: &Postgres, target: &Postgres, sessions: &[Uuid]) -> Result<(), StoreError> {
    let mut transaction = target.transaction("BEGIN").await?;
    drop_rows(&mut transaction, sessions).await?;
    for (table, id) in MOVED {
        let columns = columns(source, table).await?;
        let select = format!("SELECT {columns} FROM {table} WHERE {id} {}", is_one_of(sessions));
        copy_rows(source, &select, &mut transaction, table, &columns).await?;
    }
    // Those that were there once before are in rounds of that database.
    let columns = columns(source, "checkpoints").await?;
    let unlisted = columns.replace("round", "NULL::bigint AS round");
    let select = format!("SELECT {unlisted} FROM checkpoints WHERE session_id {}", is_one_of(sessions));
    let run = "CREATE TEMP TABLE arriving (LIKE checkpoints) ON COMMIT DROP";
    sqlx::raw_sql(run).execute(&mut *transaction).await?;
    copy_rows(source, &select, &mut transaction, "arriving", &columns).await?;
    let add = format!(
        "INSERT INTO checkpoints ({columns}) SELECT {columns} FROM arriving ON CONFLICT (session_id, number) DO NOTHING"
    );
    sqlx::raw_sql(AssertSqlSafe(add)).execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

async fn columns(db: &Postgres, table: &str) -> Result<String, StoreError> {
    let query = sqlx::query_scalar(COLUMNS).bind(table);
    let columns: Option<String> = db.seen.unless_refused(query.fetch_one(db.pool())).await?;
    columns.ok_or_else(|| StoreError::corrupt(format!("there is no table {table}")))
}

/// As the server writes them, without looking into them.
async fn copy_rows(
    source: &Postgres,
    select: &str,
    target: &mut PgConnection,
    table: &str,
    columns: &str,
) -> Result<(), StoreError> {
    use futures_util::TryStreamExt as _;
    let out = format!("COPY ({select}) TO STDOUT (FORMAT binary)");
    let mut rows = source.seen.unless_refused(source.pool().copy_out_raw(&out)).await?;
    let into = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
    let mut sink = target.copy_in_raw(&into).await?;
    loop {
        match rows.try_next().await {
            Ok(Some(bytes)) => drop(sink.send(bytes).await?),
            Ok(None) => break,
            Err(error) => {
                sink.abort("the rows did not all come").await?;
                return Err(error.into());
            }
        }
    }
    sink.finish().await?;
    Ok(())
}

async fn drop_all(db: &Postgres, range: TagRange) -> Result<(), StoreError> {
    loop {
        let page = some(db, range, Uuid::nil()).await?;
        if page.is_empty() {
            return Ok(());
        }
        let mut transaction = db.transaction("BEGIN").await?;
        drop_rows(&mut transaction, &page).await?;
        transaction.commit().await?;
    }
}

async fn drop_rows(connection: &mut PgConnection, sessions: &[Uuid]) -> Result<(), StoreError> {
    for (table, id) in MOVED {
        let sql = format!("DELETE FROM {table} WHERE {id} = ANY($1)");
        sqlx::query(AssertSqlSafe(sql)).bind(sessions).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Nobody outside writes any of it: it is digits.
fn is_one_of(sessions: &[Uuid]) -> String {
    let ids: Vec<String> = sessions.iter().map(|id| format!("'{id}'")).collect();
    format!("IN ({})", ids.join(", "))
}
