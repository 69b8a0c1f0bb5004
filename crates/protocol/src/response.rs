//! What a person did about an ask.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{Actor, GrantId, InteractionId, Scope};

/// A response as it arrives. Answers may be keyed by question id, index or text; nothing is checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ResponseDraft {
    Approve {
        /// Left out: once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// The lines to be saved with a further scope: all of one offer, as they were offered. Left out: the first offer
        /// of that scope.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_input: Option<Value>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Submit {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        answers: Option<Map<String, Value>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        input: Option<Map<String, Value>>,
    },
    Cancel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A response that was checked against its ask: what the journal keeps and the agent gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "WrittenResponse", try_from = "WrittenResponse")]
pub enum Response {
    Approve {
        scope: Scope,
        /// The rules that it gives.
        lines: Vec<String>,
        edited_input: Option<Value>,
    },
    Deny {
        reason: Option<String>,
    },
    /// Every question has its answer, in the order asked.
    Answer {
        answers: Vec<Answer>,
    },
    /// A form, every value of its field's type.
    Submit {
        input: Map<String, Value>,
    },
    Cancel {
        reason: Option<String>,
    },
}

/// A response as it is written. To send answers and to send values is one act: `submit`.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum WrittenResponse {
    Approve {
        scope: Scope,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_input: Option<Value>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    // Journals from before called it `answer` where questions were answered.
    #[serde(alias = "answer")]
    Submit {
        /// Of questions: each has its answer, in the order asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<Vec<Answer>>,
        /// Of a form: every value of its field's type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        input: Option<Map<String, Value>>,
    },
    Cancel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl From<Response> for WrittenResponse {
    fn from(response: Response) -> Self {
        match response {
            Response::Approve { scope, lines, edited_input } => Self::Approve { scope, lines, edited_input },
            Response::Deny { reason } => Self::Deny { reason },
            Response::Answer { answers } => Self::Submit { answers: Some(answers), input: None },
            Response::Submit { input } => Self::Submit { answers: None, input: Some(input) },
            Response::Cancel { reason } => Self::Cancel { reason },
        }
    }
}

impl TryFrom<WrittenResponse> for Response {
    type Error = &'static str;

    fn try_from(written: WrittenResponse) -> Result<Self, Self::Error> {
        match written {
            WrittenResponse::Approve { scope, lines, edited_input } => {
                Ok(Self::Approve { scope, lines, edited_input })
            }
            WrittenResponse::Deny { reason } => Ok(Self::Deny { reason }),
            WrittenResponse::Submit { answers: Some(answers), input: None } => Ok(Self::Answer { answers }),
            WrittenResponse::Submit { answers: None, input: Some(input) } => Ok(Self::Submit { input }),
            WrittenResponse::Submit { .. } => Err("a response submits answers or values, one of them"),
            WrittenResponse::Cancel { reason } => Ok(Self::Cancel { reason }),
        }
    }
}

impl utoipa::PartialSchema for Response {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        WrittenResponse::schema()
    }
}

impl ToSchema for Response {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        WrittenResponse::schemas(schemas);
    }
}

/// The answer to one question. It is never blank: at least one label or a free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub question_id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl Answer {
    /// Labels and free text, as one list.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().chain(self.other.as_ref()).map(String::as_str)
    }
}

/// What stands in a response in the place of a secret. The secret itself reaches the one who asked, and nobody else.
pub const SECRET: &str = "(secret)";

/// Who or what a response came from. Derived by the server, never taken from the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decider {
    Person {
        name: String,
        surface: Surface,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    /// A remembered approval.
    Grant { grant_id: GrantId },
    /// A rule of this name, built in or configured.
    Rule { name: String },
    /// A person's answer to an identical ask, which had not reached the agent yet.
    Earlier {
        /// It stands beside the id of the ask that it decides.
        #[serde(rename = "earlierInteractionId")]
        interaction_id: InteractionId,
    },
}

/// Where a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    Web,
    Terminal,
    Push,
    Chat,
    AgentTerminal,
    Api,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_and_values_are_submitted_in_one_word() {
        let answers = vec![Answer { question_id: "q".to_owned(), labels: vec!["A".to_owned()], other: None }];
        let answer = Response::Answer { answers };
        let written = json!({"action": "submit", "answers": [{"questionId": "q", "labels": ["A"]}]});
        assert_eq!(serde_json::to_value(&answer).unwrap(), written);
        assert_eq!(serde_json::from_value::<Response>(written.clone()).unwrap(), answer);
        // As journals from before have it.
        let mut before = written;
        before["action"] = json!("answer");
        assert_eq!(serde_json::from_value::<Response>(before).unwrap(), answer);

        let values = Response::Submit { input: Map::new() };
        let written = json!({"action": "submit", "input": {}});
        assert_eq!(serde_json::to_value(&values).unwrap(), written);
        assert_eq!(serde_json::from_value::<Response>(written).unwrap(), values);
        assert!(serde_json::from_value::<Response>(json!({"action": "submit"})).is_err());
    }
}
