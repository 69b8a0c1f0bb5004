//! What a controlling database knows of the others: which they are, and which of them has what.

use std::time::Duration;

use holdstead_protocol::ShardTag;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::postgres::Postgres;
use crate::postgres_write::now;
use crate::shard_map::{DatabaseNumber, Placed, ShardMap, TagRange};
use crate::{Member, StoreError};

/// What a database calls itself, in its table `keys`.
const OWN_NAME: &str = "database";
const OWN_ID: &str = "SELECT fingerprint FROM keys WHERE name = $1";
const ADD_OWN_ID: &str = "INSERT INTO keys (name, fingerprint) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
const IS_ONE_OF_SEVERAL: &str =
    "SELECT EXISTS (SELECT 1 FROM keys WHERE name = $1) OR EXISTS (SELECT 1 FROM shard_databases)";
const HAS_SESSIONS: &str = "SELECT EXISTS (SELECT 1 FROM sessions)";
const VERSION: &str = "SELECT version FROM shard_map";
/// Held to the end: the ranges are changed by one at a time.
const LOCK_VERSION: &str = "SELECT version FROM shard_map FOR UPDATE";
const COUNT_UP: &str = "UPDATE shard_map SET version = version + 1 RETURNING version";
const DATABASES: &str = "SELECT id FROM shard_databases ORDER BY number";
const ADD_DATABASES: &str =
    "INSERT INTO shard_databases (number, id) SELECT * FROM UNNEST($1::bigint[], $2::uuid[])";
const RANGES: &str = "SELECT first, last, database, moving_to FROM shards ORDER BY first";
const DROP_RANGES: &str = "DELETE FROM shards";
const ADD_RANGES: &str = "INSERT INTO shards (first, last, database, moving_to) \
     SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])";
const CONFIRM: &str = "UPDATE nodes SET shard_map = $3 WHERE id = $1 AND epoch = $2 AND shard_map <> $3";
const UNCONFIRMED: &str =
    concat!("SELECT count(*) FROM nodes WHERE shard_map < $1 AND seen_at > ", now!(), " - $2");

/// What is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// By their numbers.
    pub(crate) databases: Vec<Uuid>,
    pub(crate) map: ShardMap,
}

/// What a database that is one of several calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnId {
    pub(crate) id: Uuid,
    /// As the one that controls it is told apart by.
    pub(crate) deployment: Uuid,
}

pub(crate) async fn own_id(db: &Postgres) -> Result<Option<OwnId>, StoreError> {
    let id = sqlx::query_scalar(OWN_ID).bind(OWN_NAME).fetch_optional(db.pool());
    let id: Option<Vec<u8>> = db.seen.unless_refused(id).await?;
    let bad = || StoreError::corrupt("a database's own name");
    let Some(id) = id else { return Ok(None) };
    let (id, deployment) = id.split_at_checked(16).ok_or_else(bad)?;
    let [id, deployment] = [id, deployment].map(|bytes| Uuid::from_slice(bytes).map_err(|_| bad()));
    Ok(Some(OwnId { id: id?, deployment: deployment? }))
}

/// From now on it is one of several. Whoever was faster has named it.
pub(crate) async fn make_own_id(db: &Postgres, deployment: Uuid) -> Result<Uuid, StoreError> {
    let new = [*Uuid::new_v4().as_bytes(), *deployment.as_bytes()].concat();
    let add = sqlx::query(ADD_OWN_ID).bind(OWN_NAME).bind(new).execute(db.pool());
    db.seen.unless_refused(add).await?;
    let own = own_id(db).await?.map(|own| own.id);
    own.ok_or_else(|| StoreError::corrupt("a database without its own name"))
}

/// Whether it controls others, or is one of those that another one controls.
pub(crate) async fn is_one_of_several(db: &Postgres) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar(IS_ONE_OF_SEVERAL).bind(OWN_NAME).fetch_one(db.pool());
    db.seen.unless_refused(query).await
}

pub(crate) async fn has_sessions(db: &Postgres) -> Result<bool, StoreError> {
    db.seen.unless_refused(sqlx::query_scalar(HAS_SESSIONS).fetch_one(db.pool())).await
}

pub(crate) async fn version(control: &Postgres) -> Result<i64, StoreError> {
    control.seen.unless_refused(sqlx::query_scalar(VERSION).fetch_one(control.pool())).await
}

/// `None` before the first gateway began with several.
pub(crate) async fn load(control: &Postgres) -> Result<Option<Table>, StoreError> {
    let mut transaction = control.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let version = sqlx::query_scalar(VERSION).fetch_one(&mut *transaction).await?;
    let table = read(&mut transaction, version).await?;
    transaction.commit().await?;
    Ok(table)
}

