//! Several gateways on one PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use holdstead_protocol::{OwnerId, RunnerId, Seq, SessionId};
use sqlx::postgres::{PgListener, PgRow};
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use crate::StoreError;
use crate::cluster::{
    Claimed, Cluster, ConnectedRunner, KeyMatch, KnownRunner, LiveNode, Member, NODE_DEAD_AFTER, NodeId,
    NodeStart, Notices, Roll, RunnerPlace, Speaking, Watcher, WatchersSeen,
};
use crate::error::is_away;
use crate::postgres::{Postgres, pool_of};
use crate::postgres_write::now;
use crate::rows;
use crate::seen::LastSeen;

/// Rows of nodes that were not seen for this long are nobody's any more: a day.
const FORGOTTEN_AFTER_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

const ADD_KEY: &str = "INSERT INTO keys (name, fingerprint) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
const KEY: &str = "SELECT fingerprint FROM keys WHERE name = $1";
// The row of a node that speaks for a runner stays: agents inside that node may still live.
const FORGET_NODES: &str = concat!(
    "DELETE FROM nodes WHERE seen_at < ",
    now!(),
    " - $1 AND NOT EXISTS (SELECT 1 FROM runners WHERE node = nodes.id AND node_epoch = nodes.epoch)"
);
const JOIN: &str = concat!(
    "INSERT INTO nodes (id, name, start, epoch, seen_at, hints) VALUES ($1, $2, $3, 1, ",
    now!(),
    ", 0) ON CONFLICT (id) DO UPDATE SET epoch = nodes.epoch + 1, name = excluded.name, start = excluded.start, seen_at = excluded.seen_at \
     RETURNING epoch"
);
const RENEW: &str = concat!(
    "UPDATE nodes SET hints = $3, seen_at = ",
    now!(),
    " WHERE id = $1 AND epoch = $2 RETURNING epoch"
);
const LIVE: &str =
    concat!("SELECT id, epoch, start, name, hints FROM nodes WHERE seen_at > ", now!(), " - $1 ORDER BY id");
const SPOKEN_FOR: &str = concat!(
    "SELECT r.id, r.node FROM nodes n JOIN runners r ON r.node = n.id AND r.node_epoch = n.epoch WHERE n.seen_at > ",
    now!(),
    " - $1"
);
/// Held to the end, so that no other node declares one of them dead in between. Two nodes that each want the other's place lock
/// both rows in the same order.
const HOLD_NODES: &str = concat!(
    "SELECT id, epoch, name, seen_at > ",
    now!(),
    " - $2 AS lives FROM nodes WHERE id = ANY($1) ORDER BY id FOR UPDATE"
);
const ADD_RUNNER: &str = concat!(
    "INSERT INTO runners (id, name, owner, epoch, instance, seen_at) VALUES ($1, $2, $3, 0, $4, ",
    now!(),
    ") ON CONFLICT (id) DO NOTHING"
);
const LOCK_RUNNER: &str = "SELECT instance, node, node_epoch FROM runners WHERE id = $1 FOR UPDATE";
const DECLARE_DEAD: &str = "UPDATE nodes SET epoch = epoch + 1 WHERE id = $1";
const SPEAK: &str = concat!(
    "UPDATE runners SET epoch = epoch + 1, name = $2, instance = $3, node = $4, node_epoch = $5, agents = $6, seen_at = ",
    now!(),
    " WHERE id = $1 RETURNING epoch"
);
const STOP_SPEAKING: &str = concat!(
    "UPDATE runners SET node = NULL, node_epoch = NULL, seen_at = ",
    now!(),
    " WHERE node = $1 AND node_epoch = $2 AND ($3::uuid IS NULL OR (id = $3 AND epoch = $4))"
);
const RUNNERS_OF: &str = concat!(
    "SELECT r.id, r.name, r.agents, n.id AS node, n.name AS node_name FROM runners r \
     JOIN nodes n ON r.node = n.id AND r.node_epoch = n.epoch WHERE r.owner = $1 AND n.seen_at > ",
    now!(),
    " - $2 ORDER BY r.name"
);
const LEAVE: &str = "DELETE FROM nodes WHERE id = $1 AND epoch = $2";
const CLAIM: &str = concat!(
    "INSERT INTO claims (what, by, node, node_epoch) VALUES ($1, $2, $3, $4) ON CONFLICT (what) DO UPDATE \
     SET by = excluded.by, node = excluded.node, node_epoch = excluded.node_epoch WHERE claims.by = excluded.by OR NOT EXISTS \
     (SELECT 1 FROM nodes WHERE id = claims.node AND epoch = claims.node_epoch AND seen_at > ",
    now!(),
    " - $5) RETURNING what"
);
// With what nodes that are gone had no time to release.
const RELEASE: &str = "DELETE FROM claims WHERE what = $1 AND by = $2 OR NOT EXISTS \
     (SELECT 1 FROM nodes WHERE id = claims.node AND epoch = claims.node_epoch)";
