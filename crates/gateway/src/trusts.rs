//! Folders whose own files a person trusts. They are facts of an owner, beside the approvals for always.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdstead_agents::{Driver, FoundFiles, ProjectFiles};
use holdstead_core::{Command, Rejection};
use holdstead_protocol::api::{FolderFiles, TrustFolder};
use holdstead_protocol::{Digest, LeftOut, OwnerId, Trust, TrustId};

use crate::policy::project;
use crate::{Gateway, GatewayError, Person, owner_journal};

/// How many files the words name.
const NAMED: usize = 6;

impl Gateway {
    /// The folders that somebody trusts for this owner.
    pub async fn trusts(&self, owner: &OwnerId) -> Result<Vec<Trust>, GatewayError> {
        let record = self.inner.journal.session(owner_journal::journal_of(owner)).await?;
        Ok(record.map(|record| record.state.trusts.into_values().collect()).unwrap_or_default())
    }

    /// What a folder brings for an agent, as it is now.
    pub async fn folder_files(
        &self,
        owner: &OwnerId,
        agent: &str,
        folder: &str,
    ) -> Result<FolderFiles, GatewayError> {
        let driver = if agent == project::KIND { None } else { Some(self.driver(agent)?) };
        let path = PathBuf::from(folder);
        if !path.is_absolute() || !path.is_dir() {
            return Err(GatewayError::NoFolder { cwd: folder.to_owned() });
        }
        let found = match driver {
            Some(driver) => look(driver, path).await,
            None => look_at_rules(path).await,
        };
        let Some(found) = found else {
            let folder = folder.to_owned();
            return Ok(FolderFiles { agent: agent.to_owned(), folder, ..FolderFiles::default() });
        };
        let trusted = self.trusts(owner).await?.into_iter().find(|trust| covers(trust, agent, &found));
        Ok(FolderFiles {
            agent: agent.to_owned(),
            folder: shown(&found.folder),
            files: found.files,
            instructions: found.instructions,
            digest: found.digest,
            trust_id: trusted.map(|trust| trust.trust_id),
        })
    }

    /// Trusts what was shown. If it is not what is there now, nothing is trusted.
    pub async fn trust(&self, person: &Person, wanted: TrustFolder) -> Result<Trust, GatewayError> {
        let now = self.folder_files(&person.owner, &wanted.agent, &wanted.folder).await?;
        let digest = match now.digest {
            Some(digest) if digest == wanted.digest => digest,
            Some(_) => return Err(GatewayError::FilesChanged { folder: now.folder }),
            None if now.files.is_empty() => return Err(GatewayError::NothingToTrust { folder: now.folder }),
            None => return Err(GatewayError::CannotTrust { folder: now.folder }),
        };
        let trust = Trust {
            trust_id: TrustId::of(&now.agent, &now.folder, &digest),
            agent: now.agent,
            folder: now.folder,
            digest,
            files: now.files,
            given_by: person.name.clone(),
            given_at: self.inner.journal.now().await?,
        };
        owner_journal::append_to_owner(self, &person.owner, Command::Trust(Box::new(trust.clone()))).await?;
        Ok(trust)
    }

    /// Takes it back: the next start of an agent there is without them.
    pub async fn distrust(&self, person: &Person, trust_id: TrustId) -> Result<(), GatewayError> {
        let command = Command::Distrust { trust_id, name: person.name.clone() };
        match self.append(owner_journal::journal_of(&person.owner), command).await {
            Ok(_) => Ok(()),
            Err(GatewayError::Rejected(Rejection::NotOpened)) => {
                Err(GatewayError::Rejected(Rejection::UnknownTrust))
            }
            Err(error) => Err(error),
        }
    }

    /// What of a folder's own rules does not count, in words.
    pub(crate) async fn rules_left_out(
        &self,
        owner: &OwnerId,
        cwd: &Path,
    ) -> Result<Option<String>, GatewayError> {
        let (trusts, cwd) = (self.trusts(owner).await?, cwd.to_owned());
        let look = move || cwd.canonicalize().ok().and_then(|folder| project::left_out(&folder, &trusts));
        Ok(tokio::task::spawn_blocking(look).await.ok().flatten())
    }

    /// Whether an agent that is started here gets the folder's own files, and what it is started without.
    pub(crate) async fn project_files(
        &self,
        owner: &OwnerId,
        driver: &Arc<dyn Driver>,
        cwd: &Path,
    ) -> Result<(ProjectFiles, Option<LeftOut>), GatewayError> {
        let Some(found) = look(Arc::clone(driver), cwd.to_owned()).await else {
            return Ok((ProjectFiles::Closed, None));
        };
        let trusts = self.trusts(owner).await?;
        if trusts.iter().any(|trust| covers(trust, driver.name(), &found)) {
            return Ok((ProjectFiles::Trusted, None));
        }
        let left_out = LeftOut {
            message: words(&found),
            folder: shown(&found.folder),
            files: found.files,
            instructions: found.instructions,
            digest: found.digest,
        };
        Ok((ProjectFiles::Closed, Some(left_out)))
    }
}

/// A folder's rules, and with them whatever its repository runs: rules allow that only in a folder that is trusted.
async fn look_at_rules(folder: PathBuf) -> Option<FoundFiles> {
    let look = move || {
        let folder = folder.canonicalize().ok()?;
        let found = project::find(&folder);
        let files = match found {
            project::Found::Nothing => Vec::new(),
            project::Found::Rules { .. } | project::Found::Wrong { .. } => vec![project::FILE.to_owned()],
        };
        Some(FoundFiles { folder, files, instructions: Vec::new(), digest: found.digest() })
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Reading them may take a moment. If it fails, nothing is trusted.
async fn look(driver: Arc<dyn Driver>, folder: PathBuf) -> Option<FoundFiles> {
    tokio::task::spawn_blocking(move || driver.project_files(&folder)).await.ok().flatten()
}

fn covers(trust: &Trust, agent: &str, found: &FoundFiles) -> bool {
    let same = |digest: &Digest| *digest == trust.digest;
    trust.agent == agent && trust.folder == shown(&found.folder) && found.digest.as_ref().is_some_and(same)
}

fn words(found: &FoundFiles) -> String {
    let all: Vec<_> = found.files.iter().chain(&found.instructions).map(String::as_str).collect();
    let more = all.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = all[..all.len().min(NAMED)].join(", ");
    let then = if found.digest.is_some() {
        "Trust them, and the next start of an agent here has them."
    } else {
        "They cannot be trusted: they are too many, too large, or lead out of the folder."
    };
    format!(
        "The agent started without this folder's own files: {named}{rest}. Nobody trusts them as they are. {then}"
    )
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
