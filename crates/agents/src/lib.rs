//! Speaks to vendors' agents: one folder per agent, and one trait that the gateway sees.
//!
//! A folder has `wire.rs` (the agent's own lines), `convert.rs` (pure and total) and `driver.rs` (the process).
//! This crate never decides, never touches the journal and never knows a person.

mod account;
mod bash;
mod beneath;
mod boxes;
pub mod claude_code;
pub mod codex;
mod descendants;
mod driver;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(target_os = "linux")]
mod guard;
pub mod host;
mod in_terminals;
mod lines;
mod marks;
mod meaning;
pub mod opencode;
mod private;
mod process;
mod program;
pub mod regular;
pub mod scripted;
mod terminal;

pub use account::Account;
pub use boxes::{BoxSetting, Boxes};
pub use driver::{
    Agent, AgentInput, AgentSide, Driver, DriverCapabilities, FoundFiles, Launch, MessagesInTerminal,
    ProjectFiles, Reasks, ResumeAt, ResumePoint, Sent, StartError, StartedBy, ToolServer, TurnEnds,
    WriteError,
};
pub use holdstead_protocol::runner::{AgentEvent, AgentExit, Ask, Outgoing, Resolution, TurnEnd};
pub use in_terminals::terminal_table;
pub use program::{Program, find_program, is_protected};
pub use terminal::{Appeared, Introduced, Terminal, TerminalEffect};
