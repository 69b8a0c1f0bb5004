//! Agents in people's own terminals: each conversation is a session of its machine's owner, which appears by itself.

use holdstead_agents::{Appeared, MessagesInTerminal};
use holdstead_core::{Command, Listener, Rejection};
use holdstead_protocol::api::Messages;
use holdstead_protocol::{AgentState, OwnerId, SessionId, SessionOpened};
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
        let conversation = format!("{machine}/{}/{}", appeared.agent, appeared.agent_ref);
        let (session, is_new) = self.session_of_terminal(owner, &conversation).await?;
        let opened = SessionOpened {
            cwd: Some(appeared.cwd.clone()),
            runner: attached.id(),
            terminal: Some(appeared.agent_ref.clone()),
            ..SessionOpened::new(owner.clone(), &appeared.agent)
        };
        if is_new {
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

    /// The session of a conversation, and whether it has yet to be opened. A person who ends a session does not stop the
    /// program in the terminal: its conversation continues in the next session of its name.
    async fn session_of_terminal(
        &self,
        owner: &OwnerId,
        conversation: &str,
    ) -> Result<(SessionId, bool), GatewayError> {
        let mut session = SessionId::derive(owner, &format!("terminal/{conversation}"));
        let mut ended = 0;
        while let Some(record) = self.patiently(|| self.inner.journal.session(session)).await? {
            if record.state.agent != AgentState::Ended {
                return Ok((session, false));
            }
            ended += 1;
            // The number stands first: a program chooses how the name of its conversation ends.
            session = SessionId::derive(owner, &format!("terminal {ended}/{conversation}"));
        }
        Ok((session, true))
    }

    pub(crate) fn messages(&self, record: &SessionRecord) -> Messages {
        match (record.opened.terminal.is_some(), record.state.alive) {
            (true, None) => Messages::TerminalAway,
            (true, Some(_)) if !self.takes_messages(record) => Messages::TypedInTerminal,
            (true, Some(_)) | (false, _) => Messages::Taken,
        }
    }

    fn takes_messages(&self, record: &SessionRecord) -> bool {
        let driver = self.drivers().iter().find(|driver| driver.name() == record.opened.agent);
        let in_terminal = driver.map(|driver| driver.messages_in_terminal());
        record.opened.terminal.is_none() || in_terminal == Some(MessagesInTerminal::Taken)
    }

    /// What this node knows of the program that a message is for.
    pub(crate) fn listener(&self, record: &SessionRecord) -> Listener {
        if !self.takes_messages(record) {
            return Listener::TakesNone;
        }
        match (self.listening(record.id), self.attached(&record.state)) {
            (Some(_), _) => Listener::Here,
            (None, Some(_)) => Listener::NotHere,
            (None, None) => Listener::Elsewhere,
        }
    }
}
