//! The binary from outside, and the shape of the repository.

mod cli;
mod structure;
