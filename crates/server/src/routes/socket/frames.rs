//! What a client said, read as strictly as a body.
//!
//! Beside our own frames there are those of other chat servers, which name a session and a tool call in place of an ask:
//! `chat_message`, `ask_user_response`, and `set_interaction_mode` with `enabled`. They have no `id`, and may have one.

use std::sync::LazyLock;

use holdstead_protocol::json::{self, BadJson};
use holdstead_protocol::shape::{self, Schemas};
use holdstead_protocol::socket::ClientFrame;
use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{Code, Refusal, SessionId};
use serde_json::{Map, Value, json};

use super::super::aliases::in_our_words;
use crate::body::{fitting, refused};

#[derive(Debug)]
pub(super) enum Frame {
    Ours(Box<ClientFrame>),
    Theirs { id: Option<u64>, said: Said },
}

#[derive(Debug)]
pub(super) enum Said {
    Message { session: SessionId, text: String },
    Answers { session: SessionId, tool_call_id: String, answers: Map<String, Value> },
    Mode(InteractionMode),
}

/// Why a frame was not taken.
#[derive(Debug)]
pub(super) enum Unread {
    Refused { id: Option<u64>, refusal: Box<Refusal> },
    NotJson(String),
}

pub(super) fn read(text: &str) -> Result<Frame, Unread> {
    let (value, flaw) = match json::read_flawed(text.as_bytes()) {
        Ok(read) => read,
        Err(bad) => return Err(Unread::NotJson(format!("The frame was not taken: {bad}."))),
    };
    let id = value.get("id").and_then(Value::as_u64);
    let refused = |refusal| Unread::Refused { id, refusal: Box::new(refusal) };
    if let Some(flaw) = flaw {
        let words = format!("The frame was not taken: {}.", BadJson::Flaw(flaw));
        return Err(refused(Refusal::new(Code::BadRequest, words)));
    }
    if let Some(said) = theirs(&value).map_err(refused)? {
        return Ok(Frame::Theirs { id, said });
    }
    ours(value).map(|frame| Frame::Ours(Box::new(frame))).map_err(refused)
}

fn ours(mut value: Value) -> Result<ClientFrame, Refusal> {
    if value["type"] == "ask"
        && let Some(call) = value.get_mut("call")
    {
        *call = in_our_words(call.take())?;
    }
    fitting(value)
}

static THEIRS: LazyLock<Schemas> = LazyLock::new(|| {
    let text = || json!({"type": "string"});
    let frame = |required: Value, mut properties: Map<String, Value>| {
        properties.insert("type".to_owned(), text());
        properties.insert("id".to_owned(), json!({"type": "integer"}));
        json!({"type": "object", "required": required, "properties": properties})
    };
    let message = [("conversation_id".to_owned(), text()), ("content".to_owned(), text())];
    let answers = [
        ("conversation_id".to_owned(), text()),
        ("tool_call_id".to_owned(), text()),
        ("answers".to_owned(), json!({"type": "object"})),
    ];
    let mode = [("enabled".to_owned(), json!({"type": "boolean"}))];
    Schemas::from_iter([
        (
            "chat_message".to_owned(),
            frame(json!(["conversation_id", "content"]), message.into_iter().collect()),
        ),
        (
            "ask_user_response".to_owned(),
            frame(json!(["conversation_id", "tool_call_id", "answers"]), answers.into_iter().collect()),
        ),
        ("set_interaction_mode".to_owned(), frame(json!(["enabled"]), mode.into_iter().collect())),
    ])
});

fn theirs(frame: &Value) -> Result<Option<Said>, Refusal> {
    let name = frame["type"].as_str().unwrap_or_default();
    // Ours of the same name has a mode.
    let is_ours = name == "set_interaction_mode" && frame.get("enabled").is_none();
    let Some(schema) = THEIRS.get(name).filter(|_| !is_ours) else { return Ok(None) };
    refused(shape::faults(frame, schema, &THEIRS))?;
    let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
    let session = || {
        let id: Result<SessionId, _> = text("conversation_id").parse();
        id.map_err(|error| Refusal::new(Code::Invalid, format!("`conversation_id`: {error}.")))
    };
    Ok(Some(match name {
        "chat_message" => Said::Message { session: session()?, text: text("content") },
        "ask_user_response" => Said::Answers {
            session: session()?,
            tool_call_id: text("tool_call_id"),
            answers: frame["answers"].as_object().cloned().unwrap_or_default(),
        },
        _ => Said::Mode(if frame["enabled"] == true { InteractionMode::On } else { InteractionMode::Off }),
    }))
}
