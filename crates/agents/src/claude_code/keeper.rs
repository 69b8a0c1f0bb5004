//! Keeps the copy of one conversation while its process lives: put back before, made anew after.

use std::io;

use holdstead_protocol::SessionId;

use super::kept::{Found, Kept};
use crate::Launch;

#[derive(Debug)]
pub(super) struct Keeper {
    copies: Kept,
    session: SessionId,
    /// The conversation that the process goes on with.
    resumed: Option<String>,
    found: Found,
}

impl Keeper {
    /// Before a process starts.
    pub(super) fn begin(copies: Kept, launch: &Launch) -> io::Result<Self> {
        let session = launch.session;
        let found = match &launch.resume {
            Some(resume) => copies.put_back(session, &resume.agent_ref, resume.at)?,
            None => Found::AsItWas,
        };
        let resumed = launch.resume.as_ref().map(|resume| resume.agent_ref.clone());
        Ok(Self { copies, session, resumed, found })
    }

    /// What people are told when the program's own files had other words than ours.
    pub(super) fn changed(&self) -> Option<String> {
        match &self.found {
            Found::AsItWas => None,
            Found::Changed(kept) => Some(format!(
                "Claude Code's transcript of this conversation was changed while its process was gone. Holdstead put it back \
                 as it was. The changed file is kept as {}.",
                kept.display()
            )),
        }
    }

    /// After the process has ended. `named` is the conversation as the program named it.
    pub(super) fn end(&self, named: Option<&str>) -> Result<(), String> {
        let Some(conversation) = named.or(self.resumed.as_deref()) else { return Ok(()) };
        match self.copies.keep(self.session, conversation) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!(
                "Holdstead could not copy this conversation: {error}. Only Claude Code's own transcript has it, which Claude \
                 Code deletes after some weeks (its setting `cleanupPeriodDays`)."
            )),
        }
    }
}
