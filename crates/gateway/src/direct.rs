//! The in-process transport: what HTTP and the WebSocket do, without a network.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdstead_protocol::api::{
    AskCall, Interaction, InteractionPage, Interrupted, MessageAccepted, OpenSession, Receipt, Respond,
    SendMessage, Session,
};
use holdstead_protocol::transport::{EventFeed, InboxQuery, InteractionMode, Transport, TransportError};
use holdstead_protocol::{Code, Event, InteractionId, Refusal, Seq, SessionId};
use holdstead_store::{AskFilter, AskQuery};

use crate::presence::{Answering, Watch, Watching};
use crate::{CallerAsk, EventStream, Gateway, GatewayError, Person, cursor};

/// One client in this process.
#[derive(Debug, Clone)]
pub struct Direct {
    gateway: Gateway,
    person: Person,
    client: String,
    answering: Arc<Mutex<Answering>>,
}

impl Direct {
    /// `client` names it among the clients of its person.
    pub fn new(
        gateway: Gateway,
        person: Person,
        client: impl Into<String>,
        answering: impl Into<Answering>,
    ) -> Self {
        Self { gateway, person, client: client.into(), answering: Arc::new(Mutex::new(answering.into())) }
    }

    fn answering(&self) -> Answering {
        *self.answering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says anew whether this client would answer.
    pub fn set_answering(&self, answering: Answering) {
        *self.answering.lock().unwrap_or_else(PoisonError::into_inner) = answering;
        self.gateway.set_answering(&self.person, &self.client, answering);
    }

    /// The stream behind [`Transport::subscribe`], for those who frame the events themselves.
    pub async fn stream(
        &self,
        session: SessionId,
        after: Seq,
    ) -> Result<(EventStream, Watching), TransportError> {
        let stream = self.gateway.stream(&self.person.owner, session, after).await.map_err(refused)?;
        let watch = Watch::Session(session);
        let watching = self.gateway.watching(&self.person, &self.client, self.answering(), watch);
        Ok((stream, watching))
    }
}

#[async_trait]
impl Transport for Direct {
    async fn open_session(&self, open: OpenSession) -> Result<Session, TransportError> {
        self.gateway.open_session(&self.person, open).await.map_err(refused)
    }

    async fn session(&self, session: SessionId) -> Result<Session, TransportError> {
        self.gateway.session(&self.person.owner, session).await.map_err(refused)
    }

    async fn message(
        &self,
        session: SessionId,
        message: SendMessage,
    ) -> Result<MessageAccepted, TransportError> {
        self.gateway.message(&self.person, session, message).await.map_err(refused)
    }

    async fn interrupt(&self, session: SessionId) -> Result<Interrupted, TransportError> {
        self.gateway.interrupt(&self.person, session).await.map_err(refused)
    }

    async fn inbox(&self, query: InboxQuery) -> Result<InteractionPage, TransportError> {
        let after = query.after.as_deref().map(cursor::parse).transpose()?;
        let limit = cursor::page_size(query.limit);
        let owner = self.person.owner.clone();
        let query = AskQuery { owner, session: query.session, only: AskFilter::Live, after, limit };
        self.gateway.page(query).await.map_err(refused)
    }

    async fn interaction(&self, id: InteractionId) -> Result<Interaction, TransportError> {
        let found = self.gateway.interaction(&self.person.owner, id).await.map_err(refused)?;
        self.gateway.read_by(&self.person, found).await.map_err(refused)
    }

    async fn ask(&self, call: AskCall) -> Result<Interaction, TransportError> {
        let place = call.session_id.map_or(CallerAsk::Own, CallerAsk::In);
        self.gateway.ask(&self.person, place, call).await.map_err(refused)
    }

    async fn respond(&self, id: InteractionId, body: Respond) -> Result<Receipt, TransportError> {
        match self.answering() {
            Answering::On => self.gateway.respond(&self.person, id, body).await.map_err(refused),
            Answering::Off | Answering::Never => Err(interaction_off().into()),
        }
    }

    async fn subscribe(&self, session: SessionId, after: Seq) -> Result<Box<dyn EventFeed>, TransportError> {
        let (stream, watching) = self.stream(session, after).await?;
        Ok(Box::new(Feed { stream, _watching: watching }))
    }

    async fn set_interaction_mode(&self, mode: InteractionMode) -> Result<(), TransportError> {
        self.set_answering(mode.into());
        Ok(())
    }
}

/// The refusal for a client that shows asks and does not answer them.
pub fn interaction_off() -> Refusal {
    Refusal::new(
        Code::AnsweringDisabled,
        "This client shows asks and does not answer them: switch answering on here, or answer elsewhere.",
    )
}

fn refused(error: GatewayError) -> TransportError {
    Refusal::from(&error).into()
}

#[derive(Debug)]
struct Feed {
    stream: EventStream,
    _watching: Watching,
}

#[async_trait]
impl EventFeed for Feed {
    async fn next(&mut self) -> Result<Option<Event>, TransportError> {
        self.stream.next().await.map_err(|error| refused(error.into()))
    }
}
