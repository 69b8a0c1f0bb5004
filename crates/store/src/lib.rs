//! Remembers: one ordered journal per session, on SQLite or PostgreSQL.
//!
//! [`Journal::append`] is the only way in. It runs `core::decide` on the session's stored state under the lock of
//! that session's head, so that "is this prompt still open?" and "write the answer" are one step, on one node or
//! on fifty. What is stored beside the events (the session's state, the rows of its asks) is written in the same
//! transaction and is never more than a fold of them: [`Journal::verify`] folds again and compares.
//!
//! Nothing here chooses an outcome, wakes anybody or talks to an agent.

mod audit;
pub mod backend;
mod batch;
mod chain;
mod clock;
mod db;
mod decode;
mod error;
mod journal;
mod line;
mod plan;
mod postgres;
mod postgres_write;
mod rebuild;
mod record;
mod rows;
mod sql;
mod sqlite;
mod sqlite_write;
mod store;
mod tokens;
mod weigh;

pub use audit::{ChainReport, Fault};
pub use clock::{Clock, SystemClock};
pub use error::{AppendError, StoreError};
pub use journal::{Journal, PendingAppend, open};
pub use postgres::PostgresJournal;
pub use record::{
    Appended, AskFilter, AskQuery, AskRecord, DueAsk, DueList, LinkUse, LoginLinkRecord, QueryPlan,
    SessionQuery, SessionRecord, TokenRecord,
};
pub use sqlite::SqliteJournal;

/// The most that the data of one event may have, in bytes.
pub const EVENT_LIMIT: usize = 1024 * 1024;
