//! A tool that sends mail, and remembers under a key of its own whom a person let it write to: the text may change, the
//! reader may not.
//!
//!     cargo run -p holdstead-gateway --example keyed_approval -- session deny

mod stage;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::{Decider, Response};
use serde_json::{Value, json};

#[derive(Debug)]
struct Mail;

#[async_trait]
impl Tool for Mail {
    fn name(&self) -> &str {
        "mail"
    }

    fn description(&self) -> &str {
        "Sends a mail, if a person lets it write to that reader"
    }

    fn schema(&self) -> Value {
        let text = json!({ "type": "string" });
        json!({ "type": "object", "properties": { "to": text, "text": text }, "required": ["to", "text"] })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let key = format!("to:{}", input["to"].as_str().unwrap_or_default());
        if context.approvals().get(&key).await?.is_some() {
            return Ok(json!({ "ok": true, "sent": true, "asked": false }));
        }
        let reader = Reader { context: context.clone(), key };
        context.request_interaction(Interaction::approval(input), &reader).await
    }
}

struct Reader {
    context: ToolContext,
    key: String,
}

#[async_trait]
impl ResponseHandler for Reader {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        let Response::Approve { scope, .. } = response.response else {
            return Ok(ToolOutcome::Complete(json!({ "ok": false, "sent": false })));
        };
        // What is remembered names the ask and the person: both come with the answer.
        if let Decider::Person { name, .. } = &response.decider {
            let approvals = self.context.approvals();
            let remembered = approvals.set(&self.key, scope, name, response.interaction_id).await;
            remembered.map_err(|error| ToolFailure(error.to_string()))?;
        }
        Ok(ToolOutcome::Complete(json!({ "ok": true, "sent": true, "asked": true })))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mail = |to: &str, text: &str| json!({ "to": to, "text": text });
    let mails = vec![mail("bob", "Hello"), mail("bob", "Hello again"), mail("eve", "Hello")];
    stage::play(Arc::new(Mail), mails).await
}
