//! One gateway has a database file for itself. On PostgreSQL there may be several: see [`crate::Cluster`].

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use crate::{StoreError, owners_alone};

/// A gateway that was killed may be held a moment longer by a process it was about to start.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// This process hosts the database's sessions, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    /// The lock lives as long as the file is open. Nobody else can reach a database in memory.
    _lock: Option<File>,
}

impl Claim {
    /// Nobody has to be kept away.
    pub(crate) const fn open_to_all() -> Self {
        Self { _lock: None }
    }

    /// A lock beside the database file itself, wherever a gateway's own folder is.
    pub(crate) async fn of_file(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database);
        let failed = |error: &std::io::Error| StoreError::file(format!("lock {}", path.display()), error);
        let options = owners_alone().read(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(|error| failed(&error))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    // Only words for whoever is refused: that they cannot be written changes nothing.
                    let _words = file.set_len(0).and_then(|()| file.write_all(who().as_bytes()));
                    return Ok(Self { _lock: Some(file) });
                }
                Err(TryLockError::WouldBlock) => sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        let mut by = String::new();
        let _words = file.rewind().and_then(|()| file.read_to_string(&mut by));
        Err(StoreError::Claimed { database: database.display().to_string(), by })
    }
}

fn beside(database: &Path) -> PathBuf {
    let real = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    let mut name = real.into_os_string();
    name.push(".claim");
    name.into()
}

/// This process, for whoever is refused.
fn who() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c)).collect();
    let host = if host.is_empty() { "an unnamed machine".to_owned() } else { host };
    format!("a gateway on {host}, process {}", std::process::id())
}
