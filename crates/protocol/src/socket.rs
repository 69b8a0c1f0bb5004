//! The words of the WebSocket. Every call has an `id` of the client's choice; its reply carries the same.
//!
//! A frame that is not understood is `refused` in words, and the socket stays. When the server closes it, it says why:
//! 1001 it is going away, 1003 a binary frame, 1007 not JSON, 1009 too large.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::{AskCall, OpenSession, Respond, Resume};
use crate::transport::{InboxQuery, InteractionMode};
use crate::{Event, InteractionId, MessageId, Refusal, Seq, SessionId};

/// What a client says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientFrame {
    /// First of all: whether this client can answer, and wants to.
    Hello {
        /// Left out: it stays as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interaction: Option<InteractionOffer>,
    },
    Subscribe {
        id: u64,
        session: SessionId,
        after: Seq,
    },
    Unsubscribe {
        id: u64,
        session: SessionId,
    },
    SetInteractionMode {
        id: u64,
        mode: InteractionMode,
    },
    OpenSession {
        id: u64,
        open: OpenSession,
    },
    Session {
        id: u64,
        session: SessionId,
    },
    Message {
        id: u64,
        session: SessionId,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    Interrupt {
        id: u64,
        session: SessionId,
    },
    Inbox {
        id: u64,
        query: InboxQuery,
    },
    Interaction {
        id: u64,
        interaction: InteractionId,
    },
    Ask {
        id: u64,
        call: AskCall,
    },
    ToolInteractionResponse {
        id: u64,
        interaction: InteractionId,
        response: Respond,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionOffer {
    /// It can show asks so that a person can answer them.
    pub supported: bool,
    /// The person wants to answer there.
    pub enabled: bool,
}

/// What the server says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ServerFrame {
    Welcome {
        name: String,
    },
    /// The result of a call.
    Reply {
        /// Left out where the call had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        result: Value,
    },
    /// A call that was refused, or a frame that was not understood.
    Refused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        refusal: Refusal,
    },
    /// The beginning of a subscription.
    Resume {
        session: SessionId,
        resume: Resume,
    },
    Event {
        session: SessionId,
        event: Event,
    },
    /// A subscription ended; subscribe again with the last `seq`.
    Ended {
        session: SessionId,
    },
}
