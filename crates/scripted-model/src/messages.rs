//! Reads a request of the Messages API: which script it wants, where it is in it, and what the model was told.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::script::Picked;

/// One thing the model was told, verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Told {
    ToolResult {
        tool_use_id: String,
        content: String,
        is_error: bool,
    },
    /// A user's words, or what the agent says in the user's name.
    Text {
        text: String,
    },
    /// What the agent adds on its own, as a system message or in `<system-reminder>` tags. Not echoed.
    Reminder {
        text: String,
    },
}

impl Told {
    /// The words themselves.
    pub fn words(&self) -> &str {
        match self {
            Self::ToolResult { content, .. } => content,
            Self::Text { text } | Self::Reminder { text } => text,
        }
    }
}

/// A conversation that plays a script.
#[derive(Debug, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) picked: Picked,
    /// How many replies the script has given already.
    pub(crate) position: usize,
    /// Since the script was picked.
    pub(crate) told: Vec<Told>,
    /// Where the agent wants the plan, when it is in plan mode.
    pub(crate) plan_file: Option<String>,
    /// What it was told to come back for.
    pub(crate) interaction: Option<String>,
}

/// Nothing for a request beside the conversation, such as one for a title: those offer no tools, or pick no script.
pub(crate) fn conversation(request: &Value) -> Option<Result<Conversation, String>> {
    request["tools"].as_array().filter(|tools| !tools.is_empty())?;
    let mut found: Option<Result<Conversation, String>> = None;
    for message in request["messages"].as_array().into_iter().flatten() {
        if message["role"] == "assistant" {
            if let Some(Ok(conversation)) = &mut found {
                conversation.position += 1;
            }
            continue;
        }
        for block in blocks(&message["content"]) {
            let told = told(&message["role"], &block);
            let picked = match &told {
                Some(Told::Text { text }) => Picked::from_text(text),
                Some(Told::ToolResult { .. } | Told::Reminder { .. }) | None => None,
            };
            match (picked, told, &mut found) {
                (Some(picked), _, _) => {
                    found = Some(picked.map(|picked| Conversation {
                        picked,
                        position: 0,
                        told: Vec::new(),
                        plan_file: None,
                        interaction: None,
                    }));
                }
                (None, Some(told), Some(Ok(conversation))) => {
                    conversation.plan_file = plan_file(&told).or(conversation.plan_file.take());
                    conversation.interaction = interaction(&told).or(conversation.interaction.take());
                    conversation.told.push(told);
                }
                (None, _, _) => {}
            }
        }
    }
    found
}

/// Content is a string or a list of blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn told(role: &Value, block: &Value) -> Option<Told> {
    match block["type"].as_str()? {
        "tool_result" => Some(Told::ToolResult {
            tool_use_id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            content: text_of(&block["content"]),
            is_error: block["is_error"].as_bool().unwrap_or(false),
        }),
        "text" => {
            let text = block["text"].as_str().unwrap_or_default().to_owned();
            let is_reminder = role == "system" || text.trim_start().starts_with("<system-reminder>");
            Some(if is_reminder { Told::Reminder { text } } else { Told::Text { text } })
        }
        _ => None,
    }
}

fn plan_file(told: &Told) -> Option<String> {
    let (_, rest) = told.words().split_once("create your plan at ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

fn interaction(told: &Told) -> Option<String> {
    let (_, rest) = told.words().split_once("interaction_id")?;
    let id = rest.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    id.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next().map(str::to_owned)
}

/// What is not text is named by its type, in brackets.
fn text_of(content: &Value) -> String {
    let texts = blocks(content).into_iter().map(|block| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("unknown")),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What several requests of one conversation told the model, in order of first appearance. Each request repeats the
/// ones before it, so an item counts as often as it occurs in the request that has it most.
pub(crate) fn told_by_all<'a>(requests: impl IntoIterator<Item = &'a Vec<Told>>) -> Vec<Told> {
    let count = |told: &[Told], item: &Told| told.iter().filter(|other| *other == item).count();
    let mut all: Vec<Told> = Vec::new();
    for request in requests {
        for (at, item) in request.iter().enumerate() {
            if count(&request[..=at], item) > count(&all, item) {
                all.push(item.clone());
            }
        }
    }
    all
}
