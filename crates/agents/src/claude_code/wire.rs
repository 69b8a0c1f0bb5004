//! The lines of Claude Code, as far as we need them. What we do not know is left alone.

use serde::Deserialize;
use serde_json::{Value, json};

/// A line on its stdout.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FromClaude {
    System(System),
    StreamEvent(Streamed),
    /// A finished piece of a message of the model's.
    Assistant(Said),
    /// What the model is told: tool results, mostly.
    User(Said),
    Result(TurnResult),
    ControlRequest(ControlRequest),
    ControlCancelRequest {
        request_id: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct System {
    pub(super) subtype: String,
    pub(super) session_id: Option<String>,
    /// A subagent, and the call that started it.
    pub(super) task_id: Option<String>,
    pub(super) tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Said {
    pub(super) message: Message,
    /// The call that started the subagent who says it.
    pub(super) parent_tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) id: String,
    /// A text, or a list of blocks.
    pub(super) content: Value,
}

impl Message {
    /// Its blocks, as far as we know their kind.
    pub(super) fn blocks(self) -> Vec<Block> {
        match self.content {
            Value::Array(blocks) => {
                blocks.into_iter().filter_map(|block| serde_json::from_value(block).ok()).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                Vec::new()
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        content: Value,
        is_error: Option<bool>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Streamed {
    pub(super) event: StreamEvent,
    pub(super) parent_tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent {
    MessageStart {
        message: MessageId,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageId {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

/// The end of a turn.
#[derive(Debug, Deserialize)]
pub(super) struct TurnResult {
    #[serde(default)]
    pub(super) subtype: String,
    #[serde(default)]
    pub(super) is_error: bool,
    pub(super) stop_reason: Option<String>,
    pub(super) result: Option<String>,
    #[serde(default)]
    pub(super) errors: Vec<String>,
    pub(super) usage: Option<TokenUsage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TokenUsage {
    #[serde(default)]
    pub(super) input_tokens: u64,
    #[serde(default)]
    pub(super) output_tokens: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlRequest {
    pub(super) request_id: String,
    pub(super) request: Requested,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum Requested {
    HookCallback {
        input: Box<HookInput>,
    },
    CanUseTool(PermissionRequest),
    #[serde(other)]
    Other,
}

impl Requested {
    /// The model is done, and its turn would end.
    pub(super) fn is_end(&self) -> bool {
        match self {
            Self::HookCallback { input } => input.hook_event_name == "Stop",
            Self::CanUseTool(_) | Self::Other => false,
        }
    }

    /// It tells of a call that has run, which nobody can refuse any more.
    pub(super) fn is_after(&self) -> bool {
        match self {
            Self::HookCallback { input } => input.hook_event_name != "PreToolUse",
            Self::CanUseTool(_) | Self::Other => false,
        }
    }
}

/// What a hook is told.
#[derive(Debug, Deserialize)]
pub(super) struct HookInput {
    #[serde(default)]
    pub(super) hook_event_name: String,
    #[serde(default)]
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_input: Value,
    pub(super) tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) permission_mode: String,
    /// Only in a subagent.
    pub(super) agent_id: Option<String>,
    /// Where it is now: a shell line may have changed it.
    pub(super) cwd: Option<String>,
    /// Where the program would write the conversation down.
    pub(super) transcript_path: Option<String>,
}

/// The program's own question whether a tool may run.
#[derive(Debug, Deserialize)]
pub(super) struct PermissionRequest {
    #[serde(default)]
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) input: Value,
    pub(super) tool_use_id: Option<String>,
    pub(super) decision_reason: Option<String>,
    pub(super) agent_id: Option<String>,
}

/// What a request wants, as far as its beginning tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Before,
    After,
    Permission,
    /// Whether the turn may end.
    End,
    Other,
}

/// The id of a request whose line cannot be read, and what it wants. Its own words stand first in the line, before
/// any of the model's.
pub(super) fn outline(text: &str) -> Option<(String, Asks)> {
    let ours = text.trim_start().strip_prefix(r#"{"type":"control_request","#)?;
    let field = |name: &str| {
        let (_, rest) = ours.split_once(&format!(r#""{name}":""#))?;
        Some(rest.split_once('"')?.0)
    };
    // An id that would have to be escaped is none that the program makes.
    let request_id = field("request_id").filter(|id| !id.contains('\\'))?;
    let asks = match (field("subtype")?, field("callback_id")) {
        ("hook_callback", Some(BEFORE)) => Asks::Before,
        ("hook_callback", Some(AFTER)) => Asks::After,
        ("hook_callback", Some(END)) => Asks::End,
        ("can_use_tool", _) => Asks::Permission,
        _ => Asks::Other,
    };
    Some((request_id.to_owned(), asks))
}

/// Our names for the hooks: one comes before a call, one when it has run, one before the turn ends.
const BEFORE: &str = "before";
const AFTER: &str = "after";
const END: &str = "end";

pub(super) fn initialize(request_id: &str, hook_timeout_seconds: u64) -> Value {
    let before = json!([{"matcher": "*", "hookCallbackIds": [BEFORE], "timeout": hook_timeout_seconds}]);
    // One of the two comes for each call that ran, with the input that it ran with.
    let after = json!([{"matcher": "*", "hookCallbackIds": [AFTER]}]);
    let end = json!([{"hookCallbackIds": [END], "timeout": hook_timeout_seconds}]);
    let hooks = json!({"PreToolUse": before, "PostToolUse": after, "PostToolUseFailure": after, "Stop": end});
    control(request_id, &json!({"subtype": "initialize", "hooks": hooks}))
}

pub(super) fn interrupt(request_id: &str) -> Value {
    control(request_id, &json!({"subtype": "interrupt"}))
}

fn control(request_id: &str, request: &Value) -> Value {
    json!({"type": "control_request", "request_id": request_id, "request": request})
}

pub(super) fn user_message(text: &str) -> Value {
    json!({"type": "user", "session_id": "", "message": {"role": "user", "content": text},
        "parent_tool_use_id": null})
}

/// Two blocks of one message: the model reads where the one ends and the other begins.
pub(super) fn user_message_after(context: &str, text: &str) -> Value {
    let blocks = json!([{"type": "text", "text": context}, {"type": "text", "text": text}]);
    json!({"type": "user", "session_id": "", "message": {"role": "user", "content": blocks},
        "parent_tool_use_id": null})
}

/// The answer to one of its requests.
pub(super) fn response(request_id: &str, response: &Value) -> Value {
    json!({"type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": response}})
}

pub(super) fn error_response(request_id: &str, error: &str) -> Value {
    json!({"type": "control_response",
        "response": {"subtype": "error", "request_id": request_id, "error": error}})
}
