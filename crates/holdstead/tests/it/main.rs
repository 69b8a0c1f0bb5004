//! The binary from outside, and the shape of the repository.

mod audit;
#[cfg(target_os = "linux")]
mod boxes;
mod cli;
mod encrypted;
mod listed;
mod mcp;
mod people;
#[cfg(unix)]
mod pipes;
mod rules;
mod store;
mod structure;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod token_stays;
