//! The lines of the scripted agent, both ways.

use holdstead_protocol::{Form, Hold, Question, Response, Settlement, StopReason, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line on its stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum FromAgent {
    /// The first line.
    Ready {
        conversation: String,
    },
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parents: Vec<String>,
    },
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parents: Vec<String>,
    },
    MessageEnd {},
    ToolStart {
        call: ToolCallId,
        tool: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parents: Vec<String>,
    },
    ToolDelta {
        call: ToolCallId,
        text: String,
    },
    ToolInput {
        call: ToolCallId,
        input: Value,
    },
    ToolResult {
        call: ToolCallId,
        output: Value,
        is_error: bool,
    },
    Ask(WireAsk),
    /// It no longer asks.
    Withdrawn {
        call: ToolCallId,
    },
    /// It has the resolution, and its session file says so: the line that acknowledges.
    Received {
        call: ToolCallId,
    },
    /// Its last line before it goes.
    Parked {
        call: ToolCallId,
    },
    CannotPark {
        call: ToolCallId,
        why: String,
    },
    Done {
        reason: StopReason,
    },
    Error {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireAsk {
    pub call: ToolCallId,
    pub tool: String,
    pub input: Value,
    #[serde(flatten)]
    pub body: WireAskBody,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    pub can_park: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum WireAskBody {
    Approval {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
    },
    Question {
        questions: Vec<Question>,
    },
    Form {
        form: Form,
    },
}

/// A line on its stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ToAgent {
    Message {
        text: String,
    },
    /// The resolution is a [`WireResolution`], kept as it came so that it can be repeated word for word.
    Resolve {
        call: ToolCallId,
        resolution: Value,
    },
    Park {
        call: ToolCallId,
    },
    Interrupt {},
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum WireResolution {
    Settled { settlement: Settlement, response: Response, input: Value },
    Closed { message: String },
    Queued { message: String },
}
