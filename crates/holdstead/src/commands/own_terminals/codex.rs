//! Codex: nothing of its own is changed. The gateway or the runner of this machine is one more client of its daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdstead_gateway::Runner;

use super::{Connection, agreed, write};
use crate::failure::Failure;
use crate::places::Places;

/// So soon it is noticed that somebody connected it, or not any more.
const LOOK: Duration = Duration::from_secs(2);

pub(super) fn connect(places: &Places, yes: bool) -> Result<(), Failure> {
    let socket = socket()?;
    println!("Codex will ask here, too, in every terminal that uses its daemon (not with --no-daemon).");
    println!("  listens at {}; nothing of Codex's is changed", socket.display());
    println!("The dialog stays in your terminal, and the first answer counts.");
    agreed(yes)?;
    write(&places.codex_connected(), &socket.to_string_lossy())?;
    println!("✓ Connected. Start the gateway (`holdstead open`), then `codex` as ever.");
    Ok(())
}

pub(super) fn disconnect(places: &Places) {
    match std::fs::remove_file(places.codex_connected()) {
        Ok(()) => println!("✓ Disconnected."),
        Err(_) => println!("It was not connected."),
    }
}

pub(super) fn connection(places: &Places) -> Connection {
    match (named(places), socket()) {
        (None, _) => Connection::Not,
        (Some(named), Ok(socket)) if named == socket => Connection::Made,
        (Some(_), _) => Connection::Broken,
    }
}

/// Listens to Codex while it is connected.
pub(crate) async fn listen(runner: Arc<Runner>, places: Places) {
    loop {
        let Some(socket) = named(&places) else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let listening = runner.listen_to_codex(socket.clone());
        while named(&places).as_ref() == Some(&socket) {
            tokio::time::sleep(LOOK).await;
        }
        listening.abort();
    }
}

fn named(places: &Places) -> Option<PathBuf> {
    let text = std::fs::read_to_string(places.codex_connected()).ok()?;
    Some(PathBuf::from(text.trim())).filter(|path| path.is_absolute())
}

/// Where its daemon listens.
fn socket() -> Result<PathBuf, Failure> {
    let set = std::env::var_os("CODEX_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex")));
    let home = home.ok_or_else(|| Failure::Usage("There is no home folder.".to_owned()))?;
    Ok(home.join("app-server-control/app-server-control.sock"))
}
