//! The one boundary: what the rest of Holdstead asks of a store.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use holdstead_core::Command;
use holdstead_protocol::{Event, InteractionId, OwnerId, Seq, SessionId, Timestamp};
use tokio::sync::oneshot;

use crate::{
    AppendError, Appended, AskQuery, AskRecord, BringBackError, BroughtBack, ChainReport, Checkpoint, Claim,
    Cluster, DecidedRecord, DueList, EraseError, Erasure, Fault, FoundRecord, Going, Heads, Notary, People,
    PostgresJournal, PublicKey, QueryPlan, Round, RoundsReport, SealedSecret, SearchQuery, SecretsOf,
    SessionQuery, SessionRecord, SqliteJournal, StoreError, UnderWay, Waiting, WriterLoad, old_format,
};

/// Remembers sessions and their asks; and, as [`People`], who may do what.
#[async_trait]
pub trait Journal: People {
    /// Decides the command on the session's state and appends what follows. It is queued by this call, not by
    /// awaiting: the commands of one session are decided in the order of these calls, and a dropped
    /// [`PendingAppend`] is written all the same. It returns after the commit.
    fn append(&self, session: SessionId, command: Command) -> PendingAppend;

    /// The same for two that follow each other, and are committed together if they can be.
    fn append_both(
        &self,
        session: SessionId,
        first: Command,
        second: Command,
    ) -> (PendingAppend, PendingAppend) {
        (self.append(session, first), self.append(session, second))
    }

