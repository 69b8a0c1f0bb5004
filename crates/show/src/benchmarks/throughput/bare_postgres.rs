//! PostgreSQL by itself, with our tables: `pgbench`, which commits for each client alone.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::written::{Found, Written};
use crate::database::{Database, Kind};
use crate::{Result, ensure};

const SCRIPT: &str = include_str!("pgbench.sql");
const ADD_SESSIONS: &str = "INSERT INTO sessions (id, owner, agent, last_seq, last_at, head_hash, state_version, state, \
    agent_state, opened, opened_at, changed_at, listed, unfinished) \
    SELECT lpad(to_hex(n), 32, '0')::uuid, 'everybody', '', 0, 0, decode(repeat('5a', 32), 'hex'), 1, '', '', '', 0, 0, \
    TRUE, FALSE FROM generate_series(0, $1 - 1) n";

const SALT: [u8; 16] = [0x5a; 16];
const HASH: [u8; 32] = [0x5a; 32];

/// Cycles a second.
pub(super) async fn measure(written: &Written, callers: usize, lasting: Duration) -> Result<f64> {
    let database = Database::new(Kind::Postgres).await?;
    holdstead_store::open(&database.url()).await?.close().await;
    let mut connection = PgConnection::connect(&database.url()).await?;
    sqlx::query(ADD_SESSIONS).bind(i32::try_from(callers)?).execute(&mut connection).await?;
    connection.close().await?;
    let per_second = pgbench(&database, written, callers, lasting).await?;
    database.remove().await?;
    Ok(per_second)
}

async fn pgbench(database: &Database, written: &Written, callers: usize, lasting: Duration) -> Result<f64> {
    let Database::Postgres { server, schema } = database else { return Err("this is no PostgreSQL".into()) };
    let mut script = NamedTempFile::new()?;
    script.write_all(SCRIPT.as_bytes())?;
    let mut command = Command::new(program());
    command.args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--define=answered=0"]);
    command.arg(format!("--client={callers}")).arg(format!("--time={}", lasting.as_secs()));
    let [request, response, update] = &written.events;
    let bytes: [(&str, &[u8]); 7] = [
        ("request", request),
        ("response", response),
        ("update", update),
        ("head", &written.head),
        ("ask", &written.ask),
        ("salt", &SALT),
        ("hash", &HASH),
    ];
    for (name, bytes) in bytes {
        command.arg(format!("--define={name}={}", bytea(bytes)));
    }
    for (step, Found { kind, text, words }) in ["asked", "answered"].into_iter().zip(&written.found) {
        command.arg(format!("--define={step}_kind={kind}"));
        command.arg(format!("--define={step}_text={text}"));
        command.arg(format!("--define={step}_words={words}"));
    }
    command.arg("--file").arg(script.path()).arg(server).env("PGOPTIONS", format!("-c search_path={schema}"));
    let output = command.output().await?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "pgbench failed: {errors}");
    let per_second =
        text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Ok(per_second.ok_or_else(|| format!("pgbench did not say how many: {text}"))?)
}

/// As PostgreSQL writes bytes in text.
fn bytea(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
        // Writing to a string does not fail.
        let _never = write!(text, "{byte:02x}");
        text
    })
}

/// It lies beside the server's programs, which Debian keeps out of PATH.
fn program() -> PathBuf {
    let mut found: Vec<PathBuf> = Vec::new();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        found.extend(versions.flatten().map(|version| version.path().join("bin/pgbench")));
    }
    found.retain(|path| path.exists());
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from("pgbench"))
}
