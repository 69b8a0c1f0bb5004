//! A tool that needs several decisions at once.
//!
//!     cargo run -p holdstead-gateway --example questionnaire -- "store=SQLite;region=Somewhere else"

mod stage;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::{Question, QuestionOption, Response};
use serde_json::{Map, Value, json};

#[derive(Debug)]
struct Plan;

#[async_trait]
impl Tool for Plan {
    fn name(&self) -> &str {
        "plan_setup"
    }

    fn description(&self) -> &str {
        "Asks the person where things shall live"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    async fn call(&self, context: &ToolContext, _input: Value) -> Result<Value, InteractionError> {
        let questions = vec![
            question("store", "Which store?", &["SQLite", "PostgreSQL"]),
            question("region", "Which region?", &["Europe", "America"]),
        ];
        context.request_interaction(Interaction::questions(questions).as_questionnaire(), &Answers).await
    }
}

fn question(id: &str, words: &str, options: &[&str]) -> Question {
    let option =
        |label: &&str| QuestionOption { label: (*label).to_owned(), description: None, preview: None };
    Question {
        id: id.to_owned(),
        header: id.to_owned(),
        question: words.to_owned(),
        options: options.iter().map(option).collect(),
        multi_select: false,
        allow_other: true,
        secret: false,
        multiline: false,
    }
}

struct Answers;

#[async_trait]
impl ResponseHandler for Answers {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        let Response::Answer { answers } = response.response else {
            return Ok(ToolOutcome::Complete(json!({ "ok": false, "cancelled": true })));
        };
        let given = answers.iter().map(|answer| {
            (answer.question_id.clone(), Value::from(answer.values().collect::<Vec<_>>().join(", ")))
        });
        Ok(ToolOutcome::Complete(json!({ "ok": true, "answers": given.collect::<Map<_, _>>() })))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    stage::play(Arc::new(Plan), vec![json!({})]).await
}
