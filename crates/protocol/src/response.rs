//! What a person did about an ask.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{GrantId, InteractionId, Scope};

/// A response as it arrives. Answers may be keyed by question id, index or text; nothing is checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ResponseDraft {
    Approve {
        /// Left out: once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Response {
    Approve {
        scope: Scope,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_input: Option<Value>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Every question has its answer, in the order asked.
    Answer { answers: Vec<Answer> },
    /// A form, every value of its field's type.
    Submit {
        #[schema(value_type = Object)]
        input: Map<String, Value>,
    },
    Cancel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
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
    },
    /// A remembered approval.
    Grant {
        grant_id: GrantId,
    },
    /// A rule of this name, built in or configured.
    Rule {
        name: String,
    },
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
