//! Each call goes to the database that has what it is about.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::select_ok;
use holdstead_core::Command;
use holdstead_protocol::{Event, InteractionId, OwnerId, Seq, SessionId, ShardTag, Timestamp};
use tokio::time::timeout;

use crate::shard_map::DatabaseNumber;
use crate::sharded::Sharded;
use crate::{
    AskQuery, AskRecord, BringBackError, BroughtBack, ChainReport, Checkpoint, Claim, Cluster, DecidedRecord,
    DueList, EraseError, Erasure, Fault, FoundRecord, Gathered, Heads, Journal, Notary, PendingAppend,
    PublicKey, QueryPlan, Round, RoundsReport, SealedSecret, SearchQuery, SecretsOf, SessionQuery,
    SessionRecord, StoreError, UnderWay, Waiting, WriterLoad,
};

/// How long the controlling database is asked what time it is, before another one is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads it where it is. What was moved while it was looked for is looked for again: its rows may have been gone already.
macro_rules! where_it_is {
    ($journal:ident, $tag:expr, $($call:tt)+) => {{
        let tag = $tag;
        loop {
            let store = $journal.inner.reads(tag)?;
            let found = store.$($call)+.await;
            if Arc::ptr_eq(store, $journal.inner.reads(tag)?) {
                break found;
            }
        }
    }};
}

#[async_trait]
impl Journal for Sharded {
    fn append(&self, session: SessionId, command: Command) -> PendingAppend {
        match self.inner.writes(session.shard_tag()) {
            Ok(store) => store.append(session, command),
            Err(error) => PendingAppend::failed(error.into()),
        }
    }

    fn append_both(
        &self,
        session: SessionId,
        first: Command,
        second: Command,
    ) -> (PendingAppend, PendingAppend) {
        match self.inner.writes(session.shard_tag()) {
            Ok(store) => store.append_both(session, first, second),
            Err(error) => (PendingAppend::failed(error.clone().into()), PendingAppend::failed(error.into())),
        }
    }

