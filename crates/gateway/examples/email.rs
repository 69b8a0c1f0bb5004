//! A tool that asks again until the answer is one it can use. Its ask outlives the process: the tool is found again by
//! its name, with the state it asked with.
//!
//!     cargo run -p holdstead-gateway --example email -- email=ada email=ada@example.org

mod stage;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, Reprompt, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::{CompletedView, Field, FieldErrors, FieldKind, Form, Response};
use serde_json::{Value, json};

#[derive(Debug)]
struct Email;

#[async_trait]
impl Tool for Email {
    fn name(&self) -> &str {
        "ask_email"
    }

    fn description(&self) -> &str {
        "Asks the person for an address"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "for": { "type": "string" } } })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let field = Field {
            id: "email".to_owned(),
            label: "Email".to_owned(),
            description: None,
            required: true,
            default: None,
            kind: FieldKind::Text { min_length: None, max_length: Some(200), format: None },
        };
        let form = Form { title: Some("Your address".to_owned()), fields: vec![field] };
        let left =
            CompletedView { show_inputs: false, summary_template: Some("Address: {{email}}".to_owned()) };
        context.request_durable(Interaction::form(form).completed_as(left), input, None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        let Response::Submit { input } = response.response else {
            return Ok(ToolOutcome::Complete(json!({ "ok": false, "cancelled": true })));
        };
        Ok(match input.get("email").and_then(Value::as_str) {
            Some(email) if email.contains('@') => {
                ToolOutcome::Complete(json!({ "ok": true, "email": email, "for": state["for"] }))
            }
            // Validation is a new prompt, never a failure: what was typed is kept.
            _ => ToolOutcome::Reprompt(Reprompt {
                interaction: None,
                error: Some("That is no address.".to_owned()),
                field_errors: FieldErrors::from([("email".to_owned(), "An address has an @.".to_owned())]),
                initial_values: input,
            }),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    stage::play(Arc::new(Email), vec![json!({ "for": "the newsletter" })]).await
}
