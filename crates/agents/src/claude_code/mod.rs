//! Claude Code, over its stream-json control protocol.
//!
//! Every call is asked in the `PreToolUse` hook, because only there it can be parked: the program's own permission
//! request comes after the hook and knows no "later". What we know of the program was found by running it; the
//! recordings stand in `tests/fixtures/claude-code`.

mod asks;
mod conversation;
mod convert;
mod driver;
mod launch_files;
mod policy;
mod preview;
mod private;
mod project;
mod questions;
mod ran;
mod terms;
mod wire;

pub use driver::{ClaudeCodeDriver, OwnFolders};
