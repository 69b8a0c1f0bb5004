//! Agents in people's own terminals: each conversation is a session of its machine's owner, which appears by itself.

use holdstead_agents::Appeared;
use holdstead_core::{Command, Listener, Rejection};
use holdstead_protocol::{OwnerId, SessionId, SessionOpened};
use holdstead_store::SessionRecord;

use crate::runners::{Attached, OWN};
use crate::{Gateway, GatewayError};

/// Whose words they are that somebody typed there. Nobody was asked for a name.
pub(crate) const TYPED_BY: &str = "terminal";

impl Gateway {
    /// Takes up the terminals of this gateway's own machine, as sessions of this owner. Goes on for as long as it is polled.
    pub async fn take_up_terminals(&self, owner: &OwnerId) {
        self.take_up_terminals_of(&self.inner.runners.own(), owner).await;
    }

    pub(crate) async fn take_up_terminals_of(&self, attached: &Attached, owner: &OwnerId) {
        loop {
            let appeared = attached.runner.appears().await;
            match self.take_up_terminal(attached, owner, &appeared).await {
                Ok(()) => {}
                Err(GatewayError::Closing) => return,
                Err(error) => {
                    tracing::error!(agent = appeared.agent, %error, "a terminal's conversation is not shown");
                }
            }
        }
    }

    async fn take_up_terminal(
        &self,
        attached: &Attached,
        owner: &OwnerId,
        appeared: &Appeared,
    ) -> Result<(), GatewayError> {
        self.driver(&appeared.agent)?;
        let machine = attached.id().map_or_else(|| OWN.to_owned(), |id| id.to_string());
        let name = format!("terminal/{machine}/{}/{}", appeared.agent, appeared.agent_ref);
        let session = SessionId::derive(owner, &name);
        let opened = SessionOpened {
            cwd: Some(appeared.cwd.clone()),
            runner: attached.id(),
            terminal: Some(appeared.agent_ref.clone()),
            ..SessionOpened::new(owner.clone(), &appeared.agent)
        };
        if self.patiently(|| self.inner.journal.session(session)).await?.is_none() {
            self.inner.runners.new_terminals_of(attached.id()).take().await;
        }
        let open = || async {
            match self.append(session, Command::Open(Box::new(opened.clone()))).await {
                // It comes back.
                Ok(_) | Err(GatewayError::Rejected(Rejection::AlreadyOpen)) => Ok(()),
                Err(error) => Err(error),
            }
        };
        self.patiently(open).await?;
        let Some(record) = self.patiently(|| self.inner.journal.session(session)).await? else {
            return Err(GatewayError::NoSession);
        };
        attached.runner.shows(session);
        self.with_task(session, &record.state, |task| task.wake());
        Ok(())
    }

    /// What this node knows of the program that a message is for.
    pub(crate) fn listener(&self, record: &SessionRecord) -> Listener {
        match (self.listening(record.id), self.attached(&record.state)) {
            (Some(_), _) => Listener::Here,
            (None, Some(_)) => Listener::NotHere,
            (None, None) => Listener::Elsewhere,
        }
    }
}