    async fn read(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Event>, StoreError> {
        where_it_is!(self, session.shard_tag(), read(session, after, limit))
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        where_it_is!(self, id.shard_tag(), session(id))
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRecord>, StoreError> {
        where_it_is!(self, query.owner.shard_tag(), sessions(query.clone()))
    }

    async fn unfinished(
        &self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let mut found = Vec::new();
        for store in self.inner.all()? {
            found.extend(store.unfinished(after, limit).await?);
        }
        found.sort_by_key(|record| record.id);
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn outdated(&self, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let mut found = Vec::new();
        for store in self.inner.all()? {
            found.extend(store.outdated(limit).await?);
        }
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn ask(&self, id: InteractionId) -> Result<Option<AskRecord>, StoreError> {
        where_it_is!(self, id.shard_tag(), ask(id))
    }

    async fn asks(&self, query: AskQuery) -> Result<Vec<AskRecord>, StoreError> {
        let tag = query.session.map_or_else(|| query.owner.shard_tag(), SessionId::shard_tag);
        where_it_is!(self, tag, asks(query.clone()))
    }

    async fn under_way(&self, session: SessionId, what: UnderWay) -> Result<Vec<AskRecord>, StoreError> {
        where_it_is!(self, session.shard_tag(), under_way(session, what))
    }

    async fn decisions(
        &self,
        owner: &OwnerId,
        before: Option<(Timestamp, InteractionId)>,
        limit: u32,
    ) -> Result<Vec<DecidedRecord>, StoreError> {
        where_it_is!(self, owner.shard_tag(), decisions(owner, before, limit))
    }

    async fn decision(
        &self,
        owner: &OwnerId,
        id: InteractionId,
    ) -> Result<Option<DecidedRecord>, StoreError> {
        where_it_is!(self, owner.shard_tag(), decision(owner, id))
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<FoundRecord>, StoreError> {
        where_it_is!(self, query.owner.shard_tag(), search(query.clone()))
    }

    async fn live_count(&self, owner: &OwnerId) -> Result<u64, StoreError> {
        where_it_is!(self, owner.shard_tag(), live_count(owner))
    }

    /// In the databases that can be reached.
    async fn waiting(&self) -> Result<Waiting, StoreError> {
        let mut all: Option<Waiting> = None;
        let mut why = StoreError::unreachable("none of the databases was reached");
        for shard in &self.inner.data {
            let here = match shard.store() {
                Ok(store) => store.waiting().await,
                Err(error) => Err(error),
            };
            match (here, &mut all) {
                (Ok(here), None) => all = Some(here),
                (Ok(here), Some(all)) => {
                    all.overdue += here.overdue;
                    for (what, count) in here.asks {
                        *all.asks.entry(what).or_default() += count;
                    }
                }
                (Err(error), _) => why = error,
            }
        }
        all.ok_or(why)
    }

    async fn due(&self, limit: u32) -> Result<DueList, StoreError> {
        let mut all = DueList { due: Vec::new(), next_in: None };
        for store in self.inner.all()? {
            let DueList { due, next_in } = store.due(limit).await?;
            all.due.extend(due);
            all.next_in = all.next_in.into_iter().chain(next_in).min();
        }
        all.due.sort_by_key(|ask| std::cmp::Reverse(ask.late_by));
        all.due.truncate(limit as usize);
        Ok(all)
    }

    async fn verify(&self, session: SessionId) -> Result<ChainReport, StoreError> {
        where_it_is!(self, session.shard_tag(), verify(session))
    }

    async fn audit(&self, session: SessionId, keys: &[PublicKey]) -> Result<ChainReport, StoreError> {
        where_it_is!(self, session.shard_tag(), audit(session, keys))
    }

    async fn contradiction(&self, kept: &Checkpoint) -> Result<Option<Fault>, StoreError> {
        where_it_is!(self, kept.session.shard_tag(), contradiction(kept))
    }

    async fn audit_rounds(&self, keys: &[PublicKey]) -> Result<RoundsReport, StoreError> {
        let mut all = RoundsReport::default();
        for store in self.inner.all()? {
            let RoundsReport { rounds, faults } = store.audit_rounds(keys).await?;
            all.rounds.extend(rounds);
            all.faults.extend(faults);
        }
        Ok(all)
    }

    async fn round(&self, number: u64) -> Result<Option<Round>, StoreError> {
        for store in self.inner.all()? {
            if let Some(round) = store.round(number).await? {
                return Ok(Some(round));
            }
        }
        Ok(None)
    }

    async fn journals(&self, after: Option<SessionId>, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let mut found = BTreeSet::new();
        for store in self.inner.all()? {
            found.extend(store.journals(after, limit).await?);
        }
        Ok(found.into_iter().take(limit as usize).collect())
    }

    fn sign_with(&self, notary: Notary) {
        self.inner.sign_with(notary);
    }

    async fn checkpoint(&self, heads: Heads) -> Result<u64, StoreError> {
        let mut signed = Ok(0);
        // What one cannot sign now keeps no other from it.
        for shard in &self.inner.data {
            let here = match shard.store() {
                Ok(store) => store.checkpoint(heads).await,
                Err(error) => Err(error),
            };
            signed = signed.and_then(|signed| here.map(|here| signed + here));
        }
        signed
    }

    async fn checkpoints(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        where_it_is!(self, session.shard_tag(), checkpoints(session, after, limit))
    }

    async fn export(
        &self,
        session: SessionId,
        out: &mut (dyn std::io::Write + Send),
    ) -> Result<(), StoreError> {
        let store = self.inner.reads(session.shard_tag())?;
        let exported = store.export(session, out).await;
        // What is written cannot be taken back: whoever wanted it tries again.
        if Arc::ptr_eq(store, self.inner.reads(session.shard_tag())?) {
            exported
        } else {
            Err(StoreError::Moving)
        }
    }

    async fn erase(&self, session: SessionId, by: &str) -> Result<Erasure, EraseError> {
        self.inner.writes(session.shard_tag())?.erase(session, by).await
    }

    async fn age_out(&self, session: SessionId, to: &str, head: Seq) -> Result<Erasure, EraseError> {
        self.inner.writes(session.shard_tag())?.age_out(session, to, head).await
    }

    async fn bring_back(
        &self,
        session: SessionId,
        file: &mut (dyn std::io::BufRead + Send),
    ) -> Result<BroughtBack, BringBackError> {
        self.inner.writes(session.shard_tag())?.bring_back(session, file).await
    }

    async fn gather(&self, session: SessionId) -> Result<Gathered, StoreError> {
        self.inner.writes(session.shard_tag())?.gather(session).await
    }

    async fn keep_secret(&self, secret: SealedSecret) -> Result<(), StoreError> {
        self.inner.writes(secret.session.shard_tag())?.keep_secret(secret).await
    }

    async fn secret(&self, ask: InteractionId, answer: &str) -> Result<Option<SealedSecret>, StoreError> {
        where_it_is!(self, ask.shard_tag(), secret(ask, answer))
    }

    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        let mut found = Vec::new();
        for store in self.inner.all()? {
            found.extend(store.secrets().await?);
        }
        Ok(found)
    }

    async fn drop_secrets(&self, which: SecretsOf) -> Result<(), StoreError> {
        self.inner.writes(tag_of(&which))?.drop_secrets(which).await
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        self.inner.control.claim().await
    }

    fn parts(&self) -> usize {
        self.inner.data.len()
    }

    fn part(&self, number: usize) -> Result<&dyn Journal, StoreError> {
        let shard = self.inner.shard(DatabaseNumber(number + 1))?;
        Ok(shard.store()?.as_ref())
    }

    fn shards(&self) -> Option<&Sharded> {
        Some(self)
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    fn writer_load(&self) -> WriterLoad {
        let mut all = WriterLoad { items: 0, bytes: 0, retries: 0, failures: 0 };
        for store in self.inner.data.iter().filter_map(|shard| shard.store().ok()) {
            let WriterLoad { items, bytes, retries, failures } = store.writer_load();
            all.items += items;
            all.bytes += bytes;
            all.retries += retries;
            all.failures += failures;
        }
        all
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let asked = self.inner.data.iter().map(|shard| async { shard.store()?.ready().await });
        let asked = futures_util::future::join_all(asked).await;
        // Taken out of rotation for one of them, the owners of the others would go with it.
        let mut why = Ok(());
        for one in asked {
            match one {
                Ok(()) => return Ok(()),
                Err(error) => why = Err(error),
            }
        }
        why
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        if let Ok(now @ Ok(_)) = timeout(PATIENCE, self.inner.control.now()).await {
            return now;
        }
        // Any of them will do: their clocks must agree.
        let asked = self.inner.data.iter().filter_map(|shard| shard.store().ok());
        let asked: Vec<_> = asked.map(|store| store.now()).collect();
        match timeout(PATIENCE, select_ok(asked)).await {
            Ok(Ok((now, _))) => Ok(now),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(StoreError::unreachable("no database says what time it is")),
        }
    }

    async fn plans(&self) -> Result<Vec<QueryPlan>, StoreError> {
        self.part(0)?.plans().await
    }

    async fn close(&self) {
        self.stop_looking();
        for shard in &self.inner.data {
            if let Ok(store) = shard.store() {
                store.close().await;
            }
        }
        self.inner.control.close().await;
    }
}

const fn tag_of(which: &SecretsOf) -> ShardTag {
    match which {
        SecretsOf::Answer(ask, _) | SecretsOf::Prompt(ask, _) | SecretsOf::Ask(ask) => ask.shard_tag(),
        SecretsOf::Session(session) => session.shard_tag(),
    }
}
