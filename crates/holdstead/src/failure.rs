//! What a command can end with, and the exit code that says so to a script.

use holdstead_protocol::transport::TransportError;
use holdstead_protocol::{Code, Refusal};

use holdstead_server::TokenError;

use crate::text;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("The settings are not right: {0}")]
    Config(String),
    #[error("Could not {what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("No gateway answers. Start one: holdstead serve ({why})")]
    NoGateway { why: String },
    #[error("{}", refusal_words(.0))]
    Refused(Box<Refusal>),
    #[error("The gateway said something unexpected: {0}")]
    Strange(String),
    #[error("Could not start: {0}")]
    Listen(#[from] holdstead_server::ListenError),
    #[error("{0}")]
    Token(#[from] holdstead_server::TokenError),
    #[error("{0}")]
    Store(#[from] holdstead_store::StoreError),
    #[error("There is no backup: {0}.")]
    Backup(#[from] holdstead_store::BackupError),
    #[error("{0}")]
    Gateway(#[from] holdstead_gateway::GatewayError),
    #[error("{0}")]
    NotSent(String),
    #[error("{0}")]
    Changed(String),
    #[error("{0}")]
    NotDone(String),
    #[error("{0}")]
    Unhealthy(String),
}

impl Failure {
    /// 0 done, 1 something failed, 2 usage, 3 lost the race, 4 dead ask, 5 invalid.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) => 2,
            Self::Token(TokenError::Store(_)) => 1,
            Self::Token(TokenError::Name(_) | TokenError::Taken { .. } | TokenError::Removed { .. }) => 2,
            Self::NotSent(_) => 5,
            Self::Changed(_) => 3,
            Self::Refused(refusal) => match refusal.code {
                Code::AlreadyAnswered | Code::StalePrompt => 3,
                Code::Closed => 4,
                Code::Invalid | Code::IdempotencyKeyReused => 5,
                Code::Unauthenticated
                | Code::Forbidden
                | Code::ForeignOrigin
                | Code::UnsupportedMediaType
                | Code::BadRequest
                | Code::NotFound
                | Code::MethodNotAllowed
                | Code::Conflict
                | Code::TooLarge
                | Code::LinkUsed
                | Code::Internal
                | Code::Unavailable
                | Code::AnsweringDisabled
                | Code::PasskeyRequired
                | Code::RateLimited
                | Code::NonceRefused
                | Code::BadSignature
                | Code::SignatureNeeded
                | Code::ExchangeNeeded => 1,
            },
            Self::Io { .. }
            | Self::NoGateway { .. }
            | Self::Strange(_)
            | Self::Listen(_)
            | Self::Store(_)
            | Self::Backup(_)
            | Self::Gateway(_)
            | Self::NotDone(_)
            | Self::Unhealthy(_) => 1,
        }
    }
}

fn refusal_words(refusal: &Refusal) -> String {
    let mut words = text::safe_line(&refusal.detail);
    if let Some(winner) = &refusal.winner {
        words = crate::words::winner(winner);
    }
    // Where one field is all that is wrong, it is said already.
    for (field, why) in refusal.field_errors.iter().filter(|(_, why)| !refusal.detail.contains(*why)) {
        words.push_str(&format!("\n  {}: {}", text::safe_line(field), text::safe_line(why)));
    }
    words
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Refused(refusal) => Self::Refused(refusal),
            TransportError::Unreachable(why) => Self::NoGateway { why },
        }
    }
}
