//! What we add to the Model Context Protocol, between our bridge and our server.

use serde_json::{Value, json};

use crate::json::Flaw;

/// What JSON-RPC calls parameters that cannot be used.
const INVALID_PARAMS: i32 = -32602;

/// What a client is told whose message has a flaw; nothing, where it waits for nothing. A call of a tool fails as a
/// tool, in words that its model reads.
pub fn flawed(message: &Value, flaw: &Flaw) -> Option<Value> {
    let id = message.get("id").filter(|id| id.is_string() || id.is_number())?;
    let words =
        format!("This cannot be shown to a person as it is: {flaw}. Nobody was asked; send it without that.");
    Some(if message["method"] == "tools/call" {
        let result = json!({"content": [{"type": "text", "text": words}], "isError": true});
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    } else {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_PARAMS, "message": words}})
    })
}

/// Where a client sends an id of its own for a call: made again, it is the same call.
pub const CALL_ID: &str = "holdstead/callId";

/// The request by which a client that named its call itself says that it has given it up. A cancellation names the request
/// only, and two clients may have the same names for their requests.
pub const GIVE_UP: &str = "holdstead/giveUp";
