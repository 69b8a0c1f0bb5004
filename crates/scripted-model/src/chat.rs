//! The chat completions API, as OpenAI and many others have it.
//!
//! A request is read as one of the Messages API would be, so that the same scripts play.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::script::Part;

/// Pieces are this long, so that every reader sees more than one.
const PIECE: usize = 24;

/// A piece of a reply that streams.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Chunk {
    Data(Value),
    Hold(String),
    /// Nothing follows.
    Done,
}

impl Chunk {
    /// As it is sent; nothing, where the stream stands still.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Data(data) => Some(format!("data: {data}\n\n")),
            Self::Done => Some("data: [DONE]\n\n".to_owned()),
            Self::Hold(_) => None,
        }
    }
}

/// The request, as the Messages API would have it.
pub(crate) fn as_messages(request: &Value) -> Value {
    let messages = request["messages"].as_array().into_iter().flatten().map(|message| {
        let text = &message["content"];
        match message["role"].as_str().unwrap_or_default() {
            "tool" => {
                let result =
                    json!({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text});
                json!({"role": "user", "content": [result]})
            }
            "developer" => json!({"role": "system", "content": text}),
            role => json!({"role": role, "content": text}),
        }
    });
    json!({"messages": messages.collect::<Vec<_>>(), "tools": request["tools"]})
}

/// A whole reply: what a request that does not stream gets.
pub(crate) fn completion(model: &Value, parts: &[Part]) -> Value {
    let aloud: String = parts.iter().filter_map(|part| said(part, Spoken::Aloud)).collect();
    let thought: String = parts.iter().filter_map(|part| said(part, Spoken::Thought)).collect();
    let mut message = json!({"role": "assistant", "content": aloud});
    if !thought.is_empty() {
        message["reasoning_content"] = thought.into();
    }
    let calls: Vec<_> = calls(parts).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(parts)});
    json!({
        "id": id("chatcmpl"), "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage(),
    })
}

pub(crate) fn chunks(model: &Value, parts: &[Part]) -> Vec<Chunk> {
    let reply = id("chatcmpl");
    let chunk = |choices: Value, usage: Value| {
        Chunk::Data(json!({
            "id": reply, "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices, "usage": usage,
        }))
    };
    let delta =
        |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut made = calls(parts).enumerate();
    for part in parts {
        match part {
            Part::Say(text) => chunks.extend(pieces(text).map(|piece| delta(json!({"content": piece})))),
            Part::Think(text) => {
                chunks.extend(pieces(text).map(|piece| delta(json!({"reasoning_content": piece}))));
            }
            Part::Call(_) => {
                let Some((index, mut call)) = made.next() else { continue };
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default().to_owned();
                call["index"] = index.into();
                call["function"]["arguments"] = "".into();
                chunks.push(delta(json!({"tool_calls": [call]})));
                chunks.extend(pieces(&arguments).map(|piece| {
                    delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
                }));
            }
            Part::Hold(gate) => chunks.push(Chunk::Hold(gate.clone())),
            Part::Fail(_) => {}
        }
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(parts)}]);
    chunks.extend([chunk(end, Value::Null), chunk(json!([]), usage()), Chunk::Done]);
    chunks
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Aloud,
    Thought,
}

fn said(part: &Part, spoken: Spoken) -> Option<&str> {
    match (part, spoken) {
        (Part::Say(text), Spoken::Aloud) | (Part::Think(text), Spoken::Thought) => Some(text),
        (Part::Say(_) | Part::Think(_) | Part::Call(_) | Part::Hold(_) | Part::Fail(_), _) => None,
    }
}

fn calls(parts: &[Part]) -> impl Iterator<Item = Value> {
    parts.iter().filter_map(|part| match part {
        Part::Call(call) => {
            let id = call.id.clone().unwrap_or_else(|| id("call"));
            let function = json!({"name": call.name, "arguments": call.input.to_string()});
            Some(json!({"id": id, "type": "function", "function": function}))
        }
        Part::Say(_) | Part::Think(_) | Part::Hold(_) | Part::Fail(_) => None,
    })
}

fn finish(parts: &[Part]) -> &'static str {
    if calls(parts).next().is_some() { "tool_calls" } else { "stop" }
}

fn usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30})
}

fn id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::new_v4().simple())
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
