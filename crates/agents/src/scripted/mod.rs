//! An agent whose model is the script in the message: for the demo, for tests and for load.
//!
//! It runs as a real process and speaks JSON lines, so that everything between an agent and a person is real. Its
//! script language is described in [`script`].

mod builtin;
mod child;
mod convert;
mod driver;
mod effect;
mod session_file;
mod turn;
mod verdict;

pub mod script;
pub mod wire;

pub use child::run;
pub(crate) use convert::ScriptedWire;
pub use driver::ScriptedDriver;
