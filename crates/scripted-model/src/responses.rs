//! OpenAI's Responses API, as far as Codex needs it.
//!
//! A request is read as one of the Messages API would be, so that the same scripts play. A call whose input is a text, and
//! no object, is one of a tool without a schema: Codex's patches are.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::script::{Call, Part};
use crate::stream::{Frame, pieces};

/// The request, as the Messages API would have it.
pub(crate) fn as_messages(request: &Value) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut replied = false;
    for item in request["input"].as_array().into_iter().flatten() {
        let is_reply = item["role"] == "assistant" || is_call(item) || item["type"] == "reasoning";
        if is_reply {
            // One reply is several items.
            if !replied {
                messages.push(json!({"role": "assistant", "content": []}));
            }
        } else if let Some(result) = result(item) {
            messages.push(json!({"role": "user", "content": [result]}));
        } else {
            let role = if item["role"] == "user" { "user" } else { "system" };
            messages
                .push(json!({"role": role, "content": [{"type": "text", "text": text(&item["content"])}]}));
        }
        replied = is_reply;
    }
    json!({"messages": messages, "tools": request["tools"]})
}

fn is_call(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))
}

fn result(item: &Value) -> Option<Value> {
    item["type"].as_str().filter(|kind| kind.ends_with("_call_output"))?;
    let content = text(&item["output"]);
    Some(
        json!({"type": "tool_result", "tool_use_id": item["call_id"], "content": content, "is_error": false}),
    )
}

/// A text, a list of them, or something that has no text of its own.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

/// A reply as the events of the API.
pub(crate) fn frames(request: &Value, parts: &[Part]) -> Vec<Frame> {
    let id = format!("resp_{}", Uuid::new_v4().simple());
    let mut frames = vec![Frame::Event(json!({"type": "response.created", "response": {"id": id}}))];
    let mut index = 0;
    for part in parts {
        if let Part::Hold(gate) = part {
            frames.push(Frame::Hold(gate.clone()));
        }
        let Some(item) = item(request, part) else { continue };
        frames.extend(streamed(&item, index).into_iter().map(Frame::Event));
        index += 1;
    }
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": null, "output_tokens": 20, "output_tokens_details": null,
        "total_tokens": 30,
    });
    frames.push(Frame::Event(json!({"type": "response.completed", "response": {"id": id, "usage": usage}})));
    frames
}

fn item(request: &Value, part: &Part) -> Option<Value> {
    let id = |kind: &str| format!("{kind}_{}", Uuid::new_v4().simple());
    match part {
        Part::Say(text) => {
            let content = json!([{"type": "output_text", "text": text}]);
            Some(json!({"type": "message", "role": "assistant", "id": id("msg"), "content": content}))
        }
        Part::Think(text) => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            Some(json!({"type": "reasoning", "id": id("rs"), "summary": summary}))
        }
        Part::Call(call) => {
            let call_id = call.id.clone().unwrap_or_else(|| id("call"));
            Some(match &call.input {
                Value::String(input) => json!({
                    "type": "custom_tool_call", "id": id("ctc"), "call_id": call_id, "name": call.name, "input": input,
                }),
                input @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => {
                    let (namespace, name) = named(request, call);
                    let mut item = json!({
                        "type": "function_call", "id": id("fc"), "call_id": call_id, "name": name,
                        "arguments": input.to_string(),
                    });
                    if let Some(namespace) = namespace {
                        item["namespace"] = namespace.into();
                    }
                    item
                }
            })
        }
        Part::Hold(_) | Part::Fail(_) => None,
    }
}

/// Tools of a server are offered under its name, and called by both.
fn named<'a>(request: &'a Value, call: &'a Call) -> (Option<&'a str>, &'a str) {
    let spaces = request["tools"].as_array().into_iter().flatten().filter(|tool| tool["type"] == "namespace");
    let of_space = |space: &'a Value| {
        let namespace = space["name"].as_str()?;
        let name = call.name.strip_prefix(namespace)?.trim_start_matches('_');
        let mut tools = space["tools"].as_array().into_iter().flatten();
        tools.any(|tool| tool["name"] == name).then_some((Some(namespace), name))
    };
    spaces.into_iter().find_map(of_space).unwrap_or((None, &call.name))
}

fn streamed(item: &Value, index: usize) -> Vec<Value> {
    let done = json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let Some(text) = item["content"][0]["text"].as_str() else { return vec![done] };
    let mut begun = item.clone();
    begun["content"] = json!([]);
    let added = json!({"type": "response.output_item.added", "output_index": index, "item": begun});
    let delta = |piece: String| {
        json!({
            "type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0,
            "delta": piece,
        })
    };
    [added].into_iter().chain(pieces(text).map(delta)).chain([done]).collect()
}
