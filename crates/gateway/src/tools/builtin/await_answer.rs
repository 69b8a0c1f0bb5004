//! `await_answer`: goes on waiting for what was asked before.

use async_trait::async_trait;
use holdstead_protocol::InteractionId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::read;
use crate::tools::{Effect, InteractionError, Tool, ToolContext};

pub(super) const NAME: &str = "await_answer";

#[derive(Debug)]
pub(super) struct AwaitAnswer;

#[derive(Debug, Deserialize)]
struct Input {
    interaction_id: InteractionId,
}

#[async_trait]
impl Tool for AwaitAnswer {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Go on waiting for an answer after a result with \"status\":\"pending\". Returns what the tool that asked would \
         have returned, or \"pending\" again: then call it again."
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"interaction_id": {"type": "string", "description": "From the pending result"}},
            "required": ["interaction_id"]
        })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let Input { interaction_id } = read(input)?;
        context.outcome_of(interaction_id).await
    }
}
