//! Codex in a person's own terminal.
//!
//! Its terminal is only a client of a daemon that Codex starts for itself, and so are we: the daemon asks every client of a
//! conversation, and takes the first answer. [`Link`] is one connection to that daemon, for whoever carries its texts; what
//! follows from them for one conversation is in `terminal`. What we know of the program was found by running it; recordings
//! stand in `tests/fixtures/codex`.

mod changes;
mod driver;
mod line;
mod link;
mod questions;
mod terminal;
mod wire;

pub use driver::CodexDriver;
pub use link::{Link, LinkEffect, Waits};
