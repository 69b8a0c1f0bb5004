//! Claude Code, over its stream-json control protocol.
//!
//! Every call is asked in the `PreToolUse` hook, because only there it can be parked: the program's own permission
//! request comes after the hook and knows no "later". What we know of the program was found by running it; the
//! recordings stand in `tests/fixtures/claude-code`.

mod asks;
mod conversation;
mod convert;
mod driver;
mod ends;
mod keeper;
mod kept;
mod launch_files;
mod newest_row;
mod other_hooks;
mod policy;
mod preview;
mod project;
mod questions;
mod ran;
mod terminal;
mod terms;
mod wire;

pub use driver::{ClaudeCodeDriver, HOSTED, user_folder};
pub use terminal::{MARKET, PLUGIN, plugin_files};

/// For `fuzz/`: the language alone, without a process.
pub(crate) fn wire_alone() -> impl crate::process::Wire {
    conversation::Conversation::new(terms::Terms {
        own_tools: vec!["mcp__holdstead__ask_user".to_owned()],
        private: crate::private::Private::default(),
        plans: Some("/agent-home/.claude/plans".into()),
        read: |_, _, _| Some("a\nb\n".to_owned()),
        is_written: |_| true,
        other_hooks: other_hooks::OtherHooks::None,
        account: None,
    })
}
