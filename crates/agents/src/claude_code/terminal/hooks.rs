//! What the program tells its hooks.

use serde::Deserialize;
use serde_json::Value;

/// Something that a hook was told.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) session_id: String,
    pub(super) cwd: Option<String>,
    /// Only in a subagent.
    pub(super) agent_id: Option<String>,
    pub(super) agent_type: Option<String>,
    pub(super) transcript_path: Option<String>,
    pub(super) event: HookEvent,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "hook_event_name")]
pub(super) enum HookEvent {
    SessionStart,
    UserPromptSubmit {
        #[serde(default)]
        prompt: String,
    },
    PreToolUse {
        tool_use_id: String,
        tool_name: String,
        #[serde(default)]
        tool_input: Value,
    },
    PostToolUse {
        tool_use_id: String,
        #[serde(default)]
        tool_input: Value,
    },
    /// It runs beside the dialog, and does not say which call it is about.
    PermissionRequest {
        tool_name: String,
        #[serde(default)]
        tool_input: Value,
    },
    Stop {
        last_assistant_message: Option<String>,
    },
    SubagentStart,
    SubagentStop,
    SessionEnd,
    /// Our own: a hook that stays while the program does, and comes again when a gateway was restarted.
    Waiter,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Around {
    session_id: String,
    cwd: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    transcript_path: Option<String>,
}

impl Hook {
    pub(super) fn read(said: Value) -> Option<Self> {
        let around = Around::deserialize(&said).ok()?;
        let event = HookEvent::deserialize(said).ok()?;
        let Around { session_id, cwd, agent_id, agent_type, transcript_path } = around;
        Some(Self { session_id, cwd, agent_id, agent_type, transcript_path, event })
    }

    pub(super) const fn is_before_a_call(&self) -> bool {
        matches!(self.event, HookEvent::PreToolUse { .. })
    }
}