    /// The events behind `after`, in order.
    async fn read(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Event>, StoreError>;

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError>;

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRecord>, StoreError>;

    /// The sessions that somebody must look after when a gateway starts: those with a process, a turn, messages
    /// that wait, or answers on their way, and those that are being erased. A page of them in the order of their ids,
    /// without those that cannot be read.
    async fn unfinished(
        &self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StoreError>;

    /// Some sessions whose state an older version folded. Until one is folded again, it may be missing from lists that it
    /// belongs in.
    async fn outdated(&self, limit: u32) -> Result<Vec<SessionId>, StoreError>;

    /// Stores what this version folds the session to, if another one folded it. One that cannot be folded is left as it is.
    async fn refold(&self, id: SessionId) -> Result<(), StoreError>;

    async fn ask(&self, id: InteractionId) -> Result<Option<AskRecord>, StoreError>;

    async fn asks(&self, query: AskQuery) -> Result<Vec<AskRecord>, StoreError>;

    /// All asks of the session that are so, the oldest first.
    async fn under_way(&self, session: SessionId, what: UnderWay) -> Result<Vec<AskRecord>, StoreError>;

    /// Asks that are over, behind this place, the newest first.
    async fn decisions(
        &self,
        owner: &OwnerId,
        before: Option<(Timestamp, InteractionId)>,
        limit: u32,
    ) -> Result<Vec<DecidedRecord>, StoreError>;

    /// One of them; `None` while it is open, and where it is somebody else's.
    async fn decision(&self, owner: &OwnerId, id: InteractionId)
    -> Result<Option<DecidedRecord>, StoreError>;

    /// Events of this owner that have all the words, the newest first.
    async fn search(&self, query: SearchQuery) -> Result<Vec<FoundRecord>, StoreError>;

    /// How many asks of this owner are live.
    async fn live_count(&self, owner: &OwnerId) -> Result<u64, StoreError>;

    /// How many asks wait, over all owners. Its cost grows with what is open.
    async fn waiting(&self) -> Result<Waiting, StoreError>;

    /// The asks whose deadline passed, the longest overdue first.
    async fn due(&self, limit: u32) -> Result<DueList, StoreError>;

    /// Recomputes the chain, folds the journal again, and compares with what is stored beside it.
    async fn verify(&self, session: SessionId) -> Result<ChainReport, StoreError>;

    /// The same, and that what was signed about it by these keys holds.
    async fn audit(&self, session: SessionId, keys: &[PublicKey]) -> Result<ChainReport, StoreError>;

    /// What this journal says against a checkpoint that was kept elsewhere, if anything.
    async fn contradiction(&self, kept: &Checkpoint) -> Result<Option<Fault>, StoreError>;

    /// Checks the rounds: what was signed about all journals together.
    async fn audit_rounds(&self, keys: &[PublicKey]) -> Result<RoundsReport, StoreError>;

    /// The round of this number.
    async fn round(&self, number: u64) -> Result<Option<Round>, StoreError>;

    /// All journals, owners' own too, in the order of their ids; also those that were signed and are gone.
    async fn journals(&self, after: Option<SessionId>, limit: u32) -> Result<Vec<SessionId>, StoreError>;

    /// From now on this notary signs for [`Journal::checkpoint`] and [`Journal::erase`]. The first one stays.
    fn sign_with(&self, notary: Notary);

    /// Signs where journals stand. Returns how many were signed.
    async fn checkpoint(&self, heads: Heads) -> Result<u64, StoreError>;

    /// A session's checkpoints behind this number, in order.
    async fn checkpoints(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Checkpoint>, StoreError>;

    /// Writes the journal with its checkpoints as lines of JSON, so that a third party can check it.
    async fn export(
        &self,
        session: SessionId,
        out: &mut (dyn std::io::Write + Send),
    ) -> Result<(), StoreError>;

    /// Drops what was said in an ended session. That it was said stays, and the chain still holds. It is gone for every
    /// reader at once and from the database step by step; whoever is interrupted meanwhile calls this again.
    async fn erase(&self, session: SessionId, by: &str) -> Result<Erasure, EraseError>;

    /// The same for one that is in this file, as [`Journal::export`] wrote it: it can be brought back.
    async fn age_out(&self, session: SessionId, going: Going) -> Result<Erasure, EraseError>;

    /// Brings a session back from the file that it went to.
    async fn bring_back(
        &self,
        session: SessionId,
        file: &mut (dyn std::io::BufRead + Send),
    ) -> Result<BroughtBack, BringBackError>;

    /// Keeps a sealed secret until it is dropped.
    async fn keep_secret(&self, secret: SealedSecret) -> Result<(), StoreError>;

    async fn secret(&self, ask: InteractionId, answer: &str) -> Result<Option<SealedSecret>, StoreError>;

    /// All of them: they are those of answers on their way, and few.
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError>;

    async fn drop_secrets(&self, which: SecretsOf) -> Result<(), StoreError>;

    /// Claims the database for a process that hosts its sessions. A file is refused while another one does; reading and
    /// single writes beside it need no claim. PostgreSQL serves any number.
    async fn claim(&self) -> Result<Claim, StoreError>;

    /// What several gateways on this database know of each other. `None` where it has one gateway only, by its claim.
    fn cluster(&self) -> Option<&dyn Cluster>;

    /// What waits to be written by this process.
    fn writer_load(&self) -> WriterLoad;

    /// Whether it can be read and written now: the writer answers, and so does the database.
    async fn ready(&self) -> Result<(), StoreError>;

    /// The time that deadlines are measured by.
    async fn now(&self) -> Result<Timestamp, StoreError>;

    /// How the database would run the queries that must not slow down as it grows.
    async fn plans(&self) -> Result<Vec<QueryPlan>, StoreError>;

    /// Writes what is queued, then lets go of the database. Later appends are [`AppendError::Closed`].
    async fn close(&self);
}

/// An append on its way.
#[derive(Debug)]
#[must_use = "await it to learn what became of the command"]
pub struct PendingAppend(Pending);

#[derive(Debug)]
enum Pending {
    Known(Option<AppendError>),
    Queued(oneshot::Receiver<Result<Appended, AppendError>>),
}

impl PendingAppend {
    pub(crate) fn failed(error: AppendError) -> Self {
        Self(Pending::Known(Some(error)))
    }

    pub(crate) fn queued(reply: oneshot::Receiver<Result<Appended, AppendError>>) -> Self {
        Self(Pending::Queued(reply))
    }
}

impl Future for PendingAppend {
    type Output = Result<Appended, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Pending::Known(error) => Poll::Ready(Err(error.take().unwrap_or(AppendError::Closed))),
            Pending::Queued(reply) => {
                Pin::new(reply).poll(context).map(|reply| reply.unwrap_or(Err(AppendError::Closed)))
            }
        }
    }
}

/// Opens a journal that is there already, and makes none: only a gateway does.
pub async fn open_existing(url: &str) -> Result<Arc<dyn Journal>, StoreError> {
    is_there(url).await?;
    open(url).await
}

/// Says where there is none.
pub async fn is_there(url: &str) -> Result<(), StoreError> {
    let is_there = if url.starts_with("sqlite:") {
        crate::sqlite::is_there(url)?
    } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        crate::postgres::is_there(url).await?
    } else {
        true
    };
    if is_there { Ok(()) } else { Err(StoreError::Absent { url: crate::without_secret(url) }) }
}

/// Opens the journal that the URL names and brings its tables up to date.
pub async fn open(url: &str) -> Result<Arc<dyn Journal>, StoreError> {
    if url.starts_with("sqlite:") {
        let journal = SqliteJournal::open(url).await?;
        old_format::refuse_compacted_text(&*journal.db, url).await?;
        Ok(Arc::new(journal))
    } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        let journal = PostgresJournal::open(url).await?;
        old_format::refuse_several_databases(&journal, url).await?;
        old_format::refuse_compacted_text(&*journal.db, url).await?;
        Ok(Arc::new(journal))
    } else {
        Err(StoreError::BadUrl { url: url.to_owned(), why: "it names no database that we know".to_owned() })
    }
}