const FORGET_WATCHERS: &str =
    "DELETE FROM watchers WHERE node = $1 OR NOT EXISTS (SELECT 1 FROM nodes WHERE id = watchers.node)";
const ADD_WATCHERS: &str = "INSERT INTO watchers (node, node_epoch, owner, person, client, session, is_on) \
     SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[], $6::uuid[], $7::boolean[])";
const COUNT_SHARED: &str =
    "UPDATE nodes SET watchers = watchers + 1 WHERE id = $1 AND epoch = $2 RETURNING watchers";
const SHARED: &str = concat!(
    "SELECT id, epoch, watchers FROM nodes WHERE id <> $1 AND seen_at > ",
    now!(),
    " - $2 ORDER BY id"
);
const WATCHERS: &str = "SELECT w.owner, w.person, w.client, w.session, w.is_on FROM unnest($1::uuid[], $2::bigint[]) \
     AS n (id, epoch) JOIN watchers w ON w.node = n.id AND w.node_epoch = n.epoch";
const HEADS: &str = "SELECT id, last_seq FROM sessions WHERE id = ANY($1)";
/// Channels are the whole database's, and a schema's name may be too long for one.
const CHANNEL: &str = "SELECT 'holdstead_' || md5(current_schema())";
/// It wakes somebody, and no more: nobody waits for it to be on disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), \
                      pg_notify('holdstead_' || md5(current_schema()), $1)";

fn dead_after() -> i64 {
    i64::try_from(NODE_DEAD_AFTER.as_micros()).unwrap_or(i64::MAX)
}

#[async_trait]
impl Cluster for Postgres {
    async fn match_key(&self, name: &str, fingerprint: &[u8; 32]) -> Result<KeyMatch, StoreError> {
        let mut taken = self.members.take().await?;
        let connection = &mut taken.connection;
        let added = sqlx::query(ADD_KEY).bind(name).bind(&fingerprint[..]).execute(&mut *connection).await?;
        let known: Vec<u8> = sqlx::query_scalar(KEY).bind(name).fetch_one(connection).await?;
        self.members.give_back(taken);
        Ok(match added.rows_affected() {
            0 if known == fingerprint => KeyMatch::Same,
            0 => KeyMatch::Other,
            _ => KeyMatch::First,
        })
    }

    async fn deployment(&self) -> Result<Uuid, StoreError> {
        let mut taken = self.members.take().await?;
        let connection = &mut taken.connection;
        let (name, new) = ("deployment", Uuid::new_v4());
        sqlx::query(ADD_KEY).bind(name).bind(&new.as_bytes()[..]).execute(&mut *connection).await?;
        let known: Vec<u8> = sqlx::query_scalar(KEY).bind(name).fetch_one(connection).await?;
        self.members.give_back(taken);
        Uuid::from_slice(&known).map_err(|_| StoreError::corrupt("the deployment's name"))
    }

    async fn join(&self, node: NodeId, start: NodeStart, name: &str) -> Result<Member, StoreError> {
        let mut taken = self.members.take().await?;
        let connection = &mut taken.connection;
        sqlx::query(FORGET_NODES).bind(FORGOTTEN_AFTER_MICROS).execute(&mut *connection).await?;
        let epoch = sqlx::query_scalar(JOIN)
            .bind(node.uuid())
            .bind(name)
            .bind(start.uuid())
            .fetch_one(connection)
            .await?;
        self.members.give_back(taken);
        Ok(Member { id: node, epoch })
    }

