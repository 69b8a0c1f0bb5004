//! How a client reaches a gateway: HTTP with server-sent events, a WebSocket, or in-process. One trait, one behaviour.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::{
    AskCall, Interaction, InteractionPage, Interrupted, MessageAccepted, OpenSession, Receipt, Respond,
    SendMessage, Session,
};
use crate::{Event, InteractionId, Refusal, Seq, SessionId};

/// Whether this client answers asks, or only shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionMode {
    On,
    Off,
}

/// Which asks a client wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransportError {
    /// The gateway said no, and why.
    #[error("{}", .0.detail)]
    Refused(Box<Refusal>),
    /// The gateway was not reached, or went away. What was sent may have arrived: send it again with the same key.
    #[error("the gateway was not reached: {0}")]
    Unreachable(String),
}

impl From<Refusal> for TransportError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// A way to a gateway, for one client.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    async fn open_session(&self, open: OpenSession) -> Result<Session, TransportError>;

    async fn session(&self, session: SessionId) -> Result<Session, TransportError>;

    /// A person's message. It answers no ask.
    async fn message(
        &self,
        session: SessionId,
        message: SendMessage,
    ) -> Result<MessageAccepted, TransportError>;

    /// Stops the turn; its asks are cancelled everywhere.
    async fn interrupt(&self, session: SessionId) -> Result<Interrupted, TransportError>;

    async fn inbox(&self, query: InboxQuery) -> Result<InteractionPage, TransportError>;

    async fn interaction(&self, id: InteractionId) -> Result<Interaction, TransportError>;

    async fn ask(&self, call: AskCall) -> Result<Interaction, TransportError>;

    async fn respond(&self, id: InteractionId, body: Respond) -> Result<Receipt, TransportError>;

    /// Everything after a cursor, then what happens from now on. While it lives, this client counts as one that
    /// watches the session.
    async fn subscribe(&self, session: SessionId, after: Seq) -> Result<Box<dyn EventFeed>, TransportError>;

    /// Switches answering on or off for this client, now and for asks that are open already.
    async fn set_interaction_mode(&self, mode: InteractionMode) -> Result<(), TransportError>;
}

/// The events of one session, in order.
#[async_trait]
pub trait EventFeed: Send + fmt::Debug {
    /// The next event. `None` when the feed ended: subscribe again with the last `seq`.
    async fn next(&mut self) -> Result<Option<Event>, TransportError>;
}
