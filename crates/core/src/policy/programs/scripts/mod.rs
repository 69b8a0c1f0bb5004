//! Arguments that are programs themselves, each in a language of its own. Only a part of each is taken, the part that
//! reads and prints.

pub(super) mod awk;
mod brackets;
pub(super) mod jq;
pub(super) mod printf;
pub(super) mod sed;
pub(super) mod test;
