//! One gateway hosts the sessions of a database: a second one would take the first one's agents for dead.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::{StoreError, owners_alone};

/// A gateway that was killed may be held a moment longer: by a process it was about to start, or by the server.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);
/// How often a held lock is looked after.
const CHECK: Duration = Duration::from_secs(2);

/// This process hosts the database's sessions, until it is dropped or lost.
#[derive(Debug)]
pub struct Claim {
    lost: watch::Receiver<Option<String>>,
    _held: Held,
}

#[derive(Debug)]
enum Held {
    /// Nobody else can reach a database in memory.
    Alone(#[expect(dead_code, reason = "kept open so that `lost` waits")] watch::Sender<Option<String>>),
    File(
        #[expect(dead_code, reason = "the lock lives as long as the file is open")] File,
        #[expect(dead_code, reason = "kept open so that `lost` waits")] watch::Sender<Option<String>>,
    ),
    Connection(JoinHandle<()>),
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Self::Connection(keeping) = self {
            keeping.abort();
        }
    }
}

impl Claim {
    /// Returns when somebody else has taken the database, with who it is. Nothing may be hosted from then on.
    pub async fn lost(&mut self) -> String {
        match self.lost.wait_for(Option::is_some).await {
            Ok(by) => by.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    pub(crate) fn alone() -> Self {
        let (sender, lost) = watch::channel(None);
        Self { lost, _held: Held::Alone(sender) }
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
                    let (sender, lost) = watch::channel(None);
                    return Ok(Self { lost, _held: Held::File(file, sender) });
                }
                Err(TryLockError::WouldBlock) => sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        let mut by = String::new();
        let _words = file.rewind().and_then(|()| file.read_to_string(&mut by));
        Err(StoreError::Claimed { database: database.display().to_string(), by })
    }

    /// A lock that the server holds for a connection of our own. It is looked after, and taken again if the connection
    /// breaks.
    pub(crate) async fn of_server(options: PgConnectOptions, database: String) -> Result<Self, StoreError> {
        let mut by = String::new();
        for _ in 0..TRIES {
            let mut connection = options.connect().await?;
            match taken(&mut connection).await? {
                Taken::Here => {
                    let (sender, lost) = watch::channel(None);
                    let keeping = tokio::spawn(keep(connection, options, sender));
                    return Ok(Self { lost, _held: Held::Connection(keeping) });
                }
                Taken::By(who) => by = who,
            }
            sleep(PAUSE).await;
        }
        Err(StoreError::Claimed { database, by })
    }
}

enum Taken {
    Here,
    By(String),
}

/// The schema is part of the lock: two gateways may share a database, each in a schema of its own.
const KEYS: &str = "hashtext('holdstead'), hashtext(current_schema())";

async fn taken(connection: &mut PgConnection) -> Result<Taken, StoreError> {
    // The server shows these words to whoever asks what a connection did last.
    let take = format!("SELECT pg_try_advisory_lock({KEYS}) -- {}", who());
    if sqlx::query_scalar::<_, bool>(AssertSqlSafe(take)).fetch_one(&mut *connection).await? {
        return Ok(Taken::Here);
    }
    let by = "SELECT a.query, to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS since \
              FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted \
              AND l.classid::bigint = (hashtext('holdstead')::bigint & 4294967295) \
              AND l.objid::bigint = (hashtext(current_schema())::bigint & 4294967295)";
    let row = sqlx::query(by).fetch_optional(connection).await?;
    let by = row.map(|row| {
        let (query, since): (String, String) =
            (row.try_get("query").unwrap_or_default(), row.try_get("since").unwrap_or_default());
        let who = query.rsplit_once("-- ").map_or("another gateway", |(_, who)| who).to_owned();
        format!("{who}, connected since {since}")
    });
    Ok(Taken::By(by.unwrap_or_else(|| "another gateway".to_owned())))
}

/// Notices when the connection breaks, and takes the lock again if nobody else has it.
async fn keep(mut connection: PgConnection, options: PgConnectOptions, lost: watch::Sender<Option<String>>) {
    loop {
        sleep(CHECK).await;
        let alive = format!("SELECT 1 -- {}", who());
        if sqlx::query(AssertSqlSafe(alive)).execute(&mut connection).await.is_ok() {
            continue;
        }
        tracing::warn!("the connection that holds the database's lock broke; taking it again");
        connection = loop {
            if let Ok(mut again) = options.connect().await {
                match taken(&mut again).await {
                    Ok(Taken::Here) => break again,
                    Ok(Taken::By(who)) => {
                        // Nobody may wait for it any more.
                        let _nobody = lost.send(Some(who));
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "the database's lock could not be taken again yet"),
                }
                drop(again.close().await);
            }
            sleep(PAUSE).await;
        };
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
