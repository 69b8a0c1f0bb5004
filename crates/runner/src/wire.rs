//! What a runner and the gateway that speaks for its agents send each other: one JSON text each.
//!
//! A runner says hello, shows every life that it has, and is ready. From then on it passes on what agents say and answers
//! questions about its machine; the gateway tells agents what was decided. A gateway that goes away is no end of an agent's.

mod frame;

use std::time::Duration;

use holdstead_agents::{Appeared, FoundFiles, Launch};
use holdstead_core::policy::{Found, Lookup};
use holdstead_protocol::api::HostedAgent;
use holdstead_protocol::{Incarnation, InteractionId, SessionId};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::facts::{FolderIs, Ground, TrustedFolder};
use crate::running::{Snapshot, Started, Tell};
use crate::said::{KeptWord, Said};

pub(crate) use frame::read;

/// Both sides must speak the same one.
pub const VERSION: u32 = 6;
/// So often each side shows that it lives.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// The other side is gone when nothing came for so long.
pub(crate) const SILENCE: Duration = Duration::from_secs(20);

/// From a runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum FromRunner {
    /// The first: `instance` tells this process from another one with the same token.
    Hello {
        version: u32,
        instance: Uuid,
        agents: Vec<HostedAgent>,
    },
    /// Something that is kept of what was said in a life that is shown next.
    Kept {
        session: SessionId,
        incarnation: Incarnation,
        word: Box<KeptWord>,
    },
    /// A life that it has, before it is ready or when one began.
    Life(Box<Snapshot>),
    /// Those were all.
    Ready,
    Said {
        session: SessionId,
        incarnation: Incarnation,
        said: Box<Said>,
    },
    /// The settlements of something that was handed to the agent.
    Written {
        session: SessionId,
        incarnation: Incarnation,
        settlements: Vec<InteractionId>,
    },
    Answer {
        id: u64,
        answer: Answer,
    },
    /// A program in a person's own terminal there, which nobody listens to.
    Appeared(Appeared),
    Alive,
}

/// To a runner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ToRunner {
    /// It is attached, and people know it by this name.
    Welcome {
        name: String,
    },
    /// It may not attach, for this reason.
    Refused {
        why: String,
    },
    Ask {
        id: u64,
        question: Box<Question>,
    },
    Tell {
        session: SessionId,
        incarnation: Incarnation,
        tell: Box<Tell>,
    },
    /// The journal knows that this life is over.
    Forget {
        session: SessionId,
        incarnation: Incarnation,
    },
    Alive,
}

/// Something that only its machine can do or knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Question {
    /// Whether an agent can work in this folder.
    Folder {
        agent: String,
        cwd: String,
    },
    /// What a folder brings for an agent.
    Files {
        agent: String,
        cwd: String,
    },
    /// What rules need to know of a folder.
    Ground {
        cwd: String,
        /// Folders of this owner's that a person trusts for agents: what do they bring now?
        trusted: Vec<TrustedFolder>,
    },
    /// What a call in this folder depends on.
    LookUp {
        folder: String,
        lookups: Vec<Lookup>,
    },
    Start(Box<ToStart>),
    /// Ends what is left of an earlier life.
    End {
        session: SessionId,
        incarnation: Incarnation,
        pid: Option<u32>,
    },
    /// The sessions of whose conversations it has copies.
    Copies,
    /// Deletes the copies of these sessions, which are over.
    Discard {
        sessions: Vec<SessionId>,
    },
}

/// How long a machine may take to answer: it looks at some files.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where it starts a process, ends one, or copies a conversation.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

impl Question {
    pub(crate) const fn patience(&self) -> Duration {
        match self {
            Self::Folder { .. } | Self::Files { .. } | Self::Ground { .. } | Self::LookUp { .. } => PATIENCE,
            Self::Start(_) | Self::End { .. } | Self::Copies | Self::Discard { .. } => LONG_PATIENCE,
        }
    }
}

/// A process to be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToStart {
    pub session: SessionId,
    pub incarnation: Incarnation,
    pub agent: String,
    pub launch: Launch,
    pub started: Started,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Answer {
    Folder(FolderIs),
    Files(Option<FoundFiles>),
    Ground(Ground),
    /// One for each lookup; nothing where the machine cannot tell.
    Found(Vec<Option<Found>>),
    Started,
    NotStarted(String),
    Ended,
    /// It would not end.
    StillAlive(u32),
    Copies(Vec<SessionId>),
    Discarded,
}

/// Both directions of a connection, whatever carries it.
#[derive(Debug)]
pub struct Wire {
    pub send: mpsc::UnboundedSender<String>,
    pub receive: mpsc::Receiver<String>,
}

/// The name that a process of this incarnation carries.
pub fn life(session: SessionId, incarnation: Incarnation) -> String {
    format!("{session}/{}", incarnation.0)
}
