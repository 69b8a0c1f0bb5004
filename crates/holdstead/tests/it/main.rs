//! The binary from outside, and the shape of the repository.

mod audit;
mod cli;
mod listed;
mod mcp;
mod store;
mod structure;
#[cfg(unix)]
mod terminal;
