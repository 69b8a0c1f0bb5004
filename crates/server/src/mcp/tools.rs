//! Tools as MCP describes them, and what they came to.

use holdstead_gateway::{Called, Effect, InteractionError, Tool};
use holdstead_protocol::InteractionId;
use holdstead_protocol::shape::{self, Schemas};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ToolAnnotations};
use serde_json::{Value, json};

pub(super) type Result = std::result::Result<Called, InteractionError>;

/// The argument that makes two calls one.
const KEY: &str = "key";

pub(super) fn described(tool: &dyn Tool) -> rmcp::model::Tool {
    let mut schema = match tool.schema() {
        Value::Object(schema) => schema,
        // A tool without a schema takes anything.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::from_iter([("type".to_owned(), json!("object"))])
        }
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        let key = json!({
            "type": "string",
            "description": "Only if you may have to make this very call again after a restart: the same key is the \
                            same call, and nobody is asked twice"
        });
        properties.entry(KEY).or_insert(key);
    }
    let described = rmcp::model::Tool::new(tool.name().to_owned(), tool.description().to_owned(), schema);
    match tool.effect() {
        Effect::None => described
            .with_annotations(ToolAnnotations::new().read_only(true).destructive(false).open_world(false)),
        Effect::Unknown => described,
    }
}

/// The caller's key. A tool that has an argument of this name keeps it.
pub(super) fn taken_key(tool: &dyn Tool, input: &mut JsonObject) -> Option<String> {
    let its_own = tool.schema().pointer("/properties/key").is_some();
    let key = if its_own { input.get(KEY).cloned() } else { input.remove(KEY) };
    key.and_then(|key| key.as_str().map(str::to_owned)).filter(|key| !key.is_empty() && !its_own)
}

/// What the model is told where the tool does not take this. Models write `null` for what they leave out.
pub(super) fn unfit(tool: &dyn Tool, input: &mut JsonObject) -> Option<CallToolResult> {
    let schema = tool.schema();
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name))
    };
    input
        .retain(|name, value| !value.is_null() || required(name) || schema["properties"].get(name).is_none());
    let faults = shape::faults(&Value::Object(input.clone()), &schema, &Schemas::new());
    if faults.is_empty() {
        return None;
    }
    let words = format!(
        "This input cannot be used: {} Nobody was asked; call again with another one.",
        shape::words(&faults)
    );
    Some(CallToolResult::error(vec![ContentBlock::text(words)]))
}

pub(super) fn told(result: Result) -> CallToolResult {
    match result {
        Ok(Called::Done(value)) if value.is_object() => CallToolResult::structured(value),
        Ok(Called::Done(value)) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        Ok(Called::Waiting(id)) => CallToolResult::structured(pending(id)),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}

fn pending(id: InteractionId) -> Value {
    json!({
        "status": "pending",
        "interaction_id": id,
        "message": "Nobody has answered yet. This is not an answer, and nothing was decided. Call await_answer with \
                    this interaction_id to go on waiting."
    })
}
