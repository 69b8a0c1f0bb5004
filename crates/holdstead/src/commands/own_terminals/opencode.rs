//! opencode: a plugin file of ours in the folder of its settings.

use std::path::PathBuf;

use holdstead_agents::opencode::{PLUGIN_FILE, plugin_source};

use super::{Connection, agreed, write};
use crate::failure::Failure;
use crate::places::Places;

pub(super) fn connect(places: &Places, yes: bool) -> Result<(), Failure> {
    let file = file()?;
    println!("opencode will ask here, too, from its next start on.");
    println!("  writes the plugin {}; `holdstead disconnect opencode` deletes it", file.display());
    println!("The dialog stays in your terminal, and the first answer counts.");
    agreed(yes)?;
    write(&file, &source(places))?;
    println!("✓ Connected. Start the gateway (`holdstead open`), then `opencode` as ever.");
    Ok(())
}

pub(super) fn disconnect() -> Result<(), Failure> {
    let file = file()?;
    match std::fs::remove_file(&file) {
        Ok(()) => println!("✓ Disconnected: {} is gone.", file.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => println!("It was not connected."),
        Err(source) => return Err(Failure::Io { what: format!("delete {}", file.display()), source }),
    }
    if let Some(folder) = file.parent() {
        // Only if nobody else has a plugin there.
        drop(std::fs::remove_dir(folder));
    }
    Ok(())
}

pub(super) fn connection(places: &Places) -> Connection {
    match file().ok().and_then(|file| std::fs::read_to_string(file).ok()) {
        None => Connection::Not,
        Some(text) if text == source(places) => Connection::Made,
        Some(_) => Connection::Broken,
    }
}

fn source(places: &Places) -> String {
    plugin_source(&places.hooks_socket().to_string_lossy(), "opencode")
}

fn file() -> Result<PathBuf, Failure> {
    let set = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    let config = config.ok_or_else(|| Failure::Usage("There is no home folder.".to_owned()))?;
    Ok(config.join("opencode").join(PLUGIN_FILE))
}
