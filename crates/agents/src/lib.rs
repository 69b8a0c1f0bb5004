//! Speaks to vendors' agents: one folder per agent, and one trait that the gateway sees.
//!
//! A folder has `wire.rs` (the agent's own lines), `convert.rs` (pure and total) and `driver.rs` (the process).
//! This crate never decides, never touches the journal and never knows a person.

mod boxes;
pub mod claude_code;
mod driver;
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
mod lines;
mod meaning;
mod private;
mod process;
mod program;
pub mod scripted;

pub use boxes::{BoxSetting, Boxes};
pub use driver::{
    Agent, AgentEvent, AgentExit, AgentInput, AgentSide, Ask, Driver, DriverCapabilities, FoundFiles, Launch,
    Outgoing, ProjectFiles, Reasks, Resolution, ResumeAt, ResumePoint, Sent, StartError, ToolServer, TurnEnd,
    TurnEnds, WriteError,
};
pub use program::{Program, find_program};
