//! The binary from outside, and the shape of the repository.

mod audit;
mod cli;
mod mcp;
mod structure;
