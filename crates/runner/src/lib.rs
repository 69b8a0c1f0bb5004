//! Runs agents on one machine, and answers for what is true there. Whoever speaks for them may be in the same process, or
//! far away over a connection; both see the same [`Runner`].
//!
//! It keeps what agents said until the journal has it, and never touches the journal, knows a person, or decides.

mod afar;
mod attend;
mod facts;
mod lookups;
mod names;
mod packages;
mod places;
mod programs;
mod runner;
mod running;
mod said;
mod terminals;
mod versions;
mod wire;

pub use afar::{Arrived, Ended, arrive};
pub use facts::{
    FolderIs, Ground, MAX_RULES, RULES_FILE, RulesFile, TrustedFolder, TrustedNow, find_rules, rules_digest,
};
pub use runner::{Life, Reserved, Runner, Unable};
pub use running::{Loss, Running, Started, Tell};
pub use said::Said;
pub use terminals::{Door, Envelope, ReplyLine, secret_file};
pub use wire::{VERSION, Wire, life};
