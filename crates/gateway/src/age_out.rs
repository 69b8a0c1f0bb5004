//! Ended sessions in which nothing happened for long go to files, and leave their lines in the journal: they can be brought back.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdstead_protocol::{AgentState, SessionId, Timestamp};
use holdstead_store::{EraseError, SessionRecord, owners_alone};

use crate::{Gateway, GatewayError};

/// When sessions go, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgeOut {
    pub after: Duration,
    pub to: PathBuf,
}

impl Gateway {
    /// Whether it went.
    pub(crate) async fn age_out(&self, record: &SessionRecord, now: Timestamp) -> Result<bool, GatewayError> {
        let Some(AgeOut { after, to }) = &self.inner.config.age_out else { return Ok(false) };
        if record.state.agent != AgentState::Ended || now.since(record.changed_at) < *after {
            return Ok(false);
        }
        let report = self.inner.journal.verify(record.id).await?;
        if let Some(fault) = report.fault {
            tracing::error!(session = %record.id, %fault, "it stays: it is not what was written");
            return Ok(false);
        }
        // Words may have been put together since it was read.
        let Some(record) = self.inner.journal.session(record.id).await? else { return Ok(false) };
        let file = to.join(format!("{}.jsonl", record.id));
        if let Err(error) = self.write_out(record.id, &file).await {
            tracing::error!(session = %record.id, file = %file.display(), %error, "it stays: its file cannot be written");
            return Ok(false);
        }
        match self.inner.journal.age_out(record.id, &file.to_string_lossy(), record.head).await {
            Ok(_) => Ok(true),
            Err(EraseError::Store(error)) => Err(error.into()),
            // Something happened after all.
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
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(std::fs::rename(&partial, file)?)
    }
}
