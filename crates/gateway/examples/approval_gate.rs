//! A tool that deploys only what a person approved, and remembers what they approved for the session.
//!
//!     cargo run -p holdstead-gateway --example approval_gate -- session "deny not on Fridays"

mod stage;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::Response;
use serde_json::{Value, json};

#[derive(Debug)]
struct Deploy;

#[async_trait]
impl Tool for Deploy {
    fn name(&self) -> &str {
        "deploy"
    }

    fn description(&self) -> &str {
        "Deploys to an environment, if a person approves"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "to": { "type": "string" } }, "required": ["to"] })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        // The same input, approved for the session, is not asked again: the gateway's own grant covers it.
        context.request_interaction(Interaction::approval(input), &Gate).await
    }
}

struct Gate;

#[async_trait]
impl ResponseHandler for Gate {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::Complete(match response.response {
            Response::Approve { .. } => json!({ "ok": true, "deployed": true }),
            Response::Deny { reason } => json!({ "ok": false, "denied": reason }),
            Response::Answer { .. } | Response::Submit { .. } | Response::Cancel { .. } => {
                json!({ "ok": false, "denied": null })
            }
        }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (staging, production) = (json!({ "to": "staging" }), json!({ "to": "production" }));
    stage::play(Arc::new(Deploy), vec![staging.clone(), staging, production]).await
}
