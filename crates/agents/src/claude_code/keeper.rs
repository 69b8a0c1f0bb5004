//! Keeps the copy of one conversation while its process lives: put back before, made anew after.

use std::io;

use super::kept::{Found, Kept, Life};
use crate::Launch;

#[derive(Debug)]
pub(super) struct Keeper {
    copies: Kept,
    life: Life,
    /// The conversation that the process goes on with.
    resumed: Option<String>,
    found: Found,
}

impl Keeper {
    /// Before a process starts.
    pub(super) fn begin(copies: Kept, launch: &Launch) -> io::Result<Self> {
        let life = Life { session: launch.session, number: launch.incarnation.0 };
        let found = match &launch.resume {
            Some(resume) => copies.put_back(&life, &resume.agent_ref, resume.at)?,
            None => Found::AsItWas,
        };
        let resumed = launch.resume.as_ref().map(|resume| resume.agent_ref.clone());
        Ok(Self { copies, life, resumed, found })
    }

    /// What people are told when the program's own files were not what it had written.
    pub(super) fn changed(&self) -> Option<String> {
        let found = match &self.found {
            Found::AsItWas => return None,
            Found::Changed(Some(kept)) => {
                format!("another program had changed it. The changed file is kept as {}.", kept.display())
            }
            Found::Changed(None) => "another program had changed it, and made it too long to be kept.".to_owned(),
            Found::Older => "it was deleted. The copy is from before the last process, so what was said in that one is lost."
                .to_owned(),
        };
        Some(format!("Holdstead put back its copy of Claude Code's transcript of this conversation: {found}"))
    }

    /// After the process has ended. `named` is the conversation as the program named it.
    pub(super) fn end(&self, named: Option<&str>) -> Result<(), String> {
        let Some(conversation) = named.or(self.resumed.as_deref()) else { return Ok(()) };
        self.copies.keep(&self.life, conversation).map_err(|error| {
            format!(
                "Holdstead could not copy this conversation: {error}. What is new in it is only in Claude Code's own \
                 transcript, which Claude Code deletes after some weeks (its setting `cleanupPeriodDays`)."
            )
        })
    }
}