async fn read(connection: &mut PgConnection, version: i64) -> Result<Option<Table>, StoreError> {
    let databases: Vec<Uuid> = sqlx::query_scalar(DATABASES).fetch_all(&mut *connection).await?;
    if databases.is_empty() {
        return Ok(None);
    }
    let rows = sqlx::query(RANGES).fetch_all(connection).await?;
    let placed = rows.iter().map(to_placed).collect::<Result<Vec<_>, _>>()?;
    let map = ShardMap::new(version, placed)
        .ok_or_else(|| StoreError::corrupt("the ranges of the shards leave some out, or overlap"))?;
    Ok(Some(Table { databases, map }))
}

/// The first gateway says which they are and which has what. Another one may have been faster.
pub(crate) async fn begin(
    control: &Postgres,
    databases: &[Uuid],
    placed: &[Placed],
) -> Result<(), StoreError> {
    let mut transaction = control.transaction("BEGIN").await?;
    let version: i64 = sqlx::query_scalar(LOCK_VERSION).fetch_one(&mut *transaction).await?;
    if read(&mut transaction, version).await?.is_none() {
        add_databases(&mut transaction, 1, databases).await?;
        replace(&mut transaction, placed).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// One more at the end of the list, with nothing in it.
pub(crate) async fn add(control: &Postgres, databases: &[Uuid]) -> Result<(), StoreError> {
    let mut transaction = control.transaction("BEGIN").await?;
    let version: i64 = sqlx::query_scalar(LOCK_VERSION).fetch_one(&mut *transaction).await?;
    let known = read(&mut transaction, version).await?.map_or(0, |table| table.databases.len());
    add_databases(&mut transaction, known + 1, databases).await?;
    Ok(transaction.commit().await?)
}

/// Changes the ranges. `None`: there are none yet.
pub(crate) async fn change(
    control: &Postgres,
    change: impl FnOnce(&ShardMap) -> Result<Vec<Placed>, StoreError> + Send,
) -> Result<ShardMap, StoreError> {
    let mut transaction = control.transaction("BEGIN").await?;
    let version: i64 = sqlx::query_scalar(LOCK_VERSION).fetch_one(&mut *transaction).await?;
    let table = read(&mut transaction, version).await?;
    let table =
        table.ok_or_else(|| StoreError::Shards { what: "this database controls no others".to_owned() })?;
    let placed = change(&table.map)?;
    let version = replace(&mut transaction, &placed).await?;
    transaction.commit().await?;
    ShardMap::new(version, placed).ok_or_else(|| StoreError::corrupt("ranges that leave some out"))
}

async fn add_databases(
    connection: &mut PgConnection,
    first: usize,
    databases: &[Uuid],
) -> Result<(), StoreError> {
    let numbers: Vec<i64> = (first..first + databases.len()).map(to_int).collect();
    sqlx::query(ADD_DATABASES).bind(numbers).bind(databases).execute(connection).await?;
    Ok(())
}

async fn replace(connection: &mut PgConnection, placed: &[Placed]) -> Result<i64, StoreError> {
    let of = |value: fn(&Placed) -> i64| placed.iter().map(value).collect::<Vec<_>>();
    let moving: Vec<_> = placed.iter().map(|placed| placed.moving_to.map(|to| to_int(to.0))).collect();
    sqlx::query(DROP_RANGES).execute(&mut *connection).await?;
    let add = sqlx::query(ADD_RANGES)
        .bind(of(|placed| placed.range.first.0.into()))
        .bind(of(|placed| placed.range.last.0.into()))
        .bind(of(|placed| to_int(placed.database.0)))
        .bind(moving);
    add.execute(&mut *connection).await?;
    Ok(sqlx::query_scalar(COUNT_UP).fetch_one(connection).await?)
}

/// This node goes by this version from now on.
pub(crate) async fn confirm(control: &Postgres, member: Member, version: i64) -> Result<(), StoreError> {
    let confirm = sqlx::query(CONFIRM).bind(member.id.uuid()).bind(member.epoch).bind(version);
    control.seen.unless_refused(confirm.execute(control.pool())).await.map(drop)
}

/// How many nodes that may still serve go by an earlier version.
pub(crate) async fn unconfirmed(
    control: &Postgres,
    version: i64,
    may_serve_for: Duration,
) -> Result<i64, StoreError> {
    let micros = i64::try_from(may_serve_for.as_micros()).unwrap_or(i64::MAX);
    let count = sqlx::query_scalar(UNCONFIRMED).bind(version).bind(micros).fetch_one(control.pool());
    control.seen.unless_refused(count).await
}

fn to_placed(row: &PgRow) -> Result<Placed, StoreError> {
    let tag = |column| -> Result<ShardTag, StoreError> {
        let tag: i64 = row.try_get(column)?;
        u16::try_from(tag).map(ShardTag).map_err(|_| StoreError::corrupt("a tag of a shard"))
    };
    let number = |number: i64| usize::try_from(number).map(DatabaseNumber).unwrap_or(DatabaseNumber(0));
    Ok(Placed {
        range: TagRange { first: tag("first")?, last: tag("last")? },
        database: number(row.try_get("database")?),
        moving_to: row.try_get::<Option<i64>, _>("moving_to")?.map(number),
    })
}

fn to_int(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
