//! A tool that does not keep the agent waiting: the agent is told that the question is queued, and the answer comes
//! later, as a message.
//!
//!     cargo run -p holdstead-gateway --example notify_and_wait -- "later" "Blue"

mod stage;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::{Question, QuestionOption};
use serde_json::{Value, json};

#[derive(Debug)]
struct Colour;

#[async_trait]
impl Tool for Colour {
    fn name(&self) -> &str {
        "ask_colour"
    }

    fn description(&self) -> &str {
        "Asks the person for a colour, without waiting long"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    async fn call(&self, context: &ToolContext, _input: Value) -> Result<Value, InteractionError> {
        let option =
            |label: &str| QuestionOption { label: label.to_owned(), description: None, preview: None };
        let question = Question {
            id: "colour".to_owned(),
            header: "Colour".to_owned(),
            question: "Which colour?".to_owned(),
            options: vec![option("Red"), option("Blue")],
            multi_select: false,
            allow_other: true,
            secret: false,
            multiline: false,
        };
        context.request_interaction(Interaction::questions(vec![question]), &NotNow).await
    }
}

/// Whatever is said first counts as "not now".
struct NotNow;

#[async_trait]
impl ResponseHandler for NotNow {
    async fn on_response(&self, _response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::Pending {
            message: "The person decides later. Go on; the answer comes as a message.".to_owned(),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    stage::play(Arc::new(Colour), vec![json!({})]).await
}
