//! Several databases as one journal: one controls (nodes, runners, people, tokens, and which database has what), the others
//! have the sessions of their owners. Where something is follows from the tag in its id.
//!
//! They share nothing: what one cannot do for want of its database costs the owners of the others nothing.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use holdstead_protocol::ShardTag;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::shard_map::{DatabaseNumber, Placed, ShardMap};
use crate::{Cluster as _, Journal as _, Notary, PostgresJournal, StoreError, shard_table, without_secret};

/// How often it is looked for what was moved, and for databases that could not be reached.
const LOOK: Duration = Duration::from_secs(1);

/// A journal on several PostgreSQL databases.
#[derive(Debug)]
pub struct Sharded {
    pub(crate) inner: Arc<Inner>,
    looking: AbortHandle,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) control: Arc<PostgresJournal>,
    /// In the order of the settings.
    pub(crate) data: Vec<Shard>,
    map: RwLock<Arc<ShardMap>>,
    notary: OnceLock<Notary>,
}

/// One of the databases with sessions in it.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) number: DatabaseNumber,
    url: String,
    lanes: usize,
    id: Uuid,
    /// Empty until it could be reached and is the one that it should be.
    store: OnceLock<Arc<PostgresJournal>>,
    why_not: RwLock<Option<StoreError>>,
}

/// What to do with databases at the end of the list that are not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewDatabases {
    Refused,
    /// They are written down.
    Added,
}

impl Sharded {
    /// Opens them. The first gateway that comes says which they are; later ones must have the same list.
    pub async fn open(control: &str, data: &[String], new: NewDatabases) -> Result<Self, StoreError> {
        check(control, data)?;
        // One batcher for each: they are several already, and small batches cost more.
        let lanes = if data.len() > 1 { 1 } else { crate::postgres::LANES };
        let is_both = data.iter().any(|url| url == control);
        let control_lanes = if is_both { lanes } else { 1 };
        let own = Arc::new(PostgresJournal::open_lanes(control, control_lanes).await?);
        let mut opened = Vec::new();
        for url in data {
            opened.push(match url == control {
                true => Ok(Arc::clone(&own)),
                false => PostgresJournal::open_lanes(url, lanes).await.map(Arc::new),
            });
        }
        let table = match shard_table::load(&own.db).await? {
            Some(table) => table,
            None => begin(&own, &opened).await?,
        };
        let table = match new {
            NewDatabases::Added if opened.len() > table.databases.len() => {
                add(&own, &opened[table.databases.len()..], table.databases.len()).await?
            }
            NewDatabases::Added | NewDatabases::Refused => table,
        };
        let (known, listed) = (table.databases.len(), data.len());
        if known != listed {
            return Err(StoreError::Shards { what: lengths(known, listed) });
        }
        let mut shards = Vec::new();
        for (index, ((url, id), opened)) in data.iter().zip(table.databases).zip(opened).enumerate() {
            let number = DatabaseNumber(index + 1);
            let (store, why_not) = (OnceLock::new(), RwLock::default());
            let shard = Shard { number, url: url.clone(), lanes, id, store, why_not };
            match opened {
                Ok(store) => shard.take(store).await?,
                Err(error) if error.is_away() => {
                    tracing::error!(database = %number, %error, "a database cannot be reached: its owners wait");
                    shard.note(error);
                }
                Err(error) => return Err(error),
            }
            shards.push(shard);
        }
        let inner = Arc::new(Inner {
            control: own,
            data: shards,
            map: RwLock::new(Arc::new(table.map.clone())),
            notary: OnceLock::new(),
        });
        inner.follow(table.map);
        let looking = tokio::spawn(look(Arc::clone(&inner))).abort_handle();
        Ok(Self { inner, looking })
    }

    /// Which database has what.
    pub fn map(&self) -> Arc<ShardMap> {
        self.inner.map()
    }

    /// Each with its address, which has no password in it, and why it is not used now.
    pub fn databases(&self) -> Vec<(DatabaseNumber, String, Option<StoreError>)> {
        let shown = |shard: &Shard| (shard.number, without_secret(&shard.url), shard.store().err());
        self.inner.data.iter().map(shown).collect()
    }

    pub(crate) fn stop_looking(&self) {
        self.looking.abort();
    }
}

