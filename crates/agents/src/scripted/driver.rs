//! Starts the scripted agent.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use holdstead_protocol::Capabilities;
use holdstead_protocol::{Meaning, Shell};

use super::convert::ScriptedWire;
use crate::account::with_rights_of;
use crate::boxes::Needs;
use crate::host::Host;
use crate::meaning;
use crate::private::real;
use crate::process::{self, Spawn};
use crate::{Agent, Driver, DriverCapabilities, Launch, Reasks, ResumeAt, StartError, TurnEnds};

#[derive(Debug, Clone)]
pub struct ScriptedDriver {
    host: Host,
    program: Vec<String>,
    state_dir: PathBuf,
    refuse_parking: bool,
}

impl ScriptedDriver {
    /// `program` is the command, with its arguments, that leads to [`super::run`]. The agent keeps its
    /// conversations in `state_dir`.
    pub fn new(host: Host, program: Vec<String>, state_dir: PathBuf) -> Self {
        // The agent runs in the session's folder, where a relative path would mean something else.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let program = program.into_iter().enumerate().map(|(at, word)| {
            let is_path = at == 0 && word.contains(std::path::MAIN_SEPARATOR);
            if is_path { absolute(Path::new(&word)).to_string_lossy().into_owned() } else { word }
        });
        Self { host, program: program.collect(), state_dir: absolute(&state_dir), refuse_parking: false }
    }

    /// The same agent, but it always stays when it is told to park.
    #[must_use]
    pub fn refusing_parking(self) -> Self {
        Self { refuse_parking: true, ..self }
    }
}

#[async_trait]
impl Driver for ScriptedDriver {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn meaning(&self, tool: &str) -> Meaning<'static> {
        meaning::usual(tool, Shell::Sh)
    }

    fn is_private(&self, cwd: &Path) -> bool {
        self.host.is_private(cwd)
    }

    fn capabilities(&self) -> DriverCapabilities {
        DriverCapabilities {
            ask: Capabilities { reason: true, edit_input: true, scopes: true },
            parks: !self.refuse_parking,
            reasks: Reasks::Any,
            ends: TurnEnds::Told,
        }
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        // Another account has no way into the gateway's folders.
        let state_dir = match self.host.account() {
            Some(account) => account.home().join(".local/state/holdstead-scripted"),
            None => self.state_dir.clone(),
        };
        let mut command = self.program.clone();
        command.extend(["--state-dir".to_owned(), state_dir.to_string_lossy().into_owned()]);
        for path in self.host.private() {
            command.extend(["--private".to_owned(), path.to_string_lossy().into_owned()]);
        }
        if let Some(resume) = launch.resume {
            let at = match resume.at {
                ResumeAt::OpenAsks => "open-asks",
                ResumeAt::NextMessage => "next-message",
            };
            command.extend(["--resume".to_owned(), resume.agent_ref, "--at".to_owned(), at.to_owned()]);
        }
        if self.refuse_parking {
            command.push("--refuse-parking".to_owned());
        }
        // It makes the folder by itself; in a box it must be there before.
        with_rights_of(self.host.account(), || std::fs::create_dir_all(&state_dir))
            .flatten()
            .map_err(|source| StartError::Io { program: self.name().to_owned(), source })?;
        let needs = Needs { write: vec![real(&state_dir)], ..Needs::default() };
        process::spawn(Spawn {
            files: None,
            hosted: self.host.command(&launch.life, command, &launch.cwd, &needs)?,
            cwd: launch.cwd,
            env: Vec::new(),
            hint: "it is part of Holdstead; install Holdstead again",
            wire: Box::new(ScriptedWire),
        })
    }
}
