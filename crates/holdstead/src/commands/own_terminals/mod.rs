//! Let programs in your own terminals ask on every screen, too; and undo it.

mod claude;
pub(crate) mod codex;
mod opencode;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use crate::cli::{Common, ConnectFlags, Program};
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;

pub(super) fn run(common: &Common, flags: &ConnectFlags) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    places.make()?;
    let config = Config::load(common, &places)?;
    match flags.program {
        Program::Claude => claude::connect(&places, &config, flags.yes),
        Program::Codex => codex::connect(&places, flags.yes),
        Program::Opencode => opencode::connect(&places, flags.yes),
    }
}

pub(super) fn undo(common: &Common, flags: &ConnectFlags) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    match flags.program {
        Program::Claude => claude::disconnect(&places, &config),
        Program::Codex => {
            codex::disconnect(&places);
            Ok(())
        }
        Program::Opencode => opencode::disconnect(),
    }
}

/// How a program in people's terminals stands to us.
pub(super) enum Connection {
    Not,
    /// The plugin is there, and would start this.
    Made,
    /// It is enabled, and what it would start is not this program.
    Broken,
}

pub(super) fn connection(places: &Places, program: Program) -> Connection {
    match program {
        Program::Claude => claude::connection(places),
        Program::Codex => codex::connection(places),
        Program::Opencode => opencode::connection(places),
    }
}

/// Whether the person agrees. Nothing is changed before.
fn agreed(yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage("Nobody can be asked here. If you agree: add --yes".to_owned()));
    }
    print!("Connect it? [y/N] ");
    let io = |source| Failure::Io { what: "ask you".to_owned(), source };
    std::io::stdout().flush().map_err(io)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(io)?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Usage("Nothing was changed.".to_owned())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let made =
        path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
    made.map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
}