    async fn renew(&self, member: Member, hints: u64) -> Result<Option<Roll>, StoreError> {
        loop {
            let mut taken = self.members.take().await?;
            match renew(&mut taken.connection, member, hints).await {
                Ok(roll) => {
                    self.members.give_back(taken);
                    return Ok(roll);
                }
                // It broke since it was used last.
                Err(StoreError::Unreachable { .. }) if !taken.is_new => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn speak_for(&self, member: Member, runner: &ConnectedRunner) -> Result<Speaking, StoreError> {
        // Dropped in the middle, the connection is closed, and nothing of this was written.
        let mut taken = self.members.take().await?;
        let mut transaction = taken.connection.begin().await?;
        let speaking = speak_for(&mut transaction, member, runner).await?;
        transaction.commit().await?;
        self.members.give_back(taken);
        Ok(speaking)
    }

    async fn stop_speaking_for(
        &self,
        member: Member,
        runner: RunnerId,
        epoch: u64,
    ) -> Result<(), StoreError> {
        let mut taken = self.members.take().await?;
        stop_speaking(&mut taken.connection, member, Some((runner, epoch))).await?;
        self.members.give_back(taken);
        Ok(())
    }

    async fn runners_of(&self, owner: &OwnerId) -> Result<Vec<KnownRunner>, StoreError> {
        let query = sqlx::query(RUNNERS_OF).bind(owner.as_str()).bind(dead_after());
        let rows = self.seen.unless_refused(query.fetch_all(self.pool())).await?;
        rows.iter().map(to_runner).collect()
    }

    async fn leave(&self, member: Member) -> Result<(), StoreError> {
        let mut taken = self.members.take().await?;
        stop_speaking(&mut taken.connection, member, None).await?;
        let leave = sqlx::query(LEAVE).bind(member.id.uuid()).bind(member.epoch);
        leave.execute(&mut taken.connection).await?;
        self.members.give_back(taken);
        Ok(())
    }

    async fn claim(&self, member: Member, what: Uuid, by: Uuid) -> Result<Claimed, StoreError> {
        let claim = sqlx::query(CLAIM).bind(what).bind(by).bind(member.id.uuid()).bind(member.epoch);
        let claim = claim.bind(dead_after()).fetch_optional(self.pool());
        let claimed = self.seen.unless_refused(claim).await?;
        Ok(if claimed.is_some() { Claimed::Here } else { Claimed::Elsewhere })
    }

    async fn release(&self, what: Uuid, by: Uuid) -> Result<(), StoreError> {
        let release = sqlx::query(RELEASE).bind(what).bind(by);
        self.seen.unless_refused(release.execute(self.pool())).await?;
        Ok(())
    }

    async fn share_watchers(&self, member: Member, watchers: &[Watcher]) -> Result<(), StoreError> {
        let mut taken = self.members.take().await?;
        let mut transaction = taken.connection.begin().await?;
        let (id, epoch) = (member.id.uuid(), member.epoch);
        // One that was declared dead says nothing, and a second life of it waits here for the first.
        let counted =
            sqlx::query(COUNT_SHARED).bind(id).bind(epoch).fetch_optional(&mut *transaction).await?;
        if counted.is_some() {
            sqlx::query(FORGET_WATCHERS).bind(id).execute(&mut *transaction).await?;
            let of =
                |text: fn(&Watcher) -> &str| watchers.iter().map(text).map(str::to_owned).collect::<Vec<_>>();
            let sessions: Vec<_> = watchers.iter().map(|one| one.session.map(SessionId::uuid)).collect();
            let on: Vec<_> = watchers.iter().map(|one| one.is_on).collect();
            let add = sqlx::query(ADD_WATCHERS).bind(id).bind(epoch).bind(of(|one| one.owner.as_str()));
            let add = add.bind(of(|one| &one.person)).bind(of(|one| &one.client)).bind(sessions).bind(on);
            add.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        self.members.give_back(taken);
        Ok(())
    }

    async fn watchers_elsewhere(
        &self,
        node: NodeId,
        seen: &WatchersSeen,
    ) -> Result<Option<(WatchersSeen, Vec<Watcher>)>, StoreError> {
        let mut taken = self.members.take().await?;
        let shared = sqlx::query(SHARED).bind(node.uuid()).bind(dead_after());
        let rows = shared.fetch_all(&mut taken.connection).await?;
        let shared: Result<WatchersSeen, StoreError> = rows.iter().map(to_shared).collect();
        let shared = shared?;
        let watchers = if shared == *seen {
            None
        } else {
            let (ids, epochs): (Vec<_>, Vec<_>) =
                shared.iter().map(|(node, epoch, _)| (node.uuid(), *epoch)).unzip();
            let read = sqlx::query(WATCHERS).bind(ids).bind(epochs);
            let rows = read.fetch_all(&mut taken.connection).await?;
            let watchers: Result<Vec<Watcher>, StoreError> = rows.iter().map(to_watcher).collect();
            Some((shared, watchers?))
        };
        self.members.give_back(taken);
        Ok(watchers)
    }

    async fn heads(&self, sessions: &[SessionId]) -> Result<Vec<(SessionId, Seq)>, StoreError> {
        let ids: Vec<Uuid> = sessions.iter().map(|session| session.uuid()).collect();
        let rows = self.seen.unless_refused(sqlx::query(HEADS).bind(ids).fetch_all(self.pool())).await?;
        let head = |row: &PgRow| {
            let seq: i64 = row.try_get("last_seq")?;
            Ok((SessionId::from_uuid(row.try_get("id")?), Seq(u64::try_from(seq).unwrap_or_default())))
        };
        rows.iter().map(head).collect()
    }

    async fn notify(&self, notice: &str) -> Result<(), StoreError> {
        loop {
            let mut taken = self.teller.take().await?;
            match sqlx::query(NOTIFY).bind(notice).execute(&mut taken.connection).await {
                Ok(_) => {
                    self.teller.give_back(taken);
                    return Ok(());
                }
                Err(error) if is_away(&error) && !taken.is_new => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn listen(&self) -> Result<Box<dyn Notices>, StoreError> {
        // A pool of its own: the connection is never handed to anybody else.
        let own = pool_of(1, &self.seen).idle_timeout(None).max_lifetime(None);
        let listen = async {
            let pool = own.connect_with(self.options().clone()).await?;
            let channel: String = sqlx::query_scalar(CHANNEL).fetch_one(&pool).await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.listen(&channel).await?;
            Ok(listener)
        };
        let listener = self.seen.unless_refused(listen).await?;
        Ok(Box::new(Listener { listener, seen: Arc::clone(&self.seen) }))
    }
}

async fn renew(
    connection: &mut PgConnection,
    member: Member,
    hints: u64,
) -> Result<Option<Roll>, StoreError> {
    let (id, epoch) = (member.id.uuid(), member.epoch);
    let hints = i64::try_from(hints).unwrap_or(i64::MAX);
    let renew = sqlx::query(RENEW).bind(id).bind(epoch).bind(hints);
    if renew.fetch_optional(&mut *connection).await?.is_none() {
        return Ok(None);
    }
    let rows = sqlx::query(LIVE).bind(dead_after()).fetch_all(&mut *connection).await?;
    let live: Result<Vec<LiveNode>, StoreError> = rows.iter().map(to_node).collect();
    let rows = sqlx::query(SPOKEN_FOR).bind(dead_after()).fetch_all(connection).await?;
    let spoken_for: Result<Vec<_>, StoreError> = rows.iter().map(to_spoken).collect();
    Ok(Some(Roll { live: live?, spoken_for: spoken_for? }))
}

fn to_spoken(row: &PgRow) -> Result<(RunnerId, NodeId), StoreError> {
    Ok((RunnerId::from_uuid(row.try_get("id")?), NodeId::from_uuid(row.try_get("node")?)))
}

fn to_shared(row: &PgRow) -> Result<(NodeId, i64, i64), StoreError> {
    Ok((NodeId::from_uuid(row.try_get("id")?), row.try_get("epoch")?, row.try_get("watchers")?))
}

fn to_watcher(row: &PgRow) -> Result<Watcher, StoreError> {
    let owner: String = row.try_get("owner")?;
    let session: Option<Uuid> = row.try_get("session")?;
    Ok(Watcher {
        owner: OwnerId::new(&owner).map_err(|_| StoreError::corrupt("the owner of somebody who watches"))?,
        person: row.try_get("person")?,
        client: row.try_get("client")?,
        session: session.map(SessionId::from_uuid),
        is_on: row.try_get("is_on")?,
    })
}

fn to_runner(row: &PgRow) -> Result<KnownRunner, StoreError> {
    let agents: Vec<u8> = row.try_get("agents")?;
    Ok(KnownRunner {
        id: RunnerId::from_uuid(row.try_get("id")?),
        name: row.try_get("name")?,
        // A newer version may say more of an agent than this one understands.
        agents: serde_json::from_slice(&agents).unwrap_or_default(),
        node: NodeId::from_uuid(row.try_get("node")?),
        node_name: row.try_get("node_name")?,
    })
}

fn to_node(row: &PgRow) -> Result<LiveNode, StoreError> {
    let hints: i64 = row.try_get("hints")?;
    let start: Option<Uuid> = row.try_get("start")?;
    Ok(LiveNode {
        id: NodeId::from_uuid(row.try_get("id")?),
        epoch: row.try_get("epoch")?,
        start: start.map(NodeStart::from_uuid),
        name: row.try_get("name")?,
        hints: u64::try_from(hints).unwrap_or_default(),
    })
}

async fn speak_for(
    connection: &mut PgConnection,
    member: Member,
    runner: &ConnectedRunner,
) -> Result<Speaking, StoreError> {
    let (node, epoch, id) = (member.id.uuid(), member.epoch, runner.id.uuid());
    let add = sqlx::query(ADD_RUNNER).bind(id).bind(&runner.name).bind(runner.owner.as_str());
    add.bind(runner.instance).execute(&mut *connection).await?;
    let row = sqlx::query(LOCK_RUNNER).bind(id).fetch_one(&mut *connection).await?;
    let instance: Uuid = row.try_get("instance")?;
    let speaker: (Option<Uuid>, Option<i64>) = (row.try_get("node")?, row.try_get("node_epoch")?);
    let nodes: Vec<_> = [Some(node), speaker.0].into_iter().flatten().collect();
    let held = sqlx::query(HOLD_NODES).bind(nodes).bind(dead_after()).fetch_all(&mut *connection).await?;
    let find = |id: Uuid, epoch: i64| {
        let is =
            |row: &&PgRow| row.try_get("id").ok() == Some(id) && row.try_get("epoch").ok() == Some(epoch);
        held.iter().find(is)
    };
    if find(node, epoch).is_none() {
        return Ok(Speaking::DeclaredDead);
    }
    if let (Some(other), Some(other_epoch)) = speaker
        && other != node
        && instance != runner.instance
        && let Some(row) = find(other, other_epoch)
    {
        let waits = runner.place == RunnerPlace::Inside;
        if waits || row.try_get("lives")? {
            return Ok(Speaking::Elsewhere { node: row.try_get("name")? });
        }
        sqlx::query(DECLARE_DEAD).bind(other).execute(&mut *connection).await?;
    }
    let speak = sqlx::query_scalar(SPEAK).bind(id).bind(&runner.name).bind(runner.instance);
    let agents = rows::bytes(&runner.agents)?;
    let number: i64 = speak.bind(node).bind(epoch).bind(agents).fetch_one(connection).await?;
    Ok(Speaking::Here { epoch: u64::try_from(number).unwrap_or_default() })
}

async fn stop_speaking(
    connection: &mut PgConnection,
    member: Member,
    runner: Option<(RunnerId, u64)>,
) -> Result<(), StoreError> {
    let stop = sqlx::query(STOP_SPEAKING).bind(member.id.uuid()).bind(member.epoch);
    let stop = stop.bind(runner.map(|(id, _)| id.uuid()));
    let epoch = runner.map(|(_, epoch)| i64::try_from(epoch).unwrap_or(i64::MAX));
    stop.bind(epoch).execute(connection).await?;
    Ok(())
}

#[derive(Debug)]
struct Listener {
    listener: PgListener,
    seen: Arc<LastSeen>,
}

#[async_trait]
impl Notices for Listener {
    async fn next(&mut self) -> Result<Option<String>, StoreError> {
        let notice = self.seen.unless_refused(self.listener.try_recv()).await?;
        Ok(notice.map(|notice| notice.payload().to_owned()))
    }
}
