//! What the daemon's messages are, as far as we need them, and what a connection to it says for one conversation.

use std::path::PathBuf;

use holdstead_protocol::json;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Introduced;

pub(super) const ASKS_COMMAND: &str = "item/commandExecution/requestApproval";
pub(super) const ASKS_CHANGE: &str = "item/fileChange/requestApproval";
pub(super) const ASKS_QUESTION: &str = "item/tool/requestUserInput";
pub(super) const ASKS_FORM: &str = "mcpServer/elicitation/request";
pub(super) const OUTPUT: &str = "item/commandExecution/outputDelta";
pub(super) const TURN_STARTED: &str = "turn/started";
pub(super) const TURN_COMPLETED: &str = "turn/completed";
pub(super) const THREAD_CLOSED: &str = "thread/closed";
pub(super) const RESOLVED: &str = "serverRequest/resolved";

/// How our own names for messages begin.
pub(super) const OURS: &str = "holdstead-";

/// What a connection hands on of one conversation.
#[derive(Debug, Deserialize)]
struct Envelope {
    thread: String,
    cwd: String,
    #[serde(default)]
    path: Option<PathBuf>,
    m: Value,
}

#[derive(Debug)]
pub(super) enum Message {
    /// We hear of it from now on. With the turn that was its last one until now.
    Resumed {
        turn: Option<Turn>,
    },
    /// Somebody waits for words of a person.
    Waiter,
    /// These words did not reach the program.
    NotTaken {
        words: String,
        why: String,
    },
    /// The daemon, or its connection, is gone.
    Gone,
    /// It waits for an answer.
    Asks {
        request: String,
        asks: Asks,
    },
    /// The same, about something that is not decided here.
    AsksElse,
    Resolved {
        request: String,
    },
    ItemStarted {
        turn: String,
        item: Item,
    },
    ItemCompleted {
        turn: String,
        item: Item,
    },
    Text {
        turn: String,
        item: String,
        text: String,
    },
    /// A command said something.
    Output {
        item: String,
    },
    TurnCompleted {
        turn: Turn,
    },
    Other,
}

