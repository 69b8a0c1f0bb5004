//! What gateways know of each other is in the controlling database. Only where journals stand is asked where they are.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use holdstead_protocol::{OwnerId, RunnerId, Seq, SessionId};
use tokio::time::timeout;
use uuid::Uuid;

use crate::postgres::Postgres;
use crate::shard_map::DatabaseNumber;
use crate::sharded::Sharded;
use crate::{
    Claimed, Cluster, ConnectedRunner, KeyMatch, KnownRunner, Member, NodeId, Notices, Roll, Speaking,
    StoreError, Watcher, WatchersSeen, shard_table,
};

/// How long a gateway goes on while the controlling database cannot be reached: streams, answers, and what agents say.
pub const SERVES_WITHOUT_CONTROL: Duration = Duration::from_secs(60);

/// How long one database may take to say where its journals stand: nobody waits longer for the others.
const PATIENCE: Duration = Duration::from_secs(2);

impl Sharded {
    pub(crate) fn control(&self) -> &Postgres {
        &self.inner.control.db
    }
}

#[async_trait]
impl Cluster for Sharded {
    async fn match_key(&self, name: &str, fingerprint: &[u8; 32]) -> Result<KeyMatch, StoreError> {
        self.control().match_key(name, fingerprint).await
    }

    async fn deployment(&self) -> Result<Uuid, StoreError> {
        self.control().deployment().await
    }

    async fn join(&self, node: NodeId, name: &str) -> Result<Member, StoreError> {
        self.control().join(node, name).await
    }

    fn silent_after(&self) -> Duration {
        SERVES_WITHOUT_CONTROL
    }

    async fn renew(&self, member: Member, hints: u64) -> Result<Option<Roll>, StoreError> {
        let roll = self.control().renew(member, hints).await?;
        // Whoever moves sessions waits until nobody looks for them where they were.
        shard_table::confirm(self.control(), member, self.map().version).await?;
        Ok(roll)
    }

    async fn speak_for(&self, member: Member, runner: &ConnectedRunner) -> Result<Speaking, StoreError> {
        self.control().speak_for(member, runner).await
    }

    async fn stop_speaking_for(
        &self,
        member: Member,
        runner: RunnerId,
        epoch: u64,
    ) -> Result<(), StoreError> {
        self.control().stop_speaking_for(member, runner, epoch).await
    }

    async fn runners_of(&self, owner: &OwnerId) -> Result<Vec<KnownRunner>, StoreError> {
        self.control().runners_of(owner).await
    }

    async fn leave(&self, member: Member) -> Result<(), StoreError> {
        self.control().leave(member).await
    }

    async fn claim(&self, member: Member, what: Uuid, by: Uuid) -> Result<Claimed, StoreError> {
        self.control().claim(member, what, by).await
    }

    async fn release(&self, what: Uuid, by: Uuid) -> Result<(), StoreError> {
        self.control().release(what, by).await
    }

    async fn share_watchers(&self, member: Member, watchers: &[Watcher]) -> Result<(), StoreError> {
        self.control().share_watchers(member, watchers).await
    }

    async fn watchers_elsewhere(
        &self,
        node: NodeId,
        seen: &WatchersSeen,
    ) -> Result<Option<(WatchersSeen, Vec<Watcher>)>, StoreError> {
        self.control().watchers_elsewhere(node, seen).await
    }

    async fn heads(&self, sessions: &[SessionId]) -> Result<Vec<(SessionId, Seq)>, StoreError> {
        let map = self.map();
        let of_shard = |number: DatabaseNumber| -> Vec<SessionId> {
            let is_there = |session: &&SessionId| {
                map.of(session.shard_tag()).is_some_and(|placed| placed.database == number)
            };
            sessions.iter().filter(is_there).copied().collect()
        };
        let asked = self.inner.data.iter().map(|shard| async {
            let (number, sessions) = (shard.number, of_shard(shard.number));
            if sessions.is_empty() {
                return Vec::new();
            }
            let asked = async { shard.store()?.db.heads(&sessions).await };
            match timeout(PATIENCE, asked).await {
                Ok(Ok(heads)) => heads,
                Ok(Err(error)) => {
                    tracing::warn!(database = %number, %error, "sessions could not be compared with the journal");
                    Vec::new()
                }
                Err(_) => {
                    tracing::warn!(database = %number, "sessions could not be compared: it does not answer");
                    Vec::new()
                }
            }
        });
        Ok(join_all(asked).await.concat())
    }

    async fn notify(&self, notice: &str) -> Result<(), StoreError> {
        self.control().notify(notice).await
    }

    async fn listen(&self) -> Result<Box<dyn Notices>, StoreError> {
        self.control().listen().await
    }
}
