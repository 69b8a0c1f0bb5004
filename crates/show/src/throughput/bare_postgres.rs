//! PostgreSQL by itself, with our tables: `pgbench`, which commits for each client alone, and a writer that takes what all
//! clients want in one commit.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection};
use tempfile::NamedTempFile;
use tokio::process::Command;
use uuid::Uuid;

use super::Bare;
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

pub(super) async fn measure(written: &Written, callers: usize, lasting: Duration) -> Result<Vec<Bare>> {
    let database = Database::new(Kind::Postgres).await?;
    holdstead_store::open(&database.url()).await?.close().await;
    let mut connection = PgConnection::connect(&database.url()).await?;
    sqlx::query(ADD_SESSIONS).bind(i32::try_from(callers)?).execute(&mut connection).await?;
    let bare = vec![
        Bare { what: "pgbench", per_second: pgbench(&database, written, callers, lasting).await? },
        Bare { what: "in batches", per_second: batches(&mut connection, written, callers, lasting).await? },
    ];
    connection.close().await?;
    database.remove().await?;
    Ok(bare)
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

/// The three commits of as many cycles as there are callers, by one connection, over and over.
async fn batches(
    connection: &mut PgConnection,
    written: &Written,
    callers: usize,
    lasting: Duration,
) -> Result<f64> {
    let sessions: Vec<Uuid> = (0..callers).map(|number| Uuid::from_u128(number as u128)).collect();
    let none = Found::default();
    // Behind what pgbench wrote.
    let mut seq = 1_000_000_000_i64;
    let begin = Instant::now();
    let mut cycles = 0_usize;
    while begin.elapsed() < lasting {
        let asks: Vec<Uuid> = sessions.iter().map(|_| Uuid::new_v4()).collect();
        for (step, data) in written.events.iter().enumerate() {
            seq += 1;
            let ids: Vec<Uuid> = sessions.iter().map(|_| Uuid::now_v7()).collect();
            let found = written.found.get(step).unwrap_or(&none);
            sqlx::query(BATCHES[step])
                .bind(&ids)
                .bind(&asks)
                .bind(&sessions)
                .bind(seq)
                .bind(data)
                .bind(SALT.as_slice())
                .bind(HASH.as_slice())
                .bind(&written.head)
                .bind(&written.ask)
                .bind(&found.kind)
                .bind(&found.text)
                .bind(&found.words)
                .execute(&mut *connection)
                .await?;
        }
        cycles += callers;
    }
    Ok(cycles as f64 / begin.elapsed().as_secs_f64())
}

macro_rules! batch {
    ($ask:literal, $found:literal) => {
        concat!(
            "WITH new AS (SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[]) AS new (id, ask, session_id)), \
             event AS (INSERT INTO events (session_id, seq, id, at, type, data, salt, hash) \
             SELECT session_id, $4, id, $4, 'interaction_request', $5, $6, $7 FROM new), ask AS (",
            $ask,
            "), found AS (",
            $found,
            ") UPDATE sessions SET last_seq = $4, last_at = $4, changed_at = $4, head_hash = $7, state = $8 \
             WHERE id = ANY($3) AND $10::text IS NOT NULL AND $11::text IS NOT NULL AND $12::text IS NOT NULL"
        )
    };
}

const BATCHES: [&str; 3] = [
    batch!(
        "INSERT INTO asks (id, session_id, owner, live, opened_at, request_seq, doc) \
         SELECT ask, session_id, 'everybody', TRUE, $4, $4, $9 FROM new",
        "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
         SELECT session_id, $4, $10, 'everybody', $4, ask, $11, $12 FROM new"
    ),
    batch!(
        "UPDATE asks SET live = FALSE, response_seq = $4, decided_at = $4, doc = $9 WHERE id = ANY($2)",
        "INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words) \
         SELECT session_id, $4, $10, 'everybody', $4, ask, $11, $12 FROM new"
    ),
    batch!("UPDATE asks SET doc = $9 WHERE id = ANY($2)", "SELECT"),
];
