//! What people put aside: sessions that are archived, asks that they want to see later.

use holdstead_core::{Command, Rejection};
use holdstead_protocol::api::{Interaction, Session, SnoozeAsk};
use holdstead_protocol::{
    InteractionId, InteractionSnoozed, InteractionUnsnoozed, SessionArchived, SessionId, SessionUnarchived,
};

use crate::{Gateway, GatewayError, Person};

impl Gateway {
    /// Out of the way of lists, until something is said or asked in it again.
    pub async fn archive(&self, person: &Person, session: SessionId) -> Result<Session, GatewayError> {
        let archived = SessionArchived { by: person.name.clone(), actor: person.actor };
        self.put_aside(person, session, Command::Archive(archived)).await
    }

    pub async fn unarchive(&self, person: &Person, session: SessionId) -> Result<Session, GatewayError> {
        let unarchived = SessionUnarchived { by: person.name.clone(), actor: person.actor };
        self.put_aside(person, session, Command::Unarchive(unarchived)).await
    }

    async fn put_aside(
        &self,
        person: &Person,
        session: SessionId,
        command: Command,
    ) -> Result<Session, GatewayError> {
        if self.record(&person.owner, session).await?.erased.is_some() {
            return Err(Rejection::Erased.into());
        }
        self.append(session, command).await?;
        self.session(&person.owner, session).await
    }

    /// Out of sight on every screen for a while. The ask stays as it is.
    pub async fn snooze(
        &self,
        person: &Person,
        id: InteractionId,
        snooze: SnoozeAsk,
    ) -> Result<Interaction, GatewayError> {
        let session = self.ask_of(&person.owner, id).await?.session;
        let snoozed = InteractionSnoozed {
            interaction_id: id,
            prompt_id: snooze.prompt_id,
            until: snooze.until,
            by: person.name.clone(),
            actor: person.actor,
        };
        self.append(session, Command::Snooze(snoozed)).await?;
        self.interaction(&person.owner, id).await
    }

    pub async fn unsnooze(&self, person: &Person, id: InteractionId) -> Result<Interaction, GatewayError> {
        let ask = self.ask_of(&person.owner, id).await?;
        let unsnoozed = InteractionUnsnoozed {
            interaction_id: id,
            prompt_id: ask.ask.prompt_id,
            by: Some(person.name.clone()),
            actor: person.actor,
        };
        self.append(ask.session, Command::Unsnooze(unsnoozed)).await?;
        self.interaction(&person.owner, id).await
    }
}
