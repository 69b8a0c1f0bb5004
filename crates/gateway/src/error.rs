//! What can go wrong between a caller and the journal.

use holdstead_core::{BadName, BadPasskey, Rejection};
use holdstead_protocol::{AgentSeq, Incarnation};
use holdstead_runner::Unable;
use holdstead_store::{AppendError, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("there is no such session")]
    NoSession,
    #[error("there is no such ask")]
    NoAsk,
    #[error("there is no agent called `{name}`: {known}")]
    NoAgent { name: String, known: String },
    #[error(
        "`{name}` is not started from here: say `holdstead connect {name}` once, then start it in a terminal of your own"
    )]
    OnlyInTerminal { name: String },
    #[error(
        "there is no tool called `{name}` here: it was registered with the gateway that asked, and must be with this one"
    )]
    NoTool { name: String },
    #[error("the folder `{cwd}` does not exist: name one that does")]
    NoFolder { cwd: String },
    #[error(
        "the folder `{cwd}` is the gateway's own, with its tokens and keys: no agent works there, name another one"
    )]
    OwnFolder { cwd: String },
    #[error("the files of `{folder}` are not those that you were shown: look at them again")]
    FilesChanged { folder: String },
    #[error("`{folder}` has no files of its own that an agent would run: there is nothing to trust")]
    NothingToTrust { folder: String },
    #[error("the files of `{folder}` cannot be trusted: {why}")]
    CannotTrust { folder: String, why: String },
    #[error(
        "files that run in `{folder}` changed since a person trusted them, so the agent was ended before this call was decided: \
         send a message, and it starts without these files until a person trusts them as they are now"
    )]
    TrustEnded { folder: String },
    #[error(
        "the rules could not be applied to this call, which is a bug in Holdstead: nothing was allowed. Report it, and make \
         the call in another way"
    )]
    NotJudged,
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the event is too large: {bytes} bytes, and {limit} are allowed")]
    TooLarge { bytes: usize, limit: usize },
    #[error(transparent)]
    Runner(#[from] Unable),
    #[error("no machine that runs agents is connected: start one with `holdstead runner --gateway URL`")]
    NoRunner,
    #[error("there are several machines that run agents, so name one of them: {known}")]
    WhichRunner { known: String },
    #[error("no runner called `{name}` is connected. There are: {known}")]
    UnknownRunner { name: String, known: String },
    #[error("there is no runner called `{name}`. See: holdstead people")]
    NoSuchRunner { name: String },
    #[error("only an admin removes a machine: it ends the sessions of all people")]
    MayNotRemoveRunner,
    #[error(
        "the machine `{name}` is connected to the node `{node}`, which alone can look at its folders: ask that one"
    )]
    RunnerElsewhere { name: String, node: String },
    #[error(
        "this node could not say in time that it is there, and another may have taken its place: ask another one"
    )]
    Silent,
    /// A runner was told that the journal has more of a life than it has now.
    #[error(
        "the journal lacks what this agent said (it has up to number {heard}, and once had {taken}): the database went \
         back. The agent is not listened to and told nothing. Point the gateways to the database that has it; or \
         restart the runner on its machine, which ends this agent, to go on without"
    )]
    JournalLacks { incarnation: Incarnation, taken: AgentSeq, heard: AgentSeq },
    #[error("the secret answer is gone, or this gateway has not the key that opens it: ask again")]
    SecretGone,
    #[error(transparent)]
    BadPasskey(#[from] BadPasskey),
    #[error(
        "browsers use passkeys on a page that was opened over https, or at http://localhost with the port: open Holdstead there"
    )]
    NoPasskeysHere,
    #[error("you have no passkey for {site}: add one on that page, or go where yours are for")]
    NoPasskeyFor { site: String },
    #[error("there is no such passkey")]
    NoPasskey,
    #[error("there is no passkey yet that could confirm anything: add one first")]
    NoPasskeyYet,
    #[error("you have {most} passkeys, which is as many as there may be: remove one first")]
    TooManyPasskeys { most: usize },
    #[error("the passkey needs a name: {0}")]
    PasskeyName(BadName),
    #[error("this was asked too long ago, or was answered before: try again")]
    ChallengeGone,
    #[error("the gateway is going away: try again in a moment")]
    Closing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GatewayError {
    /// The same may succeed later without anybody doing anything about it: the store is away or busy, a process could
    /// not be started or would not go.
    pub(crate) const fn may_pass(&self) -> bool {
        match self {
            Self::Store(
                StoreError::Unreachable { .. }
                | StoreError::Refused { .. }
                | StoreError::Unknown { .. }
                | StoreError::Overloaded { .. }
                | StoreError::NoWriter { .. }
                | StoreError::WentBack(_),
            )
            | Self::Silent
            | Self::Runner(_) => true,
            Self::Store(
                StoreError::BadUrl { .. }
                | StoreError::Absent { .. }
                | StoreError::Migrate { .. }
                | StoreError::Corrupt { .. }
                | StoreError::NewerVersion { .. }
                | StoreError::File { .. }
                | StoreError::Panicked { .. }
                | StoreError::Claimed { .. }
                | StoreError::OldFormat { .. }
                | StoreError::NoKey,
            )
            | Self::NoSession
            | Self::JournalLacks { .. }
            | Self::NoAsk
            | Self::NoAgent { .. }
            | Self::OnlyInTerminal { .. }
            | Self::NoRunner
            | Self::WhichRunner { .. }
            | Self::UnknownRunner { .. }
            | Self::RunnerElsewhere { .. }
            | Self::NoSuchRunner { .. }
            | Self::MayNotRemoveRunner
            | Self::NoTool { .. }
            | Self::NoFolder { .. }
            | Self::OwnFolder { .. }
            | Self::FilesChanged { .. }
            | Self::NothingToTrust { .. }
            | Self::CannotTrust { .. }
            | Self::TrustEnded { .. }
            | Self::NotJudged
            | Self::Rejected(_)
            | Self::TooLarge { .. }
            | Self::SecretGone
            | Self::BadPasskey(_)
            | Self::NoPasskeysHere
            | Self::NoPasskeyFor { .. }
            | Self::NoPasskey
            | Self::NoPasskeyYet
            | Self::TooManyPasskeys { .. }
            | Self::PasskeyName(_)
            | Self::ChallengeGone
            | Self::Closing => false,
        }
    }

    /// The append was refused, or failed before it was written. After another error it may have been written.
    pub(crate) const fn wrote_nothing(&self) -> bool {
        matches!(
            self,
            Self::Rejected(_)
                | Self::TooLarge { .. }
                | Self::Store(
                    StoreError::Unreachable { .. }
                        | StoreError::Refused { .. }
                        | StoreError::Overloaded { .. }
                        | StoreError::NoWriter { .. }
                        | StoreError::NewerVersion { .. }
                        | StoreError::Panicked { .. },
                )
        )
    }

    /// The same for one session's own task: what only a newer node can read it leaves alone until such a node has its place.
    pub(crate) const fn may_pass_in_its_session(&self) -> bool {
        self.may_pass() || matches!(self, Self::Store(StoreError::NewerVersion { .. }))
    }
}

impl From<AppendError> for GatewayError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Rejected(rejection) => Self::Rejected(rejection),
            AppendError::TooLarge { bytes, limit } => Self::TooLarge { bytes, limit },
            AppendError::Closed => Self::Closing,
            AppendError::Store(error) => Self::Store(error),
        }
    }
}