impl Drop for Sharded {
    fn drop(&mut self) {
        self.stop_looking();
    }
}

/// Only PostgreSQL, and none twice.
fn check(control: &str, data: &[String]) -> Result<(), StoreError> {
    let is_postgres = |url: &str| url.starts_with("postgres:") || url.starts_with("postgresql:");
    for url in std::iter::once(control).chain(data.iter().map(String::as_str)) {
        if !is_postgres(url) {
            let why = "several databases are PostgreSQL, all of them".to_owned();
            return Err(StoreError::BadUrl { url: without_secret(url), why });
        }
    }
    if data.is_empty() {
        let what = "the settings list no database for sessions: name at least one in `data`".to_owned();
        return Err(StoreError::Shards { what });
    }
    if let Some((_, twice)) = data.iter().enumerate().find(|(index, url)| data[..*index].contains(url)) {
        let what = format!("the settings list {} twice", without_secret(twice));
        return Err(StoreError::Shards { what });
    }
    Ok(())
}

fn lengths(known: usize, listed: usize) -> String {
    let change = match listed > known {
        true => "A new one goes to the end of the list, and `holdstead shards add` takes it in",
        false => "None can be left out: put the list back as it was",
    };
    format!("the settings list {listed} databases for sessions, and this deployment has {known}. {change}")
}

/// The first gateway: where there are sessions already they stay, else every database gets as much as the others.
async fn begin(
    control: &PostgresJournal,
    opened: &[Result<Arc<PostgresJournal>, StoreError>],
) -> Result<shard_table::Table, StoreError> {
    let deployment = control.db.deployment().await?;
    let mut full = Vec::new();
    for (index, store) in opened.iter().enumerate() {
        let store = store.as_ref().map_err(Clone::clone)?;
        // Another gateway may be about to write the same down, or was killed before it could.
        if shard_table::own_id(&store.db).await?.is_some_and(|own| own.deployment != deployment) {
            let what = format!("database {} of the list belongs to another deployment already", index + 1);
            return Err(StoreError::Shards { what });
        }
        if shard_table::has_sessions(&store.db).await? {
            full.push(DatabaseNumber(index + 1));
        }
    }
    let placed: Vec<Placed> = match full.as_slice() {
        [] => ShardMap::even(opened.len()),
        [one] => ShardMap::whole(*one),
        [..] => {
            let what = "more than one database of the list has sessions, and nobody knows which belong where: begin with \
                        one that has some, and empty ones";
            return Err(StoreError::Shards { what: what.to_owned() });
        }
    };
    let mut ids = Vec::new();
    for store in opened.iter().flatten() {
        ids.push(shard_table::make_own_id(&store.db, deployment).await?);
    }
    shard_table::begin(&control.db, &ids, &placed).await?;
    let table = shard_table::load(&control.db).await?;
    table.ok_or_else(|| StoreError::corrupt("shards that were written and are not there"))
}

async fn add(
    control: &PostgresJournal,
    new: &[Result<Arc<PostgresJournal>, StoreError>],
    known: usize,
) -> Result<shard_table::Table, StoreError> {
    let deployment = control.db.deployment().await?;
    let mut ids = Vec::new();
    for (index, store) in new.iter().enumerate() {
        let store = store.as_ref().map_err(Clone::clone)?;
        let number = known + index + 1;
        let is_others = shard_table::own_id(&store.db).await?.is_some_and(|own| own.deployment != deployment);
        if is_others || shard_table::has_sessions(&store.db).await? {
            let what = format!("database {number} of the list is not empty: a new one must be");
            return Err(StoreError::Shards { what });
        }
    }
    for store in new.iter().flatten() {
        ids.push(shard_table::make_own_id(&store.db, deployment).await?);
    }
    shard_table::add(&control.db, &ids).await?;
    let table = shard_table::load(&control.db).await?;
    table.ok_or_else(|| StoreError::corrupt("shards that were written and are not there"))
}

impl Shard {
    pub(crate) fn store(&self) -> Result<&Arc<PostgresJournal>, StoreError> {
        self.store.get().ok_or_else(|| {
            let why = self.why_not.read().unwrap_or_else(PoisonError::into_inner).clone();
            why.unwrap_or_else(|| StoreError::unreachable("it was not reached yet"))
        })
    }

