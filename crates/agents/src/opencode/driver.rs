//! opencode is never started here: people do that, in terminals of their own.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use holdstead_protocol::{Capabilities, Meaning, Shell, Subject};

use super::terminal::{self, OpencodeTerminal};
use crate::bash::bash;
use crate::host::Host;
use crate::meaning;
use crate::private::Private;
use crate::{
    Agent, Driver, DriverCapabilities, Introduced, Launch, MessagesInTerminal, Reasks, StartError, StartedBy,
    Terminal, TurnEnds,
};

const PRODUCT: &str = "opencode";

#[derive(Debug, Clone)]
pub struct OpencodeDriver {
    host: Host,
}

impl OpencodeDriver {
    /// `host` knows the folders that no agent may read.
    pub fn new(host: Host) -> Self {
        Self { host }
    }
}

#[async_trait]
impl Driver for OpencodeDriver {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn meaning(&self, tool: &str) -> Meaning<'static> {
        match tool {
            // The diff says what would be written; the path says where.
            "Edit" => Meaning { subject: Subject::Edits { field: "file_path" }, harmless: &["diff"] },
            "WebFetch" => {
                Meaning { subject: Subject::Fetches { field: "url" }, harmless: &["format", "timeout"] }
            }
            _ => meaning::usual(tool, shell()),
        }
    }

    fn started_by(&self) -> StartedBy {
        StartedBy::People
    }

    fn is_private(&self, cwd: &Path) -> bool {
        self.host.is_private(cwd)
    }

    fn capabilities(&self) -> DriverCapabilities {
        DriverCapabilities {
            ask: Capabilities { reason: true, edit_input: false, scopes: true },
            parks: false,
            reasks: Reasks::Any,
            ends: TurnEnds::Told,
        }
    }

    fn introduced(&self, said: &str) -> Option<Introduced> {
        terminal::introduced(said)
    }

    fn terminal(&self, launch: &Launch, in_turn: bool) -> Option<Box<dyn Terminal>> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let private = Private::new(self.host.private(), &launch.cwd, home.as_deref());
        Some(Box::new(OpencodeTerminal::new(private, in_turn)))
    }

    fn messages_in_terminal(&self) -> MessagesInTerminal {
        MessagesInTerminal::Taken
    }

    async fn start(&self, _launch: Launch) -> Result<Agent, StartError> {
        Err(StartError::OnlyInTerminal { program: PRODUCT })
    }
}

/// The shell that the program runs lines with: its user's, but for those that it does not speak to.
fn shell() -> Shell {
    let set = std::env::var("SHELL").unwrap_or_default();
    match Path::new(&set).file_name().and_then(|name| name.to_str()) {
        Some("bash") => bash(&set),
        Some("zsh") => Shell::Zsh,
        Some("sh" | "dash") => Shell::Sh,
        Some("fish" | "nu") | None if cfg!(target_os = "macos") => Shell::Zsh,
        Some("fish" | "nu") | None => bash("bash"),
        Some(_) => Shell::Other,
    }
}
