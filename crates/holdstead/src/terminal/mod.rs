//! What a person at a terminal sees and types.
//!
//! Decisions are made in files that touch no terminal (`dialogue`, `edit`, `line`, `rest`, `row`, `speech`, `desk`); `keys`,
//! `screen` and `editor` are its edges; `talk`, `once` and `desk::run` join them.

pub(crate) mod card;
pub(crate) mod desk;
pub(crate) mod dialogue;
mod edit;
mod editor;
pub(crate) mod keys;
mod line;
pub(crate) mod once;
mod prose;
mod rest;
pub(crate) mod row;
#[cfg(test)]
mod sample;
pub(crate) mod screen;
mod speech;
pub(crate) mod talk;
