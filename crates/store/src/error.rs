//! What can go wrong, in words that say what happened and what to do.

use std::sync::Arc;

use holdstead_core::Rejection;
use holdstead_protocol::SessionId;

use crate::seen::{Unfit, WentBack};

/// What the database's driver said.
pub type Source = Arc<dyn std::error::Error + Send + Sync>;

/// The database failed, or holds what cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error(
        "`{url}` is not a database: write sqlite:FILE, sqlite::memory: or postgres://USER@HOST/NAME ({why})"
    )]
    BadUrl { url: String, why: String },
    #[error("there is no journal at {url} yet: `holdstead serve` makes it, or name another with --store")]
    Absent { url: String },
    #[error("the database's tables could not be brought up to date: {source}")]
    Migrate { source: Source },
    /// Nothing was written.
    #[error("the database cannot be reached ({source}): see that it runs, then try again")]
    Unreachable { source: Source },
    /// Nothing was written.
    #[error("the database refused: {source}")]
    Refused { source: Source },
    /// The connection was lost in COMMIT and the database stayed away.
    #[error("the database went away while this was being written: read the journal to see if it was")]
    Unknown { source: Source },
    /// No database is used by this process any more.
    #[error(transparent)]
    WentBack(WentBack),
    #[error(
        "{waiting} appends wait to be written already: the database is too slow or away; try again later"
    )]
    Overloaded { waiting: usize },
    #[error("what is stored cannot be read ({what}): the database was changed by something else")]
    Corrupt { what: String },
    #[error(
        "session {session} was written by a newer Holdstead (state {found}, this one writes {wanted}): \
         run the newer one"
    )]
    NewerVersion { session: SessionId, found: i64, wanted: u32 },
    /// A file beside the database.
    #[error("could not {what}: {why}")]
    File { what: String, why: String },
    #[error("nothing can be signed: no key was given")]
    NoKey,
    /// Two gateways would take each other's agents for dead.
    #[error("`{database}` is hosted already, by {by}: stop that gateway, or use another database")]
    Claimed { database: String, by: String },
    /// A format that an earlier version wrote and this one does not read. Nothing was changed.
    #[error("{what}")]
    OldFormat { what: String },
    /// A mistake in our own code. Nothing was written.
    #[error(
        "a command made the journal's writer fail ({what}): this is a bug in Holdstead, please report it"
    )]
    Panicked { what: String },
    /// The task that writes does not answer.
    #[error("the journal's writer {why}: nothing can be decided until the gateway is restarted")]
    NoWriter { why: &'static str },
}

impl StoreError {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    pub(crate) fn unreachable(why: impl Into<String>) -> Self {
        Self::Unreachable { source: Arc::new(std::io::Error::other(why.into())) }
    }

    pub(crate) fn file(what: impl Into<String>, why: &std::io::Error) -> Self {
        Self::File { what: what.into(), why: why.to_string() }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        if let Some(why) = unfit(&source) {
            return match why.clone() {
                Unfit::WentBack(went_back) => Self::WentBack(went_back),
                why @ (Unfit::Standby | Unfit::Former { .. }) => Self::Unreachable { source: Arc::new(why) },
            };
        }
        let away = is_away(&source);
        let source = Arc::new(source);
        if away { Self::Unreachable { source } } else { Self::Refused { source } }
    }
}

/// Why the server was not used, if that is what this says.
fn unfit(error: &sqlx::Error) -> Option<&Unfit> {
    if let sqlx::Error::Configuration(why) = error { why.downcast_ref() } else { None }
}

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        let away = matches!(
            source.sqlite_error_code(),
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
        );
        let source = Arc::new(source);
        if away { Self::Unreachable { source } } else { Self::Refused { source } }
    }
}

/// Why nothing was appended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The command was decided, and refused.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("this is too large to be kept: {bytes} bytes, and one event may have {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// The journal was closed before this was written.
    #[error("the journal is closed")]
    Closed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// PostgreSQL is away or busy, as opposed to refusing what it was given: the same call may pass later.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    if let Some(database) = error.as_database_error() {
        let code = database.code();
        let code = code.as_deref().unwrap_or_default();
        // Lost connections (08), deadlocks (40), too many connections (53), shutting down (57P).
        return ["08", "40", "53", "57P"].iter().any(|class| code.starts_with(class));
    }
    matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
    )
}
