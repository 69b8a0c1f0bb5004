//! Always-grants: facts of an owner, in a small journal of the owner's own.

use holdpoint_core::{Command, Rejection};
use holdpoint_protocol::{Grant, GrantId, OwnerId, Scope, SessionId, SessionOpened};

use holdpoint_store::SessionRecord;

use crate::{Gateway, GatewayError, Person};

/// The name under which an owner's own journal is opened.
const OWNER_JOURNAL: &str = "owner";

pub(crate) async fn of_owner(gateway: &Gateway, owner: &OwnerId) -> Result<Vec<Grant>, GatewayError> {
    let record = gateway.inner.journal.session(journal_of(owner)).await?;
    Ok(record.map(|record| record.state.grants.into_values().collect()).unwrap_or_default())
}

/// Remembers an approval for good. Saving it twice saves it once.
pub(crate) async fn remember(gateway: &Gateway, owner: &OwnerId, grant: Grant) -> Result<(), GatewayError> {
    let journal = journal_of(owner);
    match gateway.append(journal, Command::Grant(grant.clone())).await {
        Err(GatewayError::Rejected(Rejection::NotOpened)) => {
            match gateway.append(journal, Command::Open(opening(owner))).await {
                Ok(_) | Err(GatewayError::Rejected(Rejection::AlreadyOpen)) => {}
                Err(error) => return Err(error),
            }
            gateway.append(journal, Command::Grant(grant)).await?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

impl Gateway {
    /// What is remembered for an owner, in all sessions.
    pub async fn grants(&self, owner: &OwnerId) -> Result<Vec<Grant>, GatewayError> {
        let mut grants = of_owner(self, owner).await?;
        grants.retain(|grant| grant.scope == Scope::Always);
        Ok(grants)
    }

    /// Takes one back: the next match asks.
    pub async fn revoke(&self, person: &Person, grant_id: GrantId) -> Result<(), GatewayError> {
        let command = Command::Revoke { grant_id, name: person.name.clone() };
        match self.append(journal_of(&person.owner), command).await {
            Ok(_) => Ok(()),
            Err(GatewayError::Rejected(Rejection::NotOpened)) => {
                Err(GatewayError::Rejected(Rejection::UnknownGrant))
            }
            Err(error) => Err(error),
        }
    }
}

/// It holds what is remembered for the owner; nobody talks in it.
pub(crate) fn is_owners_journal(record: &SessionRecord) -> bool {
    record.opened.agent == OWNER_JOURNAL
}

fn journal_of(owner: &OwnerId) -> SessionId {
    SessionId::derive(owner, OWNER_JOURNAL)
}

fn opening(owner: &OwnerId) -> SessionOpened {
    SessionOpened::new(owner.clone(), OWNER_JOURNAL)
}
