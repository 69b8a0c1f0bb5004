//! What is remembered for an owner in every session: rules and approvals for always, trusted folders. It stands in a small
//! journal of the owner's own.

use holdstead_core::{Command, Rejection};
use holdstead_protocol::{Grant, OwnerId, SessionId, SessionOpened};
use holdstead_store::SessionRecord;

use crate::{Gateway, GatewayError};

/// The name under which an owner's own journal is opened.
const OWNER_JOURNAL: &str = "owner";

pub(crate) async fn of_owner(gateway: &Gateway, owner: &OwnerId) -> Result<Vec<Grant>, GatewayError> {
    let record = gateway.inner.journal.session(journal_of(owner)).await?;
    Ok(record.map(|record| record.state.grants.into_values().collect()).unwrap_or_default())
}

/// The owner's own journal, which is opened if it is not there: only what is there can be compared with what it was.
pub(crate) async fn record_of(gateway: &Gateway, owner: &OwnerId) -> Result<SessionRecord, GatewayError> {
    let journal = journal_of(owner);
    if let Some(record) = gateway.inner.journal.session(journal).await? {
        return Ok(record);
    }
    open(gateway, owner).await?;
    gateway.inner.journal.session(journal).await?.ok_or(GatewayError::NoSession)
}

/// Opens the owner's own journal. Another caller may have opened it first.
async fn open(gateway: &Gateway, owner: &OwnerId) -> Result<(), GatewayError> {
    match gateway.append(journal_of(owner), Command::Open(Box::new(opening(owner)))).await {
        Ok(_) | Err(GatewayError::Rejected(Rejection::AlreadyOpen)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Remembers an approval for good. Saving it twice saves it once.
pub(crate) async fn remember(gateway: &Gateway, owner: &OwnerId, grant: Grant) -> Result<(), GatewayError> {
    append_to_owner(gateway, owner, Command::Grant(grant)).await
}

/// Appends to the owner's own journal, which is opened by the first who does.
pub(crate) async fn append_to_owner(
    gateway: &Gateway,
    owner: &OwnerId,
    command: Command,
) -> Result<(), GatewayError> {
    let journal = journal_of(owner);
    match gateway.append(journal, command.clone()).await {
        Err(GatewayError::Rejected(Rejection::NotOpened)) => {
            open(gateway, owner).await?;
            gateway.append(journal, command).await?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

/// It holds what is remembered for the owner; nobody talks in it.
pub(crate) fn is_owners_journal(record: &SessionRecord) -> bool {
    record.opened.agent == OWNER_JOURNAL
}

pub(crate) fn journal_of(owner: &OwnerId) -> SessionId {
    SessionId::derive(owner, OWNER_JOURNAL)
}

fn opening(owner: &OwnerId) -> SessionOpened {
    SessionOpened::new(owner.clone(), OWNER_JOURNAL)
}
