//! Decides about calls before a person is bothered: rules in lines of text, grants, and the shell lines they speak of.
//!
//! Everything here is pure. What is true on a machine (where a path leads, whether a folder is trusted) is passed in.

mod address;
mod below;
mod call;
mod conditions;
mod context;
mod decide;
mod ending;
mod exact;
mod folders;
mod glob;
mod guarded;
mod judge;
mod line;
mod locate;
mod lookup;
mod marks;
mod mentions;
mod moved;
mod offers;
mod past;
mod paths;
pub mod programs;
pub(crate) mod reach;
pub mod rule;
mod rules;
pub mod shell;
mod simulate;
mod strict;
mod suggest;
mod suspects;
mod variables;
mod verdict;
mod verified;

pub use call::{Call, Facts, Meaning, Subject};
pub use context::said_at_start;
pub use decide::decide;
pub use ending::{Ending, MAX_STOP_ATTEMPTS, ending, stop_rules};
pub(crate) use exact::is_approved_late;
pub use exact::{ExactCall, covering, offered_scopes};
pub(crate) use judge::used_by;
pub use judge::{Judgement, MayAllow, Standing, answer, judge, told, told_marks, use_key};
pub use lookup::{Asked, Found, Lookup, NameBelow, Place, Places, Presence, Tool};
pub use marks::{Mark, Risk, marks, marks_of_input};
pub use offers::{Offer, Offers, offers};
pub use past::{Decided, Past};
pub use reach::{Reach, reach, wanted};
pub use rules::{Placed, Rules, Source, Trust, Withheld};
pub use simulate::{Change, Simulated, simulate};
pub use suggest::{Suggestion, suggest};
pub use variables::{NO_VARIABLES, STOP_ATTEMPTS, variables};
pub(crate) use variables::{check_settable, check_value};
pub use verdict::{By, Part, Requirement, Verdict};
