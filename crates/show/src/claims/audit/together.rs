//! What an attacker can do to all sessions together, to the file beside the database, and to a session with all that was
//! signed about it. Each time everything is put back, so that nothing else is found afterwards.

use std::path::PathBuf;

use holdstead_protocol::SessionId;
use serde_json::Value;

use super::Counted;
use super::auditor::Auditor;
use super::tables::Tables;
use crate::{Result, ensure};

const OF_SESSION: [(&str, &str); 4] =
    [("sessions", "id"), ("events", "session_id"), ("asks", "session_id"), ("checkpoints", "session_id")];

/// Rows that would let somebody in: what is done, how, how it is undone, and the words that find it.
const ROWS: [(&str, &str, &str, &str); 3] = [
    (
        "an agent given another role",
        "UPDATE people SET role = 'runner' WHERE role = 'agent'",
        "UPDATE people SET role = 'agent' WHERE role = 'runner'",
        "with the role `runner`",
    ),
    (
        "a person's row put in",
        "INSERT INTO people (id, owner, name, handle, role, created_at) \
         SELECT {id}, owner, 'Mallory', 'mallory', 'admin', created_at FROM people LIMIT 1",
        "DELETE FROM people WHERE id = {id}",
        "wrote or changed the row of Mallory",
    ),
    (
        "a token's row put in",
        "INSERT INTO devices (id, person_id, hash, kind, name, created_at, changed) \
         SELECT {id}, person_id, (SELECT hash FROM events LIMIT 1), kind, name, created_at, 0 FROM devices LIMIT 1",
        "DELETE FROM devices WHERE id = {id}",
        ", dev_",
    ),
];

pub(super) async fn tamper(
    tables: &Tables<'_>,
    auditor: &Auditor,
    log: PathBuf,
    session: SessionId,
    counted: &mut Counted,
) -> Result<()> {
    let whole = std::fs::read_to_string(&log)?;
    counted.untouched("all of it, with its rounds", &auditor.verify(None).await?)?;

    std::fs::remove_file(&log)?;
    let verdict = auditor.verify(None).await?;
    counted.touched("the log of what was signed gone", &verdict, "checkpoints.log lacks")?;
    let rounds = lines(&whole, |line| line.get("round").is_some());
    ensure!(!rounds.is_empty(), "there are no rounds in the log");
    std::fs::write(&log, without(&whole, rounds.last()))?;
    let verdict = auditor.verify(None).await?;
    counted.touched("the log cut short by a line", &verdict, "checkpoints.log lacks 1 of")?;
    let first = rounds.first().cloned().unwrap_or_default();
    std::fs::write(&log, whole.replace(&first, &first.replacen("\"count\":", "\"count\":1", 1)))?;
    counted.touched("a changed round in the log", &auditor.verify(None).await?, "was not signed by a key")?;

    // A session goes with its rows, its checkpoints and every line that names it.
    let of_it = session.to_string();
    let names = lines(&whole, |line| line["session"].as_str() == Some(&of_it));
    ensure!(!names.is_empty(), "the log does not name {session}");
    std::fs::write(&log, names.iter().fold(whole.clone(), |text, line| without(&text, Some(line))))?;
    save_and_drop(tables, session).await?;
    let verdict = auditor.verify(None).await?;
    counted.touched("a session gone with all that names it", &verdict, "a session may be gone")?;
    let last = "DELETE FROM rounds WHERE number = (SELECT max(number) FROM rounds)";
    tables.run(session, "CREATE TABLE saved_rounds AS SELECT * FROM rounds").await?;
    tables.run(session, last).await?;
    let verdict = auditor.verify(None).await?;
    counted.touched("the same, and the last round from the database", &verdict, "its end was taken away")?;
    tables.run(session, "DELETE FROM rounds").await?;
    let verdict = auditor.verify(None).await?;
    counted.touched("the same, and all rounds from the database", &verdict, "was taken from the database")?;
    tables.run(session, "INSERT INTO rounds SELECT * FROM saved_rounds; DROP TABLE saved_rounds").await?;
    put_back(tables, session).await?;
    std::fs::write(&log, &whole)?;
    counted.untouched("all of it, put back", &auditor.verify(None).await?)?;

    for (what, sql, back, wanted) in ROWS {
        tables.run(session, sql).await?;
        counted.touched(what, &auditor.verify(None).await?, wanted)?;
        tables.run(session, back).await?;
    }
    counted.untouched("all of it, put back again", &auditor.verify(None).await?)?;

    version_before(tables, session).await?;
    std::fs::write(&log, rounds.iter().fold(whole.clone(), |text, line| without(&text, Some(line))))?;
    counted.untouched("a database of the version before", &auditor.verify(None).await?)?;
    auditor.run(&["checkpoint"]).await?;
    let verdict = auditor.verify(None).await?;
    counted.untouched("the same with its first rounds", &verdict)?;
    ensure!(verdict.words.contains("rounds: 1"), "no round was signed: {}", verdict.words);
    Ok(())
}

fn lines(text: &str, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let lines = text.lines().filter(|line| serde_json::from_str(line).is_ok_and(|line| wanted(&line)));
    lines.map(str::to_owned).collect()
}

fn without(text: &str, line: Option<&String>) -> String {
    text.lines()
        .filter(|other| Some(*other) != line.map(String::as_str))
        .map(|line| format!("{line}\n"))
        .collect()
}

async fn save_and_drop(tables: &Tables<'_>, session: SessionId) -> Result<()> {
    for (table, id) in OF_SESSION.iter().rev() {
        let sql = format!(
            "CREATE TABLE saved_{table} AS SELECT * FROM {table} WHERE {id} = {{id}}; \
             DELETE FROM {table} WHERE {id} = {{id}}"
        );
        tables.run(session, &sql).await?;
    }
    Ok(())
}

async fn put_back(tables: &Tables<'_>, session: SessionId) -> Result<()> {
    for (table, _) in OF_SESSION {
        let sql = format!("INSERT INTO {table} SELECT * FROM saved_{table}; DROP TABLE saved_{table}");
        tables.run(session, &sql).await?;
    }
    Ok(())
}

/// The tables as they were before there were rounds.
async fn version_before(tables: &Tables<'_>, session: SessionId) -> Result<()> {
    let sql = "DROP INDEX checkpoints_by_round; ALTER TABLE checkpoints DROP COLUMN round; DROP TABLE rounds; \
               DELETE FROM _sqlx_migrations WHERE version = 4";
    tables.run(session, sql).await
}
