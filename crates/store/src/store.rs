//! The journal over any of our databases: appends go to the batcher, reads are queries.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_core::{Command, STATE_VERSION, due_at};
use holdstead_protocol::{Event, InteractionId, OwnerId, Seq, SessionId, Timestamp};
use uuid::Uuid;

use crate::backend::Backend;
use crate::batch::{Batchers, Queue};
use crate::db::{Db, Param, Row};
use crate::erase::{Going, Why};
use crate::guard::Guard;
use crate::notary::{self, Noted};
use crate::{
    AskFilter, AskQuery, AskRecord, BringBackError, BroughtBack, ChainReport, Checkpoint, Claim, Cluster,
    DecidedRecord, DueAsk, DueList, EraseError, Erasure, Fault, FoundRecord, Heads, Journal, Notary,
    PendingAppend, PublicKey, QueryPlan, Round, RoundsReport, SealedSecret, SearchQuery, SecretsOf,
    SessionQuery, SessionRecord, SessionsOnly, StoreError, UnderWay, Waiting, WriterLoad, audit, bring_back,
    decode, erase, export, refold, rounds, rows, search, secrets, sql, waiting,
};

/// A journal on the database `D`.
#[derive(Debug)]
pub struct Store<D> {
    pub(crate) db: Arc<D>,
    queue: Queue,
    notary: Arc<OnceLock<Arc<Notary>>>,
    pub(crate) guard: OnceLock<Guard>,
}

impl<D: Backend + 'static> Store<D> {
    /// `between` may put something between the batchers and the database.
    pub(crate) fn start(
        db: D,
        batchers: Batchers,
        between: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Result<Self, StoreError> {
        let db = Arc::new(db);
        let backend: Arc<dyn Backend> = Arc::<D>::clone(&db);
        let notary = Arc::default();
        let noted: Arc<dyn Backend> =
            Arc::new(Noted { inner: between(backend), notary: Arc::clone(&notary) });
        Ok(Self { db, queue: Queue::start(&noted, batchers)?, notary, guard: OnceLock::new() })
    }
}

