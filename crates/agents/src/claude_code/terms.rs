//! What one life of the program was started with.

use std::path::PathBuf;

use super::other_hooks::OtherHooks;
use super::preview::ReadFile;
use crate::account::Account;
use crate::private::Private;

#[derive(Debug)]
pub(super) struct Terms {
    /// Our own tools, by the whole name under which the program knows them.
    pub(super) own_tools: Vec<String>,
    pub(super) private: Private,
    /// Where the program keeps plans.
    pub(super) plans: Option<PathBuf>,
    pub(super) read: ReadFile,
    /// Whether the program's transcript is there.
    pub(super) is_written: fn(&str) -> bool,
    /// Hooks that run beside ours.
    pub(super) other_hooks: OtherHooks,
    /// Whom it runs as, if not as this process.
    pub(super) account: Option<Account>,
}
