//! `ask_user`: one question, in a person's own words or by choice.

use async_trait::async_trait;
use holdstead_protocol::{Question, QuestionOption, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OPEN_FOR, bad_input, declined, read, unfit};
use crate::tools::{
    Effect, Interaction, InteractionError, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};

#[derive(Debug)]
pub(super) struct AskUser;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    question: String,
    input_type: Option<InputType>,
    #[serde(default)]
    options: Vec<Choice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InputType {
    Text,
    Textarea,
    Select,
    Multiselect,
    Confirm,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Choice {
    Label(String),
    Described { label: String, description: Option<String> },
}

#[async_trait]
impl Tool for AskUser {
    fn name(&self) -> &str {
        "ask_user"
    }

    fn description(&self) -> &str {
        "Ask the person a question and wait for the answer. Returns {\"ok\":true,\"answer\":…}, or \
         {\"ok\":false,\"cancelled\":true} if the person would not answer. A result with \"status\":\"pending\" is no \
         answer: call await_answer with its interaction_id."
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "The whole question, as the person reads it"},
                "inputType": {
                    "type": "string",
                    "enum": ["text", "textarea", "select", "multiselect", "confirm"],
                    "description": "text: own words, in a line. textarea: in several. select: one of the options, or own words. multiselect: several. \
                                    confirm: yes or no. Left out: text, or select where there are options"
                },
                "options": {
                    "type": "array",
                    "items": {"anyOf": [
                        {"type": "string"},
                        {
                            "type": "object",
                            "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                            "required": ["label"]
                        }
                    ]}
                }
            },
            "required": ["question"]
        })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let (question, kind) = question(read(input)?)?;
        let several = json!({ "several": kind == InputType::Multiselect });
        let questions = Interaction::questions(vec![question]);
        context.request_durable(questions, several, Some(OPEN_FOR)).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        match response.response {
            Response::Answer { answers } => {
                let values: Vec<&str> = answers.iter().flat_map(|answer| answer.values()).collect();
                let answer = match values.as_slice() {
                    [one] if state["several"] != true => json!(one),
                    several => json!(several),
                };
                Ok(ToolOutcome::Complete(json!({ "ok": true, "answer": answer })))
            }
            Response::Cancel { reason } => Ok(declined(reason)),
            Response::Approve { .. } | Response::Deny { .. } | Response::Submit { .. } => Err(unfit()),
        }
    }
}

fn question(input: Input) -> Result<(Question, InputType), InteractionError> {
    let choices = input.options.into_iter().map(|choice| match choice {
        Choice::Label(label) => QuestionOption { label, description: None, preview: None },
        Choice::Described { label, description } => QuestionOption { label, description, preview: None },
    });
    let mut options: Vec<_> = choices.collect();
    let usual = if options.is_empty() { InputType::Text } else { InputType::Select };
    let kind = input.input_type.unwrap_or(usual);
    match kind {
        InputType::Text | InputType::Textarea if options.is_empty() => {}
        InputType::Text => return Err(bad_input("a `text` has no options")),
        InputType::Textarea => return Err(bad_input("a `textarea` has no options")),
        InputType::Confirm if options.is_empty() => {
            options = ["Yes", "No"]
                .map(|label| QuestionOption { label: label.to_owned(), description: None, preview: None })
                .into();
        }
        InputType::Select | InputType::Multiselect if options.is_empty() => {
            return Err(bad_input("there are no options to select from"));
        }
        InputType::Select | InputType::Multiselect | InputType::Confirm => {}
    }
    let question = Question {
        id: "answer".to_owned(),
        header: "Question".to_owned(),
        question: input.question,
        options,
        multi_select: kind == InputType::Multiselect,
        allow_other: kind != InputType::Confirm,
        secret: false,
        multiline: kind == InputType::Textarea,
    };
    Ok((question, kind))
}
