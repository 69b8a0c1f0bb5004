//! Decides. Every rule of Holdstead is a pure function in this crate.
//!
//! [`decide`] turns a command into events or a named rejection; [`fold`] turns events into state. Nothing here
//! reads a clock, waits, or touches a file, a database or a network.

mod answers;
mod approval;
mod asking;
mod attention;
mod base64url;
mod command;
mod confirmation;
mod digest;
mod fold;
mod form;
mod lives;
mod manage;
mod next_step;
mod passkey;
mod person_name;
pub mod policy;
mod rejection;
mod rules_files;
mod schema;
mod search;
mod secret;
pub mod shape;
mod signature;
mod spec;
mod state;
mod telling;
mod title;

pub use asking::{asked, asking};
pub use attention::{
    AfterHold, AfterLimit, after_hold, after_limit, concerns_host, due_at, is_idle, is_unfinished, waits_for,
};
pub use base64url::{base64url, from_base64url};
pub use command::allow::Allow;
pub use command::based::{Based, Basis};
pub use command::begin::Start;
pub use command::cancel::Cancel;
pub use command::exit::{Exit, TurnEnd};
pub use command::expire::{Expire, ExpireCause};
pub use command::fenced::{Fence, Fenced};
pub use command::finish::Finish;
pub use command::late_answer::told_after_loss;
pub use command::message::{Listener, Message};
pub use command::outcome::{MAX_ATTEMPTS, Outcome, Trigger, Verdict};
pub use command::overhear::Overhear;
pub use command::park::CannotPark;
pub use command::ran_other::RanOther;
pub use command::record::Output;
pub use command::request::Request;
pub use command::respond::{Respond, Together};
pub use command::resume::Resume;
pub use command::retell::Retell;
pub use command::withdraw::Withdraw;
pub use command::{Command, Needs, Said, decide};
pub use confirmation::{Act, Confirmed, NeedsPasskey, needs_passkey};
pub use digest::digest;
pub use fold::{CALLER, fold};
pub use lives::{AfterStartError, EndedBy, Gone, HeardEnd, after_start_error, exit};
pub use manage::{Manages, RoleStays, may_change_role, may_manage, may_open};
pub use next_step::{
    FailedTurn, Hosted, Hosting, MAX_FRUITLESS_STARTS, ProcessHere, StartAt, Step, Terminal, next_step,
};
pub use passkey::{
    BadPasskey, MadePasskey, PasskeyAnswer, PasskeyQuestion, check_new_passkey, check_passkey, passkey_site,
};
pub use person_name::{BadName, handle_of, hosted_handle, person_name};
pub use policy::offered_scopes;
pub use rejection::Rejection;
pub use rules_files::{Recorded, RulesFiles};
pub use schema::form_from_schema;
pub use search::{Findable, SearchWords, findable, words_of};
pub use secret::{Secrets, conceal, is_concealed, reveal};
pub use shape::Quota;
pub use signature::{BadSignature, PublicKeyBytes, check_signature};
pub use spec::AskSpec;
pub use state::{
    Action, Archived, Ask, Head, MayHaveRun, PendingTurn, ResponseRecord, RuleUse, STATE_VERSION, SaidLast,
    Session, Snoozed, State, UnconfirmedResult,
};
