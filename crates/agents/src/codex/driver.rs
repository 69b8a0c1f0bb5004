//! What is known of Codex. Nobody here starts it.

use async_trait::async_trait;
use holdstead_protocol::{Capabilities, Meaning, Subject};

use super::terminal::CodexTerminal;
use super::wire;
use crate::bash::bash;
use crate::meaning;
use crate::{
    Agent, Driver, DriverCapabilities, Introduced, Launch, MessagesInTerminal, Reasks, StartError, StartedBy,
    Terminal, TurnEnds,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct CodexDriver;

#[async_trait]
impl Driver for CodexDriver {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self) -> DriverCapabilities {
        DriverCapabilities {
            // What the model reads of a refusal is always the program's own words.
            ask: Capabilities { reason: false, edit_input: false, scopes: true },
            parks: false,
            reasks: Reasks::Any,
            ends: TurnEnds::Told,
        }
    }

    fn meaning(&self, tool: &str) -> Meaning<'static> {
        let usual = meaning::usual(tool, bash("bash"));
        match usual.subject {
            // Rules are told of the folder beside the input, too.
            Subject::Shell { .. } => Meaning { harmless: &["cwd"], ..usual },
            Subject::Reads { .. }
            | Subject::Searches { .. }
            | Subject::ReadsBelow { .. }
            | Subject::Edits { .. }
            | Subject::Fetches { .. }
            | Subject::Whole => usual,
        }
    }

    fn started_by(&self) -> StartedBy {
        StartedBy::People
    }

    fn introduced(&self, said: &str) -> Option<Introduced> {
        wire::introduced(said)
    }

    fn terminal(&self, _launch: &Launch, in_turn: bool) -> Option<Box<dyn Terminal>> {
        Some(Box::new(CodexTerminal::new(in_turn)))
    }

    fn messages_in_terminal(&self) -> MessagesInTerminal {
        MessagesInTerminal::Taken
    }

    async fn start(&self, _launch: Launch) -> Result<Agent, StartError> {
        Err(StartError::OnlyInTerminal { program: "Codex" })
    }
}
