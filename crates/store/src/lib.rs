//! Remembers: one ordered journal per session, on SQLite or PostgreSQL.
//!
//! [`Journal::append`] is the only way in. It runs `core::decide` on the session's stored state under the lock of
//! that session's head, so that "is this prompt still open?" and "write the answer" are one step, on one node or
//! on fifty. What is stored beside the events (the session's state, the rows of its asks) is written in the same
//! transaction and is never more than a fold of them: [`Journal::verify`] folds again and compares.
//!
//! Every event is hashed together with all before it, and a [`Notary`] signs where journals stand with a key that is
//! not in the database: [`Journal::audit`] finds whatever was changed before that.
//!
//! Nothing here chooses an outcome, wakes anybody or talks to an agent.

mod audit;
pub mod backend;
mod backup;
mod batch;
mod bring_back;
mod chain;
mod checkpoint;
mod claim;
mod clock;
mod cluster;
mod db;
mod decode;
mod erase;
mod error;
mod export;
mod fault;
#[cfg(feature = "faults")]
pub mod faulty;
mod guard;
mod hex;
mod journal;
mod line;
mod notary;
mod old_format;
mod people;
mod people_rows;
mod plan;
mod postgres;
mod postgres_check;
mod postgres_cluster;
mod postgres_connections;
mod postgres_store;
mod postgres_write;
mod private;
mod recent;
mod record;
mod refold;
mod round;
mod rounds;
mod rows;
mod search;
mod secrets;
mod seen;
mod server_clock;
mod sql;
mod sqlite;
mod sqlite_connections;
mod sqlite_migrate;
mod sqlite_row;
mod sqlite_write;
mod store;
mod waiting;
mod walk;
mod weigh;

pub use backup::{BackupError, backup};
pub use batch::WriterLoad;
pub use bring_back::{BringBackError, BroughtBack};
pub use checkpoint::{AuditKey, Checkpoint, KeyError, PublicKey};
pub use claim::Claim;
pub use clock::{Clock, SystemClock};
pub use cluster::{
    Claimed, Cluster, ConnectedRunner, KeyMatch, KnownRunner, LiveNode, Member, NODE_DEAD_AFTER,
    NODE_SILENT_AFTER, NOTICE_LIMIT, NodeId, NodeStart, Notices, Roll, RunnerPlace, Speaking, Watcher,
    WatchersSeen,
};
pub use erase::{EraseError, Going};
pub use error::{AppendError, Source, StoreError};
pub use export::verify_export;
pub use fault::{ChainReport, Fault, RoundFault, RoundsReport};
pub use guard::{Guard, Unmarked};
pub use journal::{Journal, PendingAppend, is_there, open, open_existing};
pub use notary::{Heads, Kept, Notary, read_log};
pub use people::{People, Revision, bearer_hash, key_hash, token_hash};
pub use postgres::{PostgresJournal, without_secret};
pub use private::owners_alone;
pub use record::{
    Appended, AskFilter, AskQuery, AskRecord, ConfirmationRecord, DecidedRecord, DeviceRecord, DueAsk,
    DueList, Erasure, LinkUse, LoginLinkRecord, PasskeyRecord, PasskeyRule, PersonRecord, QueryPlan,
    SealedSecret, SecretsOf, SessionQuery, SessionRecord, SessionsOnly, TicketRecord, UnderWay,
};
pub use round::Round;
pub use search::{FoundPlace, FoundRecord, SearchQuery};
pub use seen::WentBack;
pub use sqlite::SqliteJournal;
pub use waiting::{Age, Waiting, WaitsFor};

/// The most that the data of one event may have, in bytes.
pub const EVENT_LIMIT: usize = 1024 * 1024;
