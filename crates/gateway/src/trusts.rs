//! Folders whose own files a person trusts. They are facts of an owner, beside the approvals for always.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdstead_agents::{FoundFiles, ProjectFiles};
use holdstead_core::{Command, Rejection};
use holdstead_protocol::api::{FolderFiles, TrustFolder};
use holdstead_protocol::{Digest, LeftOut, OwnerId, Trust, TrustId};
use holdstead_runner::{FolderIs, RULES_FILE, RulesFile, Runner};

use crate::choosing::Machine;
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
        runner: Option<&str>,
    ) -> Result<FolderFiles, GatewayError> {
        if agent != project::KIND {
            self.driver(agent)?;
        }
        let path = PathBuf::from(folder);
        let runner = self.runner_with(owner, agent, folder, runner).await?;
        let found = match agent {
            project::KIND => Some(look_at_rules(&runner, &path).await?),
            agent => runner.files(agent, &path).await?,
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
            unresolved: found.unresolved,
            trust_id: trusted.map(|trust| trust.trust_id),
        })
    }

    /// The runner that is named, or the first that has this folder: what is trusted is bound to the files' bytes, wherever they
    /// lie.
    async fn runner_with(
        &self,
        owner: &OwnerId,
        agent: &str,
        folder: &str,
        named: Option<&str>,
    ) -> Result<Arc<Runner>, GatewayError> {
        let candidates = match named {
            Some(name) => vec![self.choose_machine(owner, Some(name)).await?],
            None => self.machines_for(owner).await?,
        };
        let mut not_there = if candidates.is_empty() {
            GatewayError::NoRunner
        } else {
            GatewayError::NoFolder { cwd: folder.to_owned() }
        };
        for machine in candidates.iter().filter(|_| Path::new(folder).is_absolute()) {
            match machine {
                Machine::Here(attached) => {
                    if attached.runner.folder(agent, folder).await? != FolderIs::Missing {
                        return Ok(Arc::clone(&attached.runner));
                    }
                }
                Machine::Elsewhere(known) => {
                    let (name, node) = (known.name.clone(), known.node_name.clone());
                    not_there = GatewayError::RunnerElsewhere { name, node };
                }
            }
        }
        Err(not_there)
    }

    /// Trusts what was shown. If it is not what is there now, nothing is trusted.
    pub async fn trust(&self, person: &Person, wanted: TrustFolder) -> Result<Trust, GatewayError> {
        let now =
            self.folder_files(&person.owner, &wanted.agent, &wanted.folder, wanted.runner.as_deref()).await?;
        let digest = match now.digest {
            Some(digest) if digest == wanted.digest => digest,
            Some(_) => return Err(GatewayError::FilesChanged { folder: now.folder }),
            None if now.files.is_empty() => return Err(GatewayError::NothingToTrust { folder: now.folder }),
            None => {
                let why = why_not(&now.unresolved);
                return Err(GatewayError::CannotTrust { folder: now.folder, why });
            }
        };
        let given_at = self.inner.journal.now().await?;
        let confirmation = self.confirm_trust(person, &wanted).await?;
        let trust = Trust {
            trust_id: TrustId::of(&now.agent, &now.folder, &digest),
            agent: now.agent,
            folder: now.folder,
            digest,
            files: now.files,
            given_by: person.name.clone(),
            given_at,
        };
        let command = Command::Trust(Box::new(trust.clone()));
        let written = owner_journal::append_to_owner(self, &person.owner, command).await;
        self.after_confirmation(confirmation, written).await?;
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
        runner: &Arc<Runner>,
        cwd: &Path,
    ) -> Result<Option<String>, GatewayError> {
        let trusts = self.trusts(owner).await?;
        Ok(project::left_out(&runner.ground(cwd, Vec::new()).await?, &trusts))
    }

    /// Whether an agent that is started here gets the folder's own files, and what it is started without.
    pub(crate) async fn project_files(
        &self,
        owner: &OwnerId,
        runner: &Arc<Runner>,
        agent: &str,
        cwd: &Path,
    ) -> Result<(ProjectFiles, Option<LeftOut>), GatewayError> {
        let Some(found) = runner.files(agent, cwd).await? else {
            return Ok((ProjectFiles::Closed, None));
        };
        let trusts = self.trusts(owner).await?;
        if trusts.iter().any(|trust| covers(trust, agent, &found)) {
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
async fn look_at_rules(runner: &Arc<Runner>, folder: &Path) -> Result<FoundFiles, GatewayError> {
    let ground = runner.ground(folder, Vec::new()).await?;
    let files = match ground.rules {
        RulesFile::None => Vec::new(),
        RulesFile::Text { .. } | RulesFile::Wrong { .. } => vec![RULES_FILE.to_owned()],
    };
    let digest = project::digest_of(&ground.rules);
    Ok(FoundFiles {
        folder: PathBuf::from(ground.folder),
        files,
        instructions: Vec::new(),
        digest,
        unresolved: Vec::new(),
        runs: Vec::new(),
    })
}

fn covers(trust: &Trust, agent: &str, found: &FoundFiles) -> bool {
    let same = |digest: &Digest| *digest == trust.digest;
    trust.agent == agent && trust.folder == shown(&found.folder) && found.digest.as_ref().is_some_and(same)
}

/// Why files cannot be trusted.
fn why_not(unresolved: &[String]) -> String {
    match unresolved {
        [] => "they are too many, too large, or lead out of the folder".to_owned(),
        unresolved => unresolved.join("; "),
    }
}

fn words(found: &FoundFiles) -> String {
    let all: Vec<_> = found.files.iter().chain(&found.instructions).map(String::as_str).collect();
    let more = all.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = all[..all.len().min(NAMED)].join(", ");
    let then = if found.digest.is_some() {
        "Trust them, and the next start of an agent here has them.".to_owned()
    } else {
        format!("They cannot be trusted: {}.", why_not(&found.unresolved))
    };
    format!(
        "The agent started without this folder's own files: {named}{rest}. Nobody trusts them as they are. {then}"
    )
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
