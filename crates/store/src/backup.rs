//! A copy of a journal in a file, while a gateway writes to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tokio::task::spawn_blocking;

use crate::sqlite_connections::{BUSY, Place};
use crate::{StoreError, owners_alone};

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} is there already, and a backup overwrites nothing: name another file", path.display())]
    Exists { path: PathBuf },
    #[error(
        "{} is there: another backup is being written, or one was interrupted. If none runs, remove that file",
        path.display()
    )]
    Unfinished { path: PathBuf },
    #[error("the journal is in PostgreSQL, which makes its own backups: see docs/operations.md")]
    NotAFile,
    #[error("the file's name cannot be given to SQLite: take one of plain letters")]
    BadName,
    #[error(
        "the copy does not hold together ({what}), so it was dropped: look at the disks, and at the journal itself"
    )]
    Unsound { what: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Copies the journal at this address to a file that is not there yet, as it is at one moment. Whoever writes to it goes on.
/// The file appears under its name when it is whole and on disk; until then it is called `….partial`. Returns its bytes.
pub async fn backup(url: &str, to: &Path) -> Result<u64, BackupError> {
    if !url.starts_with("sqlite:") {
        return Err(BackupError::NotAFile);
    }
    let Place::File(from) = Place::of(url)? else { return Err(BackupError::NotAFile) };
    if !from.exists() {
        return Err(StoreError::Absent { url: url.to_owned() }.into());
    }
    let to = to.to_owned();
    let copied = spawn_blocking(move || copy(&from, &to)).await;
    copied.unwrap_or_else(|error| Err(BackupError::Unsound { what: error.to_string() }))
}

/// Removed, unless it was given its name.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // Whatever is left of it does not look like a backup.
        let _gone = std::fs::remove_file(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> Result<u64, BackupError> {
    let failed =
        |what: &str, error: &std::io::Error| StoreError::file(format!("{what} {}", to.display()), error);
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { path: to.to_owned() });
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let path = PathBuf::from(partial);
    // Its owner's alone, before SQLite writes to it.
    match owners_alone().create_new(true).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Unfinished { path });
        }
        Err(error) => return Err(failed("make", &error).into()),
    }
    let partial = Partial(path);
    vacuum(from, &partial.0)?;
    check(&partial.0)?;
    let file = File::open(&partial.0).map_err(|error| failed("read", &error))?;
    file.sync_all().map_err(|error| failed("write", &error))?;
    let bytes = file.metadata().map_err(|error| failed("read", &error))?.len();
    // Unlike a rename, this never takes the place of another file.
    match std::fs::hard_link(&partial.0, to) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Exists { path: to.to_owned() });
        }
        Err(error) => return Err(failed("name", &error).into()),
    }
    drop(partial);
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("write", &error))?;
    Ok(bytes)
}

/// In one read transaction: the journal as it is at one moment. In WAL mode nobody who writes waits for it.
fn vacuum(from: &Path, to: &Path) -> Result<(), BackupError> {
    let to = to.to_str().ok_or(BackupError::BadName)?;
    // It makes nothing: a journal that is gone since is no empty one.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute("VACUUM INTO ?1", [to])?;
    Ok(())
}

/// A backup that nobody could read is none.
fn check(path: &Path) -> Result<(), BackupError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(BackupError::Unsound { what: found }) }
}
