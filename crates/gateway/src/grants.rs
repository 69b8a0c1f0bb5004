//! Remembered approvals. Those for always are facts of an owner, in a small journal of the owner's own; those for a session
//! are in the session's.

use holdstead_core::{Command, Rejection};
use holdstead_protocol::api::ListedGrant;
use holdstead_protocol::{AgentState, Grant, GrantId, OwnerId, Scope, SessionId, SessionOpened};

use holdstead_store::{SessionQuery, SessionRecord};

use crate::{Gateway, GatewayError, Person};

/// The name under which an owner's own journal is opened.
const OWNER_JOURNAL: &str = "owner";
/// In how many sessions remembered approvals are looked for.
const SESSIONS: u32 = 200;

pub(crate) async fn of_owner(gateway: &Gateway, owner: &OwnerId) -> Result<Vec<Grant>, GatewayError> {
    let record = gateway.inner.journal.session(journal_of(owner)).await?;
    Ok(record.map(|record| record.state.grants.into_values().collect()).unwrap_or_default())
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
            match gateway.append(journal, Command::Open(Box::new(opening(owner)))).await {
                Ok(_) | Err(GatewayError::Rejected(Rejection::AlreadyOpen)) => {}
                Err(error) => return Err(error),
            }
            gateway.append(journal, command).await?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

impl Gateway {
    /// What is remembered for an owner: always, and in those of the newest sessions that go on.
    pub async fn grants(&self, owner: &OwnerId) -> Result<Vec<ListedGrant>, GatewayError> {
        let always = of_owner(self, owner).await?.into_iter().filter(|grant| grant.scope == Scope::Always);
        let mut listed: Vec<_> =
            always.map(|grant| ListedGrant { grant, session_id: None, session_title: None }).collect();
        let newest = SessionQuery { owner: owner.clone(), before: None, states: Vec::new(), limit: SESSIONS };
        for session in self.inner.journal.sessions(newest).await? {
            if session.state.agent == AgentState::Ended {
                continue;
            }
            let (id, title) = (session.id, session.opened.title);
            let grants = session.state.grants.into_values().filter(|grant| grant.scope == Scope::Session);
            listed.extend(grants.map(|grant| ListedGrant {
                grant,
                session_id: Some(id),
                session_title: title.clone(),
            }));
        }
        Ok(listed)
    }

    /// Takes one back: the next match asks. One that is for a session is named with it.
    pub async fn revoke(
        &self,
        person: &Person,
        grant_id: GrantId,
        session: Option<SessionId>,
    ) -> Result<(), GatewayError> {
        let command = Command::Revoke { grant_id, name: person.name.clone() };
        let journal = match session {
            Some(session) => self.record(&person.owner, session).await?.id,
            None => journal_of(&person.owner),
        };
        match self.append(journal, command).await {
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

pub(crate) fn journal_of(owner: &OwnerId) -> SessionId {
    SessionId::derive(owner, OWNER_JOURNAL)
}

fn opening(owner: &OwnerId) -> SessionOpened {
    SessionOpened::new(owner.clone(), OWNER_JOURNAL)
}
