//! Messages of the Model Context Protocol: any, and calls of each tool with any input.

use std::cell::RefCell;

use axum::http::Method;
use serde_json::{Value, json};

use super::face::Face;

const TOOLS: [&str; 4] = ["ask_user", "request_approval", "show_form", "await_answer"];

thread_local! {
    static FACE: RefCell<Face> = RefCell::default();
}

pub fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let message = match TOOLS.get(usize::from(kind % 5)) {
        None => rest.to_vec(),
        Some(tool) => {
            let Ok(arguments) = serde_json::from_slice::<Value>(rest) else { return };
            let params = json!({"name": tool, "arguments": arguments});
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
                .to_string()
                .into_bytes()
        }
    };
    FACE.with_borrow_mut(|face| face.send(&Method::POST, "/mcp?wait=0s", &message));
}