#[derive(Debug)]
pub(super) enum Asks {
    Command(Box<CommandAsk>),
    Change(ChangeAsk),
    Question(QuestionAsk),
    Tool(ToolAsk),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandAsk {
    pub(super) turn_id: String,
    pub(super) item_id: String,
    pub(super) command: String,
    pub(super) cwd: Option<String>,
    pub(super) reason: Option<String>,
    kind: Option<String>,
    approval_id: Option<Value>,
    network_approval_context: Option<Value>,
    additional_permissions: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangeAsk {
    pub(super) turn_id: String,
    pub(super) item_id: String,
    pub(super) reason: Option<String>,
    grant_root: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuestionAsk {
    pub(super) turn_id: String,
    pub(super) item_id: String,
    pub(super) questions: Vec<AskedQuestion>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AskedQuestion {
    pub(super) id: String,
    #[serde(default)]
    pub(super) header: String,
    pub(super) question: String,
    #[serde(default)]
    pub(super) is_other: bool,
    #[serde(default)]
    pub(super) is_secret: bool,
    #[serde(default)]
    pub(super) options: Option<Vec<AskedOption>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct AskedOption {
    pub(super) label: String,
    #[serde(default)]
    pub(super) description: Option<String>,
}

/// May a tool of an MCP server be called? It does not say which call it is about.
#[derive(Debug)]
pub(super) struct ToolAsk {
    pub(super) turn_id: String,
    pub(super) server: String,
    pub(super) params: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Elicitation {
    turn_id: Option<String>,
    server_name: String,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Turn {
    pub(super) id: String,
    #[serde(default)]
    pub(super) items: Vec<Item>,
    pub(super) status: TurnStatus,
    #[serde(default)]
    pub(super) error: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum TurnStatus {
    InProgress,
    Completed,
    Interrupted,
    Failed,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Item {
    UserMessage {
        /// Whoever sent it named it so.
        client_id: Option<String>,
        #[serde(default)]
        content: Vec<Part>,
    },
    AgentMessage {
        id: String,
        #[serde(default)]
        text: String,
        /// Nothing, while more of it may come.
        completed_at_ms: Option<u64>,
    },
    Reasoning {
        #[serde(default)]
        summary: Vec<String>,
    },
    CommandExecution {
        id: String,
        command: String,
        cwd: Option<String>,
        status: Status,
        aggregated_output: Option<String>,
        exit_code: Option<i64>,
    },
    FileChange {
        id: String,
        changes: Vec<Value>,
        status: Status,
    },
    McpToolCall {
        id: String,
        server: String,
        tool: String,
        #[serde(default)]
        arguments: Value,
        status: Status,
        result: Option<Value>,
        error: Option<Failure>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    text: Option<String>,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    InProgress,
    Completed,
    Failed,
    Declined,
    #[serde(other)]
    Other,
}

/// The words of a message. What is not text has none.
pub(super) fn words(content: &[Part]) -> String {
    content.iter().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
}

pub(super) fn introduced(said: &str) -> Option<Introduced> {
    let (said, _) = json::read_flawed(said.as_bytes()).ok()?;
    let Envelope { thread, cwd, path, .. } = Envelope::deserialize(said).ok()?;
    if thread.is_empty() || thread.len() > 100 {
        return None;
    }
    // Of this conversation, and not any file that somebody names.
    let is_its_own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.is_absolute() && name.is_some_and(|name| name.ends_with(&format!("{thread}.jsonl")))
    };
    let record = path.filter(is_its_own);
    Some(Introduced { agent_ref: thread, cwd, record })
}

/// What was said, and by which conversation. What cannot be read, or not as it is, is nothing.
pub(super) fn read(said: &str) -> Option<(String, Message)> {
    let (said, flaw) = json::read_flawed(said.as_bytes()).ok()?;
    let Envelope { thread, m, .. } = Envelope::deserialize(said).ok()?;
    let message = message(m)?;
    // What cannot be shown as it is is not decided here.
    let unclear = flaw.is_some() && matches!(message, Message::Asks { .. });
    Some((thread, if unclear { Message::AsksElse } else { message }))
}

fn message(m: Value) -> Option<Message> {
    let field = |key: &str| m.get(key).cloned();
    if let Some(turn) = field("resumed") {
        return Some(Message::Resumed { turn: of(turn) });
    }
    if let Some(not_taken) = field("notTaken") {
        let text = |key: &str| not_taken.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        return Some(Message::NotTaken { words: text("words"), why: text("why") });
    }
    if m.get("waiter").is_some() {
        return Some(Message::Waiter);
    }
    if m.get("gone").is_some() {
        return Some(Message::Gone);
    }
    let method = m.get("method")?.as_str()?;
    let params = field("params").unwrap_or_default();
    if let Some(id) = m.get("id") {
        let asks = asks(method, params);
        return Some(asks.map_or(Message::AsksElse, |asks| Message::Asks { request: id.to_string(), asks }));
    }
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    let item = || of::<Item>(params.get("item").cloned().unwrap_or_default());
    Some(match method {
        "item/started" => Message::ItemStarted { turn: text("turnId")?, item: item()? },
        "item/completed" => Message::ItemCompleted { turn: text("turnId")?, item: item()? },
        "item/agentMessage/delta" => {
            Message::Text { turn: text("turnId")?, item: text("itemId")?, text: text("delta")? }
        }
        OUTPUT => Message::Output { item: text("itemId")? },
        TURN_COMPLETED => Message::TurnCompleted { turn: of(params.get("turn").cloned()?)? },
        RESOLVED => Message::Resolved { request: params.get("requestId")?.to_string() },
        THREAD_CLOSED => Message::Gone,
        _ => Message::Other,
    })
}

/// What a person is asked; nothing, if an answer would allow more than what can be shown.
fn asks(method: &str, params: Value) -> Option<Asks> {
    match method {
        ASKS_COMMAND => {
            let ask: CommandAsk = of(params)?;
            let is_command = ask.kind.as_deref().is_none_or(|kind| kind == "command");
            let further = [&ask.approval_id, &ask.network_approval_context, &ask.additional_permissions];
            (is_command && further.into_iter().all(Option::is_none)).then(|| Asks::Command(Box::new(ask)))
        }
        ASKS_CHANGE => {
            let ask: ChangeAsk = of(params)?;
            ask.grant_root.is_none().then_some(Asks::Change(ask))
        }
        ASKS_QUESTION => of(params).map(Asks::Question),
        ASKS_FORM => {
            let form: Elicitation = of(params)?;
            let meta = form.meta?;
            let is_call = meta.get("codex_approval_kind").is_some_and(|kind| kind == "mcp_tool_call");
            let params = meta.get("tool_params").cloned().unwrap_or_default();
            let ask = ToolAsk { turn_id: form.turn_id?, server: form.server_name, params };
            is_call.then_some(Asks::Tool(ask))
        }
        _ => None,
    }
}

fn of<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
