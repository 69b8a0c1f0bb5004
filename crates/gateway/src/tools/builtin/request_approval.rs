//! `request_approval`: may this be done?

use async_trait::async_trait;
use holdstead_protocol::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{OPEN_FOR, bad_input, read, unfit};
use crate::tools::{
    Effect, Interaction, InteractionError, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};

#[derive(Debug)]
pub(super) struct RequestApproval;

#[derive(Debug, Deserialize)]
struct Input {
    action: String,
    details: Option<String>,
    input: Option<Map<String, Value>>,
}

#[async_trait]
impl Tool for RequestApproval {
    fn name(&self) -> &str {
        "request_approval"
    }

    fn description(&self) -> &str {
        "Ask the person to approve something before you do it. Returns {\"ok\":true,\"approved\":true,\"input\":…}, \
         where the person may have changed the input: do exactly that; or {\"ok\":true,\"approved\":false,\"reason\":…}: \
         do not do it. A result with \"status\":\"pending\" is no approval: call await_answer with its interaction_id."
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "description": "What you want to do, in a few words"},
                "details": {"type": "string", "description": "Whatever the person needs to decide"},
                "input": {"type": "object", "description": "What exactly would be done, as data. It may come back changed"}
            },
            "required": ["action"]
        })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let input: Input = read(input)?;
        if input.action.trim().is_empty() {
            return Err(bad_input("it does not say what would be done"));
        }
        let mut shown = Map::from_iter([("action".to_owned(), Value::from(input.action))]);
        shown.extend(input.details.map(|details| ("details".to_owned(), Value::from(details))));
        shown.extend(input.input.map(|input| ("input".to_owned(), Value::Object(input))));
        let shown = Value::Object(shown);
        context.request_durable(Interaction::approval(shown.clone()), shown, Some(OPEN_FOR)).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        let result = match response.response {
            Response::Approve { edited_input, .. } => {
                let approved = edited_input.unwrap_or_else(|| state.clone());
                // What was asked about as data comes back as data; the words around it are the asker's own.
                let input = match (state.get("input"), approved.get("input")) {
                    (Some(_), Some(input)) => input.clone(),
                    (Some(_) | None, _) => approved,
                };
                json!({ "ok": true, "approved": true, "input": input })
            }
            Response::Deny { reason } => json!({ "ok": true, "approved": false, "reason": reason }),
            Response::Answer { .. } | Response::Submit { .. } | Response::Cancel { .. } => {
                return Err(unfit());
            }
        };
        Ok(ToolOutcome::Complete(result))
    }

    /// No decision is no approval, and no refusal either.
    async fn on_timeout(&self, _context: &ToolContext, _state: &Value) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::Complete(
            json!({ "ok": false, "error": "Nobody decided in time, so it is not approved." }),
        ))
    }
}
