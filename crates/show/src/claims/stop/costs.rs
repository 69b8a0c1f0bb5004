//! What an allowed call costs: reads and commits, by PostgreSQL's own log, and questions to the runner, by the relay.

use std::ops::Sub;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sqlx::{Connection as _, PgConnection};
use tokio::time::sleep;

use super::lane::Lane;
use crate::Result;
use crate::database::Database;

const CALLS: usize = 50;

#[derive(Debug, Clone, Copy)]
struct Statements {
    reads: usize,
    commits: usize,
}

impl Sub for Statements {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(less.reads),
            commits: self.commits.saturating_sub(less.commits),
        }
    }
}

/// The gateway has nothing else to do meanwhile. What it does all the time is measured afterwards, and taken off.
pub(super) async fn of_allowed_call(lane: &mut Lane, database: &Database) -> Result<String> {
    let log = log_of(database).await?;
    for set in ["ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()"] {
        database.run(["", set]).await?;
    }
    lane.allowed(1).await?;
    lane.rest().await?;
    let (begin, start, questions) = (Instant::now(), logged(&log)?, lane.relay.questions());
    lane.allowed(CALLS).await?;
    let (took, end, questions) = (begin.elapsed(), logged(&log)?, lane.relay.questions() - questions);
    lane.rest().await?;
    let rest = logged(&log)?;
    sleep(took).await;
    let idle = logged(&log)? - rest;
    for set in ["ALTER SYSTEM RESET log_statement", "SELECT pg_reload_conf()"] {
        database.run(["", set]).await?;
    }
    let all = end - start - idle;
    let each = |count: usize| count as f64 / CALLS as f64;
    Ok(format!(
        "an allowed call, of {CALLS} in one turn: {:.1} reads, {:.1} commits, {:.1} questions to its runner",
        each(all.reads),
        each(all.commits),
        each(questions)
    ))
}

/// Where `scripts/postgres` has its server write.
async fn log_of(database: &Database) -> Result<PathBuf> {
    let mut connection = PgConnection::connect(&database.url()).await?;
    let data: String = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(Path::new(&data).with_file_name("log"))
}

fn logged(log: &Path) -> Result<Statements> {
    let log = std::fs::read_to_string(log)?;
    let logged = log.lines().filter_map(|line| line.split_once("LOG:  ")?.1.split_once(": "));
    let statements: Vec<&str> = logged.map(|(_, statement)| statement).collect();
    let begin_with = |words| statements.iter().filter(|statement| statement.starts_with(words)).count();
    // A hint to other nodes reads nothing. An append that met no other is one statement, and commits by itself.
    Ok(Statements {
        reads: begin_with("SELECT") - begin_with("SELECT set_config"),
        commits: begin_with("COMMIT") + begin_with("WITH"),
    })
}
