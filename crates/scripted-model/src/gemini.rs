//! The Gemini API, as far as its command line needs it.
//!
//! A request is read as one of the Messages API would be, so that the same scripts play.

use serde_json::{Value, json};

use crate::script::Part;

/// The request, as the Messages API would have it.
pub(crate) fn as_messages(request: &Value) -> Value {
    let contents = request["contents"].as_array().into_iter().flatten();
    let messages = contents.map(|content| {
        let role = if content["role"] == "model" { "assistant" } else { "user" };
        let blocks: Vec<_> = content["parts"].as_array().into_iter().flatten().filter_map(block).collect();
        json!({"role": role, "content": blocks})
    });
    json!({"messages": messages.collect::<Vec<_>>(), "tools": request["tools"]})
}

fn block(part: &Value) -> Option<Value> {
    if let Some(text) = part["text"].as_str() {
        return Some(json!({"type": "text", "text": text}));
    }
    let result = part.get("functionResponse")?;
    let response = &result["response"];
    let failed = response["error"].is_string();
    let words = response["output"].as_str().or(response["error"].as_str());
    let words = words.map_or_else(|| response.to_string(), str::to_owned);
    Some(json!({"type": "tool_result", "tool_use_id": result["id"], "content": words, "is_error": failed}))
}

/// A whole reply in one piece.
pub(crate) fn reply(parts: &[Part]) -> Value {
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Say(text) => Some(json!({"text": text})),
            Part::Think(text) => Some(json!({"text": text, "thought": true})),
            Part::Call(call) => Some(json!({"functionCall": {"name": call.name, "args": call.input}})),
            Part::Hold(_) | Part::Fail(_) => None,
        })
        .collect();
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30},
    })
}
