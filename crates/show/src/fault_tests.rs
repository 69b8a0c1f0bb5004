//! Fault tests: something is killed, cut or broken, and nothing is lost, doubled or invented.

pub(crate) mod claude_recovery;
pub(crate) mod faults;
pub(crate) mod kill;
pub(crate) mod restore;
pub(crate) mod runner;
pub(crate) mod stalls;
