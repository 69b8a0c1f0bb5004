//! Signs what journals come to, and keeps a copy of what it signed outside the database.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use holdstead_protocol::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Item, Patience, WriteError, Written};
use crate::checkpoint::Head;
use crate::db::{Db, Param, Snapshot};
use crate::round::Round;
use crate::{AuditKey, Checkpoint, StoreError, decode, owners_alone, rounds, sql};

/// How many journals are signed in one transaction.
const BATCH: usize = 100;

/// Which journals to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// Those that this process wrote to since it signed them last.
    Changed,
    /// All that grew since anybody signed them last.
    All,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kept {
    Checkpoint(Checkpoint),
    Round(Round),
}

/// A key, and the file beside the database that what it signs is written to.
#[derive(Debug)]
pub struct Notary {
    pub(crate) key: AuditKey,
    log: PathBuf,
    /// Signed, and not in the file yet.
    unlogged: Mutex<Vec<Kept>>,
    changed: Mutex<BTreeSet<SessionId>>,
}

impl Notary {
    pub fn new(key: AuditKey, log: impl Into<PathBuf>) -> Self {
        Self { key, log: log.into(), unlogged: Mutex::default(), changed: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.log
    }

    fn note(&self, sessions: impl IntoIterator<Item = SessionId>) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).extend(sessions);
    }

    /// Writes to the file what is in the database already, never the other way round: a line that the database lacks
    /// means that somebody took it from there. What cannot be written now is tried again with the next.
    pub(crate) async fn log(self: &Arc<Self>, signed: Vec<Kept>) -> Result<(), StoreError> {
        let notary = Arc::clone(self);
        let logged = tokio::task::spawn_blocking(move || {
            let mut unlogged = notary.unlogged.lock().unwrap_or_else(PoisonError::into_inner);
            unlogged.extend(signed);
            if !unlogged.is_empty() {
                append(&notary.log, &unlogged)?;
                unlogged.clear();
            }
            Ok(())
        });
        let logged =
            logged.await.map_err(std::io::Error::other).and_then(|logged: std::io::Result<()>| logged);
        logged.map_err(|error| StoreError::file(format!("write to {}", self.log.display()), &error))
    }
}

fn append(path: &Path, signed: &[Kept]) -> std::io::Result<()> {
    let mut file = owners_alone().read(true).append(true).create(true).open(path)?;
    let mut lines = Vec::new();
    // A crash may have left half a line. It must not spoil the next one.
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            lines.push(b'\n');
        }
    }
    for line in signed {
        serde_json::to_writer(&mut lines, line)?;
        lines.push(b'\n');
    }
    // One write, so that two processes cannot mix their lines.
    file.write_all(&lines)?;
    file.sync_data()
}

/// What is in a notary's file, with the numbers of the lines. Without a file there are none.
pub fn read_log(
    path: &Path,
) -> Result<impl Iterator<Item = (usize, Result<Kept, StoreError>)> + use<>, StoreError> {
    let what = format!("read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(StoreError::file(what, &error)),
    };
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines()).enumerate();
    Ok(lines.map(move |(index, line)| {
        let read = line.and_then(|line| Ok(serde_json::from_str(&line)?));
        (index + 1, read.map_err(|error| StoreError::file(what.clone(), &error)))
    }))
}

pub(crate) async fn sign(db: &dyn Db, notary: &Arc<Notary>, heads: Heads) -> Result<u64, StoreError> {
    let mut signed = 0;
    match heads {
        Heads::Changed => {
            let changed = std::mem::take(&mut *notary.changed.lock().unwrap_or_else(PoisonError::into_inner));
            let changed: Vec<_> = changed.into_iter().collect();
            for (index, some) in changed.chunks(BATCH).enumerate() {
                match sign_some(db, notary, some).await {
                    Ok(count) => signed += count,
                    Err(error) => {
                        notary.note(changed[index * BATCH..].iter().copied());
                        return Err(error);
                    }
                }
            }
        }
        Heads::All => {
            rounds::complete_log(db, notary).await?;
            let mut after = uuid::Uuid::nil();
            loop {
                let rows = db.query(sql::UNSIGNED, vec![Param::Id(after), Param::Int(BATCH as i64)]).await?;
                let some = rows.iter().map(|row| row.id("id").map(SessionId::from_uuid));
                let some = some.collect::<Result<Vec<_>, _>>()?;
                let Some(last) = some.last() else { break };
                after = last.uuid();
                signed += sign_some(db, notary, &some).await?;
            }
        }
    }
    // Also what could not be written before.
    notary.log(Vec::new()).await?;
    rounds::sign(db, notary).await?;
    Ok(signed)
}

