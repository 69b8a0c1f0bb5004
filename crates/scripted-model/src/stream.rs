//! A reply as the events of the Messages API.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::script::Part;

/// Pieces are this long, so that every reader sees more than one.
const PIECE: usize = 24;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    Event(Value),
    Hold(String),
}

impl Frame {
    pub(crate) fn text(event: &Value) -> String {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    }
}

/// A whole message: what a request that does not stream gets.
pub(crate) fn message(model: &Value, parts: &[Part]) -> Value {
    let mut message = head(model);
    message["content"] = parts.iter().filter_map(block).collect();
    message["stop_reason"] = json!(stop_reason(parts));
    message
}

pub(crate) fn frames(model: &Value, parts: &[Part]) -> Vec<Frame> {
    let mut frames = vec![Frame::Event(json!({"type": "message_start", "message": head(model)}))];
    let mut index = 0;
    for part in parts {
        if let Part::Hold(gate) = part {
            frames.push(Frame::Hold(gate.clone()));
        }
        let Some(block) = block(part) else { continue };
        let (empty, deltas) = streamed(&block);
        frames.push(Frame::Event(
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        frames.extend(deltas.into_iter().map(|delta| {
            Frame::Event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        frames.push(Frame::Event(json!({"type": "content_block_stop", "index": index})));
        index += 1;
    }
    frames.push(Frame::Event(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(parts), "stop_sequence": null},
        "usage": {"output_tokens": 20},
    })));
    frames.push(Frame::Event(json!({"type": "message_stop"})));
    frames
}

fn head(model: &Value) -> Value {
    json!({
        "id": format!("msg_{}", Uuid::new_v4().simple()), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    })
}

fn stop_reason(parts: &[Part]) -> &'static str {
    if parts.iter().any(|part| matches!(part, Part::Call(_))) { "tool_use" } else { "end_turn" }
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Say(text) => Some(json!({"type": "text", "text": text})),
        Part::Think(text) => Some(json!({"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl"})),
        Part::Call(call) => {
            let id = call.id.clone().unwrap_or_else(|| format!("toolu_{}", Uuid::new_v4().simple()));
            Some(json!({"type": "tool_use", "id": id, "name": call.name, "input": call.input}))
        }
        Part::Hold(_) | Part::Fail(_) => None,
    }
}

/// The block as it starts, and what is then added to it.
fn streamed(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    let deltas = if let Some(text) = block["text"].as_str() {
        empty["text"] = json!("");
        pieces(text).map(|piece| json!({"type": "text_delta", "text": piece})).collect()
    } else if let Some(thinking) = block["thinking"].as_str() {
        empty["thinking"] = json!("");
        empty["signature"] = json!("");
        pieces(thinking)
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .chain([json!({"type": "signature_delta", "signature": block["signature"]})])
            .collect()
    } else {
        empty["input"] = json!({});
        pieces(&block["input"].to_string())
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect()
    };
    (empty, deltas)
}

pub(crate) fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
