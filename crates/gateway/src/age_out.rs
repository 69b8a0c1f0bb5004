//! Moves ended sessions in which nothing happened for long to files. Their lines stay in the journal, and `holdstead import`
//! brings one back.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, IntoInnerError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdstead_protocol::{AgentState, SessionId, Timestamp};
use holdstead_store::{EraseError, Going, SessionRecord, StoreError, owners_alone};
use tokio::time::sleep;
use uuid::Uuid;

use crate::node::Node;
use crate::{Gateway, GatewayError};

/// From the start of the gateway to the first round, and from then on between rounds.
const FIRST: Duration = Duration::from_secs(10 * 60);
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many sessions one query lists.
const PAGE: u32 = 200;

/// When sessions go, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgeOut {
    pub after: Duration,
    pub to: PathBuf,
}

/// For as long as the gateway runs, if its settings ask for it.
pub(crate) async fn run(gateway: Gateway) {
    let Some(age_out) = &gateway.inner.config.age_out else { return };
    match gateway.clean(&age_out.to) {
        Ok(()) => {}
        // Nothing went there yet.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "files that are not whole were not removed"),
    }
    let shutdown = gateway.shutdown_token();
    let every_day = async {
        sleep(FIRST).await;
        loop {
            match gateway.age_out_all(age_out).await {
                Ok(0) => {}
                Ok(sessions) => tracing::info!(sessions, "old sessions were moved to files"),
                Err(error) => tracing::warn!(%error, "ageing out failed; the next attempt is in 24 hours"),
            }
            sleep(EVERY).await;
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = every_day => {}
    }
}

impl Gateway {
    /// Returns how many sessions went.
    async fn age_out_all(&self, age_out: &AgeOut) -> Result<u64, GatewayError> {
        let (mut gone, mut after) = (0, None);
        let now = self.inner.journal.now().await?;
        loop {
            let page = self.inner.journal.journals(after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(gone) };
            after = Some(*last);
            for session in page.into_iter().filter(|session| self.is_ours_to_age_out(*session)) {
                match self.inner.journal.session(session).await {
                    Ok(Some(record)) => gone += u64::from(self.age_out(age_out, &record, now).await?),
                    // A newer node does it.
                    Ok(None) | Err(StoreError::NewerVersion { .. }) => {}
                    Err(error @ StoreError::Corrupt { .. }) => {
                        tracing::error!(%session, %error, "this session stays: it cannot be read");
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Of several nodes, one does it.
    fn is_ours_to_age_out(&self, session: SessionId) -> bool {
        self.inner.node.as_ref().is_none_or(|node| node.is_its_turn(session))
    }

    /// Whether it went.
    async fn age_out(
        &self,
        AgeOut { after, to }: &AgeOut,
        record: &SessionRecord,
        now: Timestamp,
    ) -> Result<bool, GatewayError> {
        let is_old = record.state.agent == AgentState::Ended && now.since(record.changed_at) >= *after;
        if !is_old || record.erased.is_some() {
            return Ok(false);
        }
        let report = self.inner.journal.verify(record.id).await?;
        if let Some(fault) = report.fault {
            tracing::error!(session = %record.id, %fault, "this session stays: its journal does not verify");
            return Ok(false);
        }
        let file = to.join(format!("{}.jsonl", record.id));
        let partial = Partial(to.join(format!("{}.{}", record.id, self.partial())));
        let kept = |error: &dyn std::fmt::Display| {
            tracing::error!(session = %record.id, file = %file.display(), %error, "this session stays: its file cannot be written");
        };
        if let Err(error) = self.write_out(record.id, &partial.0).await {
            kept(&error);
            return Ok(false);
        }
        let (name, member) =
            (file.to_string_lossy().into_owned(), self.inner.node.as_ref().map(Node::member));
        let going = Going::new(name, record.head, member, {
            let (partial, file) = (partial.0.clone(), file.clone());
            move || give_name(&partial, &file)
        });
        match self.inner.journal.age_out(record.id, going).await {
            Ok(_) => Ok(true),
            Err(EraseError::Store(error)) => Err(error.into()),
            Err(error @ EraseError::NoFile(_)) => {
                kept(&error);
                Ok(false)
            }
            // Something happened in it meanwhile, or another node sees to it.
            Err(
                EraseError::NoSession | EraseError::NotEnded | EraseError::StillGoing | EraseError::LostPlace,
            ) => Ok(false),
        }
    }

    /// How a file of this node ends that is not whole.
    fn partial(&self) -> String {
        let node = self.inner.node.as_ref().map_or_else(Uuid::nil, |node| node.id.uuid());
        format!("{node}.partial")
    }

    /// Removes what this node began to write and was killed over.
    fn clean(&self, folder: &Path) -> std::io::Result<()> {
        let ours = self.partial();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(&ours) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// All of it is on the disk after this.
    async fn write_out(
        &self,
        session: SessionId,
        partial: &Path,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if let Some(folder) = partial.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut out = BufWriter::new(owners_alone().create(true).truncate(true).open(partial)?);
        self.inner.journal.export(session, &mut out).await?;
        let out = out.into_inner().map_err(IntoInnerError::into_error)?;
        tokio::task::spawn_blocking(move || out.sync_all()).await??;
        Ok(())
    }
}

/// A file that is not whole, until it has its name.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.0) {
            Ok(()) => {}
            // It has its name, or was never made.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(file = %self.0.display(), %error, "a file that is not whole was not removed")
            }
        }
    }
}

/// The journal drops its copy after this, so the name has to be on the disk as well: a folder keeps it, and a file does not.
fn give_name(partial: &Path, file: &Path) -> std::io::Result<()> {
    std::fs::rename(partial, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