    fn note(&self, error: StoreError) {
        *self.why_not.write().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Uses it, if it is the one of this number.
    async fn take(&self, store: Arc<PostgresJournal>) -> Result<(), StoreError> {
        if shard_table::own_id(&store.db).await?.map(|own| own.id) != Some(self.id) {
            let what = format!(
                "database {} of the settings is not the one that had this number: put the list back as it was. What \
                 belongs where is changed with `holdstead shards move`, and nothing else",
                self.number
            );
            return Err(StoreError::Shards { what });
        }
        self.store.get_or_init(|| store);
        Ok(())
    }

    async fn try_again(&self) -> Result<(), StoreError> {
        let store = PostgresJournal::open_lanes(&self.url, self.lanes).await?;
        self.take(Arc::new(store)).await
    }
}

impl Inner {
    pub(crate) fn map(&self) -> Arc<ShardMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where something with this tag is read.
    pub(crate) fn reads(&self, tag: ShardTag) -> Result<&Arc<PostgresJournal>, StoreError> {
        let map = self.map();
        let placed = map.of(tag).ok_or_else(|| StoreError::corrupt("a tag in no range"))?;
        self.shard(placed.database)?.store()
    }

    /// Where something with this tag is written.
    pub(crate) fn writes(&self, tag: ShardTag) -> Result<&Arc<PostgresJournal>, StoreError> {
        let map = self.map();
        let placed = map.of(tag).ok_or_else(|| StoreError::corrupt("a tag in no range"))?;
        match placed.moving_to {
            Some(_) => Err(StoreError::Moving),
            None => self.shard(placed.database)?.store(),
        }
    }

    pub(crate) fn shard(&self, number: DatabaseNumber) -> Result<&Shard, StoreError> {
        let shard = number.0.checked_sub(1).and_then(|index| self.data.get(index));
        shard.ok_or_else(|| {
            StoreError::unreachable(format!(
                "it is number {number}, which this gateway's settings do not list: restart it with the present list"
            ))
        })
    }

    /// All of them, or why not.
    pub(crate) fn all(&self) -> Result<Vec<&Arc<PostgresJournal>>, StoreError> {
        self.data.iter().map(Shard::store).collect()
    }

    /// Goes by this map from now on.
    pub(crate) fn follow(&self, map: ShardMap) {
        for shard in &self.data {
            if let Ok(store) = shard.store() {
                // What is not there any more is not missing.
                store.db.seen.only(map.read_in(shard.number));
            }
        }
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
    }

    /// Has another one changed it?
    pub(crate) async fn look_at_map(&self) -> Result<(), StoreError> {
        if shard_table::version(&self.control.db).await? == self.map().version {
            return Ok(());
        }
        if let Some(table) = shard_table::load(&self.control.db).await? {
            tracing::info!(version = table.map.version, "the ranges of the shards have changed");
            self.follow(table.map);
        }
        Ok(())
    }

    pub(crate) fn sign_with(&self, notary: Notary) {
        let notary = self.notary.get_or_init(|| notary);
        for shard in &self.data {
            if let Ok(store) = shard.store() {
                store.sign_with(notary.of_database(shard.number));
            }
        }
    }

    async fn reach(&self, shard: &Shard) {
        match shard.try_again().await {
            Ok(()) => {
                tracing::warn!(database = %shard.number, "the database can be reached: it is used from now on");
                self.follow(ShardMap::clone(&self.map()));
                if let (Some(notary), Ok(store)) = (self.notary.get(), shard.store()) {
                    store.sign_with(notary.of_database(shard.number));
                }
            }
            Err(error) => shard.note(error),
        }
    }
}

/// Until the journal is closed.
async fn look(inner: Arc<Inner>) {
    let changes = async {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = inner.look_at_map().await {
                tracing::warn!(%error, "it could not be seen whether shards were moved");
            }
        }
    };
    let reaching = inner.data.iter().filter(|shard| shard.store().is_err()).map(|shard| async {
        while shard.store().is_err() {
            tokio::time::sleep(LOOK).await;
            inner.reach(shard).await;
        }
    });
    let ((), _) = tokio::join!(changes, futures_util::future::join_all(reaching));
}
