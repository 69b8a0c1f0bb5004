//! Moves ended sessions in which nothing happened for long to files. Their lines stay in the journal, and `holdstead import`
//! brings one back.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdstead_protocol::{AgentState, SessionId, Timestamp};
use holdstead_store::{EraseError, SessionRecord, StoreError, owners_alone};
use tokio::time::sleep;

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
        if let Err(error) = self.write_out(record.id, &file).await {
            tracing::error!(session = %record.id, file = %file.display(), %error, "this session stays: its file cannot be written");
            return Ok(false);
        }
        match self.inner.journal.age_out(record.id, &file.to_string_lossy(), record.head).await {
            Ok(_) => Ok(true),
            Err(EraseError::Store(error)) => Err(error.into()),
            // Something happened in it meanwhile.
            Err(EraseError::NoSession | EraseError::NotEnded | EraseError::StillGoing) => Ok(false),
        }
    }

    /// It has its name when all of it is on the disk.
    async fn write_out(
        &self,
        session: SessionId,
        file: &Path,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let partial = file.with_extension("partial");
        let mut out = BufWriter::new(owners_alone().create(true).truncate(true).open(&partial)?);
        self.inner.journal.export(session, &mut out).await?;
        let out = out.into_inner().map_err(IntoInnerError::into_error)?;
        let file = file.to_owned();
        tokio::task::spawn_blocking(move || give_name(&out, &partial, &file)).await??;
        Ok(())
    }
}

/// The journal drops its copy after this, so the name has to be on the disk as well: a folder keeps it, and a file does not.
fn give_name(out: &File, partial: &Path, file: &Path) -> std::io::Result<()> {
    out.sync_all()?;
    std::fs::rename(partial, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