/// Signs these journals, in the order of their ids: an insert waits for another node's of the same place.
async fn sign_some(db: &dyn Db, notary: &Arc<Notary>, sessions: &[SessionId]) -> Result<u64, StoreError> {
    let now = db.now().await?;
    let mut transaction = db.begin(None).await?;
    let mut signed = Vec::with_capacity(sessions.len());
    for session in sessions {
        let Some((head, last)) = head_and_last(&mut *transaction, *session).await? else { continue };
        if let Some(last) = &last {
            if (last.seq, last.hash) == (head.seq, head.hash) {
                continue;
            }
            if head.seq <= last.seq {
                tracing::error!(%session, head = %head.seq, signed = %last.seq,
                    "a journal ends before what was signed: it is not signed again. Run `holdstead audit verify`");
                continue;
            }
        }
        let checkpoint = Checkpoint::sign(&notary.key, head, last.as_ref(), now, None);
        if add(&mut *transaction, &checkpoint).await? {
            signed.push(Kept::Checkpoint(checkpoint));
        } else {
            // Another node was faster; what it signed may be less than what there is now.
            notary.note([*session]);
        }
    }
    transaction.commit().await?;
    let count = signed.len() as u64;
    notary.log(signed).await?;
    Ok(count)
}

/// Signs where a journal stands once more: what was said in it goes, or came back. Whoever does that without the key is found
/// out.
async fn sign_again(
    transaction: &mut dyn Snapshot,
    notary: &Notary,
    session: SessionId,
    at: Timestamp,
    erased_by: Option<String>,
) -> Result<Option<Checkpoint>, StoreError> {
    loop {
        let found = head_and_last(transaction, session).await?;
        let Some((head, last)) = found else { return Ok(None) };
        let checkpoint = Checkpoint::sign(&notary.key, head, last.as_ref(), at, erased_by.clone());
        // If another node signed the session meanwhile, that one comes first.
        if add(transaction, &checkpoint).await? {
            return Ok(Some(checkpoint));
        }
    }
}

/// The same with what was written before, all together.
pub(crate) async fn sign_and_commit(
    mut transaction: Box<dyn Snapshot>,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
    at: Timestamp,
    erased_by: Option<String>,
) -> Result<(), StoreError> {
    let signed = match notary {
        Some(notary) => sign_again(&mut *transaction, notary, session, at, erased_by).await?,
        None => None,
    };
    transaction.commit().await?;
    match (notary, signed) {
        (Some(notary), Some(signed)) => notary.log(vec![Kept::Checkpoint(signed)]).await,
        (_, _) => Ok(()),
    }
}

/// Where a journal stands, and what was signed about it last.
pub(crate) async fn head_and_last(
    transaction: &mut dyn Snapshot,
    session: SessionId,
) -> Result<Option<(Head, Option<Checkpoint>)>, StoreError> {
    let id = || vec![Param::Id(session.uuid())];
    let rows = transaction.query(sql::SESSION, id()).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let head = Head { session, seq: decode::seq(row, "last_seq")?, hash: decode::hash(row, "head_hash")? };
    let last = transaction.query(sql::LAST_CHECKPOINT, id()).await?;
    Ok(Some((head, last.first().map(decode::checkpoint).transpose()?)))
}

/// `false` if another node has taken its place meanwhile.
pub(crate) async fn add(transaction: &mut dyn Snapshot, checkpoint: &Checkpoint) -> Result<bool, StoreError> {
    let params = vec![
        Param::Id(checkpoint.session.uuid()),
        Param::Int(decode::count(checkpoint.number)),
        Param::Int(decode::number(checkpoint.seq)),
        Param::Bytes(checkpoint.hash.to_vec()),
        Param::Int(checkpoint.at.micros()),
        Param::Bytes(checkpoint.previous.to_vec()),
        Param::MaybeText(checkpoint.erased_by.clone()),
        Param::Bytes(checkpoint.key.0.to_vec()),
        Param::Bytes(checkpoint.signature.to_vec()),
    ];
    Ok(!transaction.query(sql::ADD_CHECKPOINT, params).await?.is_empty())
}

/// Between the batcher and the database: tells the notary what was written.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) notary: Arc<OnceLock<Arc<Notary>>>,
}

#[async_trait]
impl Backend for Noted {
    async fn write(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError> {
        let written = self.inner.write(items, patience).await;
        if let Some(notary) = self.notary.get() {
            match &written {
                Ok(written) => {
                    let done = items.iter().zip(written).filter(|(_, written)| is_done(written));
                    notary.note(done.map(|(item, _)| item.session));
                }
                // A commit without a reply may have happened. Signing twice is signing once.
                Err(_) => notary.note(items.iter().map(|item| item.session)),
            }
        }
        written
    }
}

fn is_done(written: &Written) -> bool {
    match written {
        Written::Done(result) => result.as_ref().as_ref().is_ok_and(|appended| !appended.events.is_empty()),
        Written::Busy => false,
    }
}
