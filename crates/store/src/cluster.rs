//! Several gateways on one database: who is there, and which of them speaks for a runner.
//!
//! Time decides only who may speak. What two who both believe that they do may write is decided by the fence of each session
//! (`holdstead_core::Fence`), which needs no clock.

use std::fmt::{self, Debug, Display};
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use holdstead_protocol::api::HostedAgent;
use holdstead_protocol::{OwnerId, RunnerId, Seq, SessionId};
use uuid::Uuid;

use crate::StoreError;

/// A node that was not seen for this long, by the database's clock, is dead to whoever wants its place.
pub const NODE_DEAD_AFTER: Duration = Duration::from_secs(10);
/// After so long without a renewal it may be taken for dead soon, and is silent before that.
pub const NODE_SILENT_AFTER: Duration = Duration::from_secs(6);

/// One gateway process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Uuid);

impl NodeId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0.simple(), f)
    }
}

impl FromStr for NodeId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text).map(Self)
    }
}

/// One run of a gateway process: a node that is restarted has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStart(Uuid);

impl NodeStart {
    pub fn generate() -> Self {
        Self(Uuid::new_v4())
    }

    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

/// A node, from when it joined until somebody declares it dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub id: NodeId,
    /// Which of its lives it is in.
    pub epoch: i64,
}

/// A node that was seen a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveNode {
    pub id: NodeId,
    pub epoch: i64,
    /// `None`: an older version of Holdstead runs there.
    pub start: Option<NodeStart>,
    pub name: String,
    /// How many hints it had made when it last renewed.
    pub hints: u64,
}

/// What a node learns when it renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roll {
    /// Who is there, itself included, in the order of their ids.
    pub live: Vec<LiveNode>,
    /// The runners that one of them speaks for, and which.
    pub spoken_for: Vec<(RunnerId, NodeId)>,
}

/// A runner that is connected to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedRunner {
    pub id: RunnerId,
    pub name: String,
    pub owner: OwnerId,
    /// Its process: another one of the same name is refused while this one is connected.
    pub instance: Uuid,
    pub place: RunnerPlace,
    pub agents: Vec<HostedAgent>,
}

/// A runner that some node speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRunner {
    pub id: RunnerId,
    pub name: String,
    pub agents: Vec<HostedAgent>,
    pub node: NodeId,
    /// What people call that node.
    pub node_name: String,
}

/// Where a runner is, seen from its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerPlace {
    /// On a machine that reaches it: if the node is gone, it comes by another one.
    Outside,
    /// In the node's own process. A node that is silent may only be cut off, and its agents may live: nobody takes its place
    /// until it left or comes back.
    Inside,
}

/// What became of the wish to speak for a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaking {
    /// This node speaks for it now; it is the runner's connection of this number.
    Here { epoch: u64 },
    /// Another process of this runner is connected to that node.
    Elsewhere { node: String },
    /// This node was declared dead, and must join again.
    DeclaredDead,
}

/// Whether it is this one's turn to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    Here,
    /// Somebody else does it, here or on another node that lives.
    Elsewhere,
}

/// A client that watches, and could answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watcher {
    pub owner: OwnerId,
    pub person: String,
    /// The name it gave itself among those of its person.
    pub client: String,
    /// `None`: all sessions of its owner.
    pub session: Option<SessionId>,
    /// Whether it would.
    pub is_on: bool,
}

/// How often each node that lives has said anew who watches on it.
pub type WatchersSeen = Vec<(NodeId, i64, i64)>;

/// Whether this gateway has the key that the others have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    /// It is the first gateway that says which key it has.
    First,
    Same,
    Other,
}

/// What gateways on one database know of each other.
#[async_trait]
pub trait Cluster: Send + Sync + Debug {
    /// The first one who comes says what the key of this name is.
    async fn match_key(&self, name: &str, fingerprint: &[u8; 32]) -> Result<KeyMatch, StoreError>;

    /// What this deployment is told apart by, where several share something else than a database. Only its nodes know it.
    async fn deployment(&self) -> Result<Uuid, StoreError>;

    /// Begins as a node, or begins again.
    async fn join(&self, node: NodeId, start: NodeStart, name: &str) -> Result<Member, StoreError>;

    /// How long a node serves that cannot renew. Where nothing else than its place is in the database that it cannot reach, it
    /// goes on for longer: what it writes is right without it.
    fn silent_after(&self) -> Duration {
        NODE_SILENT_AFTER
    }

    /// Says that the node is there, and how many hints it has made. `None`: it was declared dead.
    async fn renew(&self, member: Member, hints: u64) -> Result<Option<Roll>, StoreError>;

    /// Speaks for a runner from now on, unless another process of it is connected to a node that lives. The same process
    /// may come by another way.
    async fn speak_for(&self, member: Member, runner: &ConnectedRunner) -> Result<Speaking, StoreError>;

    /// The runner's connection of this number is gone.
    async fn stop_speaking_for(&self, member: Member, runner: RunnerId, epoch: u64)
    -> Result<(), StoreError>;

    /// The runners of an owner that nodes which live speak for, in the order of their names.
    async fn runners_of(&self, owner: &OwnerId) -> Result<Vec<KnownRunner>, StoreError>;

    /// Speaks for nobody any more, and is gone.
    async fn leave(&self, member: Member) -> Result<(), StoreError>;

    /// Does something alone, until it is released or its node is gone. `by` is new for each who tries; trying again is no other.
    async fn claim(&self, member: Member, what: Uuid, by: Uuid) -> Result<Claimed, StoreError>;

    /// It is done, or given up. Nothing happens if it was somebody else's.
    async fn release(&self, what: Uuid, by: Uuid) -> Result<(), StoreError>;

    /// Says who watches on this node, in place of what it said before.
    async fn share_watchers(&self, member: Member, watchers: &[Watcher]) -> Result<(), StoreError>;

    /// Who watches on the other nodes that live. `None`: it is as it was when this was seen.
    async fn watchers_elsewhere(
        &self,
        node: NodeId,
        seen: &WatchersSeen,
    ) -> Result<Option<(WatchersSeen, Vec<Watcher>)>, StoreError>;

    /// Where these journals stand. What is not there is left out.
    async fn heads(&self, sessions: &[SessionId]) -> Result<Vec<(SessionId, Seq)>, StoreError>;

    /// Tells all who listen, at once and outside every other transaction. At most [`NOTICE_LIMIT`] bytes.
    async fn notify(&self, notice: &str) -> Result<(), StoreError>;

    /// Listens, on a connection of its own.
    async fn listen(&self) -> Result<Box<dyn Notices>, StoreError>;
}

/// The most bytes that one notice may have.
pub const NOTICE_LIMIT: usize = 7_900;

/// What was told since it began to listen.
#[async_trait]
pub trait Notices: Send + Debug {
    /// The next one. `None`: the connection broke and there is a new one; what was told in between is lost.
    async fn next(&mut self) -> Result<Option<String>, StoreError>;
}
