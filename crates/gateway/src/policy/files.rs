//! Files of rules, recorded by their digests in the owner's journal. A gateway reads a file at its own time; what counts is the
//! newest that was recorded, and a change of it has every call judged again that is not durable yet.

use holdstead_core::policy::rule::RuleFile;
use holdstead_core::{Command, Recorded, Rejection, digest};
use holdstead_protocol::{Digest, RulesFileChanged, RulesFileOf, Timestamp};
use holdstead_runner::{Ground, RulesFile, rules_digest};
use serde_json::json;
use tokio::sync::OnceCell;

use super::{PolicyConfig, RulesRead, project};
use crate::{Gateway, GatewayError};

/// What the files that this gateway read are beside those that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    Current,
    /// A gateway that was started later has other rules of the organisation.
    Outdated,
}

/// The organisation's rules, as this gateway was started with them.
#[derive(Debug)]
pub(crate) struct OrganisationRules {
    digest: Digest,
    is_empty: bool,
    /// By the journal's clock.
    read_at: OnceCell<Timestamp>,
}

impl OrganisationRules {
    pub(crate) fn new(policy: &PolicyConfig) -> Self {
        Self {
            digest: digest(&json!(format!("{policy:?}"))),
            is_empty: policy.marked_words.is_empty() && policy.rules == RuleFile::default(),
            read_at: OnceCell::new(),
        }
    }
}

impl Gateway {
    /// A store that is away at the start keeps no gateway from starting.
    pub(crate) fn note_when_rules_were_read(&self) {
        let gateway = self.clone();
        self.inner.tasks.spawn(async move {
            // It ends without one only when the gateway stops.
            let _read_at = gateway.patiently(|| gateway.rules_read_at()).await;
        });
    }

    async fn rules_read_at(&self) -> Result<Timestamp, GatewayError> {
        let read_at = self.inner.organisation.read_at.get_or_try_init(|| self.inner.journal.now()).await;
        Ok(*read_at?)
    }

    /// Records files that changed. The rules are read again after that: `RulesChanged`.
    pub(super) async fn record_files(
        &self,
        read: &RulesRead,
        ground: &Ground,
    ) -> Result<Files, GatewayError> {
        let Some(owner) = &read.owner else { return Ok(Files::Current) };
        let known = &owner.state.rules_files;
        let mut changed = Vec::new();
        let organisation = &self.inner.organisation;
        if known.knows_organisation() || !organisation.is_empty {
            let file = RulesFileOf::Organisation { read_at: self.rules_read_at().await? };
            changed.push(RulesFileChanged { file, digest: organisation.digest.clone() });
        }
        let (runner, folder) = (read.record.state.runner, ground.folder.clone());
        if known.project(runner, &folder).is_some() || ground.rules != RulesFile::None {
            // One that cannot be read has no rules that count: it is recorded as such.
            let digest = project::digest_of(&ground.rules).unwrap_or_else(|| rules_digest(b"unreadable"));
            changed.push(RulesFileChanged { file: RulesFileOf::Project { runner, folder }, digest });
        }
        for changed in changed {
            match known.compare(&changed) {
                Recorded::Same => {}
                Recorded::Newer => return Ok(Files::Outdated),
                Recorded::Other => {
                    let after = owner.state.rules_seq;
                    self.append(owner.id, Command::SeeRulesFile { changed, after }).await?;
                    return Err(Rejection::RulesChanged.into());
                }
            }
        }
        Ok(Files::Current)
    }
}
