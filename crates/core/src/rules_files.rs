//! Files of rules by their digests, as calls of an owner were last judged by them.

use holdstead_protocol::{Digest, RulesFileChanged, RulesFileOf, RunnerId, Timestamp};
use serde::{Deserialize, Serialize};

/// So many folders are remembered. One that was forgotten is recorded again when a call is judged there.
const MOST_PROJECTS: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesFiles {
    organisation: Option<Organisation>,
    /// The one that was recorded last is last.
    projects: Vec<Project>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Organisation {
    read_at: Timestamp,
    digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Project {
    runner: Option<RunnerId>,
    folder: String,
    digest: Digest,
}

/// What a file is beside what is recorded of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    Same,
    /// Nothing is recorded of it, or an older file.
    Other,
    /// Another gateway has read a newer one.
    Newer,
}

impl RulesFiles {
    pub fn compare(&self, file: &RulesFileChanged) -> Recorded {
        match &file.file {
            RulesFileOf::Organisation { read_at } => match &self.organisation {
                Some(known) if known.digest == file.digest => Recorded::Same,
                Some(known) if known.read_at > *read_at => Recorded::Newer,
                Some(_) | None => Recorded::Other,
            },
            RulesFileOf::Project { runner, folder } => match self.project(*runner, folder) {
                Some(known) if *known == file.digest => Recorded::Same,
                Some(_) | None => Recorded::Other,
            },
        }
    }

    /// The digest that is recorded of a folder's own rules.
    pub fn project(&self, runner: Option<RunnerId>, folder: &str) -> Option<&Digest> {
        let known = self.projects.iter().find(|known| known.runner == runner && known.folder == folder);
        known.map(|known| &known.digest)
    }

    pub fn knows_organisation(&self) -> bool {
        self.organisation.is_some()
    }

    pub(crate) fn take(&mut self, changed: &RulesFileChanged) {
        let digest = changed.digest.clone();
        match &changed.file {
            RulesFileOf::Organisation { read_at } => {
                self.organisation = Some(Organisation { read_at: *read_at, digest });
            }
            RulesFileOf::Project { runner, folder } => {
                self.projects.retain(|known| known.runner != *runner || known.folder != *folder);
                self.projects.push(Project { runner: *runner, folder: folder.clone(), digest });
                let forgotten = self.projects.len().saturating_sub(MOST_PROJECTS);
                self.projects.drain(..forgotten);
            }
        }
    }
}
