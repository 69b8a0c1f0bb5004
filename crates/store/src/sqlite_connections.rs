//! The connections to a SQLite database: one that writes, and for a file a few that read meanwhile.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::{StoreError, owners_alone};

const READERS: u32 = 4;
/// How many statements a connection keeps prepared: more than we have.
const STATEMENTS: usize = 128;
/// How long a statement waits for another connection to let go of the file.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    File(PathBuf),
}

impl Place {
    /// `sqlite:FILE`, `sqlite://FILE`, `sqlite::memory:`, and `?mode=rwc` or `?mode=memory` behind it.
    pub(crate) fn of(url: &str) -> Result<Self, StoreError> {
        let bad = |why: &str| StoreError::BadUrl { url: url.to_owned(), why: why.to_owned() };
        let rest = url.strip_prefix("sqlite:").ok_or_else(|| bad("it does not begin with sqlite:"))?;
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        match (path, options) {
            (":memory:", _) | (_, "mode=memory") => Ok(Self::Memory),
            ("", _) => Err(bad("it names no file")),
            (path, "" | "mode=rwc") => Ok(Self::File(path.into())),
            (_, _) => Err(bad("behind the question mark only mode=rwc and mode=memory are known")),
        }
    }
}

/// Makes the file, its owner's alone, before SQLite makes one that others may read. The files beside it follow its mode.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    match owners_alone().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::file(format!("make {}", path.display()), &error)),
    }
}

/// A connection that writes.
pub(crate) fn open(place: &Place) -> rusqlite::Result<Connection> {
    let connection = match place {
        Place::Memory => Connection::open_in_memory()?,
        // Without the flag for URIs: a file may be called anything.
        Place::File(path) => Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // What is erased is overwritten, and does not stay on pages that nothing points to. The log may grow to 16 MB before
    // it is put into the file: the same pages change again and again.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; \
         PRAGMA wal_autocheckpoint = 4000",
    )?;
    Ok(connection)
}

/// All connections of a journal.
#[derive(Debug)]
pub(crate) struct Connections {
    place: Place,
    writer: Arc<AsyncMutex<Option<Connection>>>,
    idle: Arc<Mutex<Vec<Connection>>>,
    seats: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(place: Place, writer: Connection) -> Self {
        Self {
            place,
            writer: Arc::new(AsyncMutex::new(Some(writer))),
            idle: Arc::default(),
            seats: Arc::new(Semaphore::new(READERS as usize)),
        }
    }

    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// The one that writes, once nobody else has it.
    pub(crate) async fn writer(&self) -> Lent {
        Lent::Writer(Arc::clone(&self.writer).lock_owned().await)
    }

    /// One that reads. A database in memory is gone with its connection, so it has only the one.
    pub(crate) async fn reader(&self) -> Result<Lent, StoreError> {
        let Place::File(_) = &self.place else { return Ok(self.writer().await) };
        let seat = Arc::clone(&self.seats).acquire_owned().await.map_err(|_| closed())?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connection = open(&self.place)?;
                connection.execute_batch("PRAGMA query_only = ON")?;
                connection
            }
        };
        Ok(Lent::Reader { connection: Some(connection), idle: Arc::clone(&self.idle), _seat: seat })
    }

    /// Waits for those that are lent.
    pub(crate) async fn close(&self) {
        if let Ok(all) = self.seats.acquire_many(READERS).await {
            self.seats.close();
            all.forget();
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.writer.lock().await = None;
    }
}

fn closed() -> StoreError {
    StoreError::Unreachable { source: Arc::new(std::io::Error::other("it was closed")) }
}

/// A connection while somebody has it. What was begun and not committed is rolled back when they give it back.
#[derive(Debug)]
pub(crate) enum Lent {
    Writer(OwnedMutexGuard<Option<Connection>>),
    Reader { connection: Option<Connection>, idle: Arc<Mutex<Vec<Connection>>>, _seat: OwnedSemaphorePermit },
}

impl Lent {
    pub(crate) fn connection(&self) -> Result<&Connection, StoreError> {
        let connection = match self {
            Self::Writer(connection) => connection.as_ref(),
            Self::Reader { connection, .. } => connection.as_ref(),
        };
        connection.ok_or_else(closed)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Ok(connection) = self.connection()
            && !connection.is_autocommit()
            && let Err(error) = connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "what was begun could not be rolled back");
        }
        if let Self::Reader { connection, idle, .. } = self {
            idle.lock().unwrap_or_else(PoisonError::into_inner).extend(connection.take());
        }
    }
}
