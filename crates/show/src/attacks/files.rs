//! What lies on the machine: ids, files, databases, ports.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use holdstead_protocol::InteractionId;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Attempt, Target, attempt};
use crate::gateway_process::program;
use crate::{Result, ensure};

pub(super) fn all(target: &Target) -> Vec<Attempt<'_>> {
    vec![
        attempt("D5", "an ask whose last digits are those of another", ground(target)),
        attempt("D17", "a second gateway on the same database", second_gateway(target)),
        attempt("D18", "a database elsewhere that others can read", elsewhere()),
        attempt("D18", "names that are empty, hidden or another's", names(target)),
        attempt("held", "files that other accounts can read", private_files(target)),
        attempt("D1", "the other loopback is somebody else's", other_loopback()),
    ]
}

/// An agent finds a key whose ask ends in the digits that the person was shown, and the person types them.
async fn ground(target: &Target) -> Result<String> {
    let gateway = &target.stage.gateway;
    let shown = target.ask("ls").await?;
    let digits = shown.request.interaction_id.short();
    let listed = gateway.holdstead(&["inbox"]).await?;
    ensure!(listed.status.success(), "the inbox was not listed");
    target.person().win(&shown, holdstead_protocol::ResponseDraft::Deny { reason: None }).await?;
    let collides =
        |key: &String| InteractionId::derive(shown.session_id, &format!("key\n{key}")).short() == digits;
    let key = (0..).map(|number| format!("ground-{number}")).find(collides).ok_or("none was found")?;
    let other = target.ask(&key).await?;
    ensure!(other.request.interaction_id.short() == digits, "the digits are others");
    let answered = gateway.holdstead(&["answer", &digits, "--approve"]).await?;
    ensure!(!answered.status.success(), "it was approved");
    target.still_open(&other).await?;
    Ok(String::from_utf8_lossy(&answered.stderr).lines().next().unwrap_or_default().to_owned())
}

async fn second_gateway(target: &Target) -> Result<String> {
    let folder = TempDir::new()?;
    let store = format!("sqlite:{}", target.stage.gateway.folder().join("holdstead.db").display());
    let args = ["serve", "--listen", "127.0.0.1:0", "--json", "--store", &store, "--dir"];
    refuses_to_start(tokio::process::Command::new(program()?).args(args).arg(folder.path())).await
}

/// What a gateway that does not start says.
async fn refuses_to_start(command: &mut tokio::process::Command) -> Result<String> {
    let output = command.kill_on_drop(true).stdin(std::process::Stdio::null()).output();
    let output = tokio::time::timeout(super::PATIENCE, output).await.map_err(|_| "it started")??;
    ensure!(!output.status.success(), "it started");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().chars().take(110).collect())
}

async fn elsewhere() -> Result<String> {
    let (folder, data) = (TempDir::new()?, TempDir::new()?);
    let file = folder.path().join("journal.db");
    let store = format!("sqlite:{}", file.display());
    let mut child = tokio::process::Command::new(program()?)
        .args(["serve", "--listen", "127.0.0.1:0", "--json", "--store", &store, "--dir"])
        .arg(data.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    for _ in 0..200 {
        if file.exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let modes = modes(folder.path())?;
    child.kill().await?;
    ensure!(modes.iter().all(|(_, mode)| mode & 0o077 == 0) && !modes.is_empty(), "{modes:?}");
    Ok(format!("{} files, all its owner's alone", modes.len()))
}

fn modes(folder: &Path) -> Result<Vec<(String, u32)>> {
    let mut modes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_file() {
            modes.push((entry.file_name().to_string_lossy().into_owned(), data.permissions().mode() & 0o777));
        }
    }
    Ok(modes)
}

async fn names(target: &Target) -> Result<String> {
    let gateway = &target.stage.gateway;
    let long = "x".repeat(300);
    let names = ["", " ", "\u{1b}[2Jana", "a\nb", "a\u{202e}b", "a\u{200b}b", &long];
    for name in names {
        let made = gateway.holdstead(&["token", "--name", name, "--role", "person"]).await?;
        ensure!(!made.status.success(), "{name:?} became a name");
    }
    let _first = gateway.token("Cleo", crate::gateway_process::TokenFor::Person).await?;
    for name in ["Cleo ", "cleo"] {
        let copied = gateway.holdstead(&["token", "--name", name, "--role", "agent"]).await?;
        ensure!(!copied.status.success(), "{name:?} is another's name");
    }
    Ok(format!("{} names, all refused", names.len() + 2))
}

async fn private_files(target: &Target) -> Result<String> {
    let folder = target.stage.gateway.folder();
    let files = modes(folder)?;
    let open: Vec<_> = files.iter().filter(|(name, mode)| mode & 0o077 != 0 && name != "log.txt").collect();
    ensure!(open.is_empty(), "others can read {open:?}");
    Ok(format!("{} files, all its owner's alone", files.len()))
}

/// `localhost` is both loopbacks: whoever holds the other one would be our origin.
async fn other_loopback() -> Result<String> {
    let held = tokio::net::TcpListener::bind("[::1]:0").await?;
    let port = held.local_addr()?.port();
    let folder = TempDir::new()?;
    let listen = format!("127.0.0.1:{port}");
    let args = ["serve", "--listen", &listen, "--json", "--dir"];
    refuses_to_start(tokio::process::Command::new(program()?).args(args).arg(folder.path())).await
}

/// A device of the person's own, with the hash of a secret that somebody made up. How many rows were written.
pub(super) fn plant_token(file: &Path, hash: &str) -> Result<usize> {
    let sql = format!(
        "INSERT INTO devices (id, person_id, hash, kind, name, created_at, changed, mac) \
         SELECT randomblob(16), person_id, X'{hash}', d.kind, d.name, d.created_at, 0, d.mac \
         FROM devices d JOIN people p ON p.id = d.person_id WHERE p.role IN ('person', 'admin') LIMIT 1"
    );
    Ok(Connection::open(file)?.execute(&sql, [])?)
}

pub(super) fn take_back(file: &Path, hash: &str) -> Result<()> {
    let sql = format!("DELETE FROM devices WHERE hash = X'{hash}'");
    Ok(Connection::open(file)?.execute_batch(&sql)?)
}

pub(super) async fn audit(target: &Target) -> Result<String> {
    let verified = target.stage.gateway.holdstead(&["audit", "verify"]).await?;
    let words = String::from_utf8_lossy(&verified.stdout).into_owned();
    ensure!(verified.status.success(), "{words}");
    Ok(words.lines().last().unwrap_or_default().to_owned())
}