#[async_trait]
impl<D: Db + 'static> Journal for Store<D> {
    fn append_both(
        &self,
        session: SessionId,
        first: Command,
        second: Command,
    ) -> (PendingAppend, PendingAppend) {
        self.queue.append_both(session, first, second)
    }

    fn append(&self, session: SessionId, command: Command) -> PendingAppend {
        self.queue.append(session, command)
    }

    async fn read(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Event>, StoreError> {
        let rows = self.db.events(session, after, limit).await?;
        rows.iter().map(decode::event_in_place).collect()
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let rows = refold::look(&*self.db, sql::SESSION, vec![Param::Id(id.uuid())]).await?;
        rows.first().map(decode::session).transpose()
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRecord>, StoreError> {
        let (at, id) =
            query.before.map_or((i64::MAX, Uuid::max()), |(at, session)| (at.micros(), session.uuid()));
        let owner = Param::Text(query.owner.to_string());
        let (sql, states) = match query.only {
            SessionsOnly::All => (sql::SESSIONS, Vec::new()),
            SessionsOnly::Archived => (sql::ARCHIVED_SESSIONS, Vec::new()),
            SessionsOnly::Unarchived(states) if states.is_empty() => (sql::UNARCHIVED_SESSIONS, states),
            SessionsOnly::Unarchived(states) => (sql::SESSIONS_IN_STATES, states),
        };
        let mut states = states.iter().map(rows::bytes).collect::<Result<Vec<_>, _>>()?;
        if !states.is_empty() {
            // No session is in the state of no bytes.
            states.resize(sql::STATES.max(states.len()), Vec::new());
        }
        let from = |at: i64, id: Param| {
            let place = [owner.clone(), Param::Int(at), id];
            place.into_iter().chain(states.iter().cloned().map(Param::Bytes)).collect()
        };
        let behind = |row: &Row| Ok(from(row.int("opened_at")?, row_id(row)?));
        page(&*self.db, sql, from(at, Param::Id(id)), behind, query.limit, decode::session).await
    }

    async fn unfinished(
        &self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let from = vec![Param::Id(after.map_or(Uuid::nil(), SessionId::uuid))];
        let behind = |row: &Row| Ok(vec![row_id(row)?]);
        page(&*self.db, sql::UNFINISHED, from, behind, limit, decode::session).await
    }

    async fn outdated(&self, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let params = vec![Param::Int(i64::from(STATE_VERSION)), Param::Int(limit.into())];
        let rows = self.db.query(sql::OUTDATED, params).await?;
        rows.iter().map(|row| row.id("id").map(SessionId::from_uuid)).collect()
    }

    async fn refold(&self, id: SessionId) -> Result<(), StoreError> {
        refold::refold_or_tell(&*self.db, id).await.map(drop)
    }

    async fn ask(&self, id: InteractionId) -> Result<Option<AskRecord>, StoreError> {
        let rows = refold::look(&*self.db, sql::ASK, vec![Param::Id(id.uuid())]).await?;
        rows.first().map(decode::ask).transpose()
    }

    async fn asks(&self, query: AskQuery) -> Result<Vec<AskRecord>, StoreError> {
        let owner = || Param::Text(query.owner.to_string());
        let (sql, within) = match (query.session, query.only) {
            (None, AskFilter::Live) => (sql::LIVE_ASKS, owner()),
            (None, AskFilter::All) => (sql::ALL_ASKS, owner()),
            (Some(session), AskFilter::Live) => (sql::LIVE_ASKS_IN_SESSION, Param::Id(session.uuid())),
            (Some(session), AskFilter::All) => (sql::ALL_ASKS_IN_SESSION, Param::Id(session.uuid())),
        };
        let (at, id) = query.after.map_or((i64::MIN, Uuid::nil()), |(at, ask)| (at.micros(), ask.uuid()));
        let from = vec![within.clone(), Param::Int(at), Param::Id(id)];
        let behind = |row: &Row| Ok(vec![within.clone(), Param::Int(row.int("opened_at")?), row_id(row)?]);
        page(&*self.db, sql, from, behind, query.limit, decode::ask).await
    }

    async fn under_way(&self, session: SessionId, what: UnderWay) -> Result<Vec<AskRecord>, StoreError> {
        let within = || vec![Param::Id(session.uuid()), Param::Text(what.as_str().to_owned())];
        let behind = |row: &Row| {
            let place = [Param::Int(row.int("opened_at")?), row_id(row)?];
            Ok(within().into_iter().chain(place).collect())
        };
        let from = within().into_iter().chain([Param::Int(i64::MIN), Param::Id(Uuid::nil())]).collect();
        page(&*self.db, sql::UNDER_WAY, from, behind, u32::MAX, decode::ask).await
    }

    async fn decisions(
        &self,
        owner: &OwnerId,
        before: Option<(Timestamp, InteractionId)>,
        limit: u32,
    ) -> Result<Vec<DecidedRecord>, StoreError> {
        let owner = Param::Text(owner.to_string());
        let (at, id) = before.map_or((i64::MAX, Uuid::max()), |(at, ask)| (at.micros(), ask.uuid()));
        let from = vec![owner.clone(), Param::Int(at), Param::Id(id)];
        let behind = |row: &Row| Ok(vec![owner.clone(), Param::Int(row.int("decided_at")?), row_id(row)?]);
        page(&*self.db, sql::DECISIONS, from, behind, limit, decode::decided).await
    }

    async fn decision(
        &self,
        owner: &OwnerId,
        id: InteractionId,
    ) -> Result<Option<DecidedRecord>, StoreError> {
        let params = vec![Param::Id(id.uuid()), Param::Text(owner.to_string())];
        let rows = refold::query(&*self.db, sql::DECISION, params).await?;
        rows.first().map(decode::decided).transpose()
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<FoundRecord>, StoreError> {
        search::find(&*self.db, query).await
    }

    async fn live_count(&self, owner: &OwnerId) -> Result<u64, StoreError> {
        let rows = self.db.query(sql::LIVE_COUNT, vec![Param::Text(owner.to_string())]).await?;
        let count = rows.first().map(|row| row.int("n")).transpose()?.unwrap_or_default();
        Ok(u64::try_from(count).unwrap_or_default())
    }

    async fn waiting(&self) -> Result<Waiting, StoreError> {
        waiting::count(&*self.db).await
    }

    async fn due(&self, limit: u32) -> Result<DueList, StoreError> {
        let now = self.db.now().await?;
        let params = vec![Param::Int(now.micros()), Param::Int(limit.into())];
        let rows = refold::query(&*self.db, sql::DUE, params).await?;
        let due = decode::readable(&rows, |row| {
            let (session, interaction, ask) = decode::ask_of_ours(row)?;
            let late_by = due_at(&ask).map_or(Duration::ZERO, |at| now.since(at));
            Ok(DueAsk { session, interaction, prompt: ask.prompt_id, late_by })
        });
        let rows = self.db.query(sql::NEXT_DUE, vec![Param::Int(now.micros())]).await?;
        let next = rows.first().map(|row| decode::moment(row, "due_at")).transpose()?;
        Ok(DueList { due, next_in: next.map(|at| at.since(now)) })
    }

    async fn verify(&self, session: SessionId) -> Result<ChainReport, StoreError> {
        audit::verify(&mut *refold::snapshot(&*self.db, session).await?, session, None).await
    }

    async fn audit(&self, session: SessionId, keys: &[PublicKey]) -> Result<ChainReport, StoreError> {
        audit::verify(&mut *refold::snapshot(&*self.db, session).await?, session, Some(keys)).await
    }

    async fn contradiction(&self, kept: &Checkpoint) -> Result<Option<Fault>, StoreError> {
        audit::contradiction(&mut *self.db.snapshot().await?, kept).await
    }

    async fn audit_rounds(&self, keys: &[PublicKey]) -> Result<RoundsReport, StoreError> {
        rounds::verify(&mut *self.db.snapshot().await?, keys).await
    }

    async fn round(&self, number: u64) -> Result<Option<Round>, StoreError> {
        rounds::find(&*self.db, number).await
    }

    async fn journals(&self, after: Option<SessionId>, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let after = Param::Id(after.map_or(Uuid::nil(), SessionId::uuid));
        let mut found = BTreeSet::new();
        for sql in [sql::JOURNALS, sql::SIGNED_JOURNALS] {
            for row in self.db.query(sql, vec![after.clone(), Param::Int(limit.into())]).await? {
                found.insert(SessionId::from_uuid(row.id("id")?));
            }
        }
        Ok(found.into_iter().take(limit as usize).collect())
    }

    fn sign_with(&self, notary: Notary) {
        self.notary.get_or_init(|| Arc::new(notary));
    }

    async fn checkpoint(&self, heads: Heads) -> Result<u64, StoreError> {
        let notary = self.notary.get().ok_or(StoreError::NoKey)?;
        notary::sign(&*self.db, notary, heads).await
    }

    async fn checkpoints(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        let params =
            vec![Param::Id(session.uuid()), Param::Int(decode::count(after)), Param::Int(limit.into())];
        self.db.query(sql::CHECKPOINTS, params).await?.iter().map(decode::checkpoint).collect()
    }

    async fn export(
        &self,
        session: SessionId,
        out: &mut (dyn std::io::Write + Send),
    ) -> Result<(), StoreError> {
        export::write(&mut *self.db.snapshot().await?, session, out).await
    }

    async fn erase(&self, session: SessionId, by: &str) -> Result<Erasure, EraseError> {
        refold::refold(&*self.db, session).await?;
        erase::erase(&*self.db, self.notary.get(), session, Why::Erased { by }).await
    }

    async fn age_out(&self, session: SessionId, going: Going) -> Result<Erasure, EraseError> {
        refold::refold(&*self.db, session).await?;
        erase::erase(&*self.db, self.notary.get(), session, Why::AgedOut(going)).await
    }

    async fn bring_back(
        &self,
        session: SessionId,
        file: &mut (dyn std::io::BufRead + Send),
    ) -> Result<BroughtBack, BringBackError> {
        bring_back::bring_back(&*self.db, self.notary.get(), session, file).await
    }

    async fn keep_secret(&self, secret: SealedSecret) -> Result<(), StoreError> {
        secrets::keep(&*self.db, secret).await
    }

    async fn secret(&self, _ask: InteractionId, answer: &str) -> Result<Option<SealedSecret>, StoreError> {
        secrets::find(&*self.db, answer).await
    }

    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        secrets::all(&*self.db).await
    }

    async fn drop_secrets(&self, which: SecretsOf) -> Result<(), StoreError> {
        secrets::drop(&*self.db, which).await
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        self.db.claim().await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.db.cluster()
    }

    fn writer_load(&self) -> WriterLoad {
        self.queue.load()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.queue.ready().await?;
        self.db.query(sql::READY, Vec::new()).await.map(drop)
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.db.now().await
    }

    async fn plans(&self) -> Result<Vec<QueryPlan>, StoreError> {
        let mut plans = Vec::new();
        for (name, sql, params) in sql::explained() {
            plans.push(QueryPlan { name, plan: self.db.explain(sql, params).await? });
        }
        Ok(plans)
    }

    async fn close(&self) {
        self.queue.close().await;
        self.db.close().await;
    }
}

/// A page of what can be read, and `behind` its last row the next one. It is full if there may be more: rows that cannot
/// be read do not count.
async fn page<T>(
    db: &dyn Db,
    sql: &'static str,
    mut from: Vec<Param>,
    behind: impl Fn(&Row) -> Result<Vec<Param>, StoreError> + Send + Sync,
    limit: u32,
    decode: impl Fn(&Row) -> Result<T, StoreError> + Send + Sync,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    loop {
        let wanted = limit as usize - found.len();
        from.push(Param::Int(i64::try_from(wanted).unwrap_or(i64::MAX)));
        let rows = refold::query(db, sql, from).await?;
        found.extend(decode::readable(&rows, &decode));
        let more = rows.last().filter(|_| rows.len() == wanted && found.len() < limit as usize);
        let Some(last) = more else { return Ok(found) };
        from = behind(last)?;
    }
}

fn row_id(row: &Row) -> Result<Param, StoreError> {
    row.id("id").map(Param::Id)
}
