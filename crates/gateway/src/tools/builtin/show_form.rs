//! `show_form`: several values at once, each checked before it comes back.

use async_trait::async_trait;
use holdstead_core::form_from_schema;
use holdstead_protocol::{Field, FieldKind, Form, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{OPEN_FOR, bad_input, declined, read, unfit};
use crate::tools::{
    Effect, Interaction, InteractionError, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};

#[derive(Debug)]
pub(super) struct ShowForm;

#[derive(Debug, Deserialize)]
struct Input {
    title: Option<String>,
    #[serde(default)]
    fields: Vec<Map<String, Value>>,
    schema: Option<Value>,
}

#[async_trait]
impl Tool for ShowForm {
    fn name(&self) -> &str {
        "show_form"
    }

    fn description(&self) -> &str {
        "Ask the person to fill in a form and wait for it. Returns {\"ok\":true,\"values\":{…}} by field id, or \
         {\"ok\":false,\"cancelled\":true}. A result with \"status\":\"pending\" is no answer: call await_answer with \
         its interaction_id."
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "fields": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string"},
                            "label": {"type": "string"},
                            "description": {"type": "string"},
                            "type": {
                                "type": "string",
                                "enum": ["text", "textarea", "number", "select", "multiselect", "checkbox", "radio", "date"]
                            },
                            "required": {"type": "boolean"},
                            "default": {},
                            "minLength": {"type": "integer"},
                            "maxLength": {"type": "integer"},
                            "format": {"type": "string", "enum": ["email", "uri", "date-time"]},
                            "min": {"description": "Of a number, or of a date like 2026-01-31"},
                            "max": {},
                            "integer": {"type": "boolean"},
                            "minItems": {"type": "integer"},
                            "maxItems": {"type": "integer"},
                            "options": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {"value": {"type": "string"}, "label": {"type": "string"}},
                                    "required": ["value", "label"]
                                }
                            }
                        },
                        "required": ["id", "type"]
                    }
                },
                "schema": {
                    "type": "object",
                    "description": "In place of fields: a flat JSON Schema of the values, as MCP's elicitation has it"
                }
            }
        })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let form = form(read(input)?)?;
        context.request_durable(Interaction::form(form), json!({}), Some(OPEN_FOR)).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        match response.response {
            Response::Submit { input } => Ok(ToolOutcome::Complete(json!({ "ok": true, "values": input }))),
            Response::Cancel { reason } => Ok(declined(reason)),
            Response::Approve { .. } | Response::Deny { .. } | Response::Answer { .. } => Err(unfit()),
        }
    }
}

fn form(input: Input) -> Result<Form, InteractionError> {
    match input.schema {
        Some(schema) if input.fields.is_empty() => {
            form_from_schema(input.title, &schema).map_err(|error| bad_input(&error.to_string()))
        }
        Some(_) => Err(bad_input("there are `fields` and a `schema`: give one of them")),
        None => Ok(Form { title: input.title, fields: fields(input.fields)? }),
    }
}

fn fields(described: Vec<Map<String, Value>>) -> Result<Vec<Field>, InteractionError> {
    let mut fields = Vec::new();
    for mut field in described {
        if !field.contains_key("label") {
            let id = field.get("id").cloned().unwrap_or_default();
            field.insert("label".to_owned(), id);
        }
        let field: Field = read(Value::Object(field))?;
        // A result is kept for who comes back for it, and read by a model: no place for a secret.
        if matches!(field.kind, FieldKind::Secret {}) {
            return Err(bad_input("a secret cannot be asked for in this way"));
        }
        fields.push(field);
    }
    Ok(fields)
}
