//! Decides about calls before a person is bothered: rules in lines of text, grants, and the shell lines they speak of.
//!
//! Everything here is pure. What is true on a machine (where a path leads, whether a folder is trusted) is passed in.

mod exact;
mod glob;
pub mod programs;
pub mod rule;
mod rules;
pub mod shell;

pub(crate) use exact::covering;
pub use exact::offered_scopes;
pub use rules::{Placed, Rules, Source, Trust, Withheld};
