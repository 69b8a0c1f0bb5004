//! What the model will say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::messages::Told;

/// A list of replies, one for each request of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script {
    pub replies: Vec<Vec<Part>>,
    /// It has ended before its last reply when the model was told something with these words in it.
    #[serde(skip)]
    until: Option<String>,
}

/// A piece of a reply, in the order in which it is streamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Say(String),
    Think(String),
    Call(Call),
    /// The stream stands still here until the gate of this name is released.
    Hold(String),
    /// Instead of a reply, an error with this HTTP status. Counts only as the first part.
    Fail(u16),
}

impl Part {
    /// Puts what is known now in the place of what stands for it.
    pub(crate) fn fill_in(&mut self, stands_for: &str, known: &str) {
        match self {
            Self::Call(call) => {
                for value in call.input.as_object_mut().into_iter().flat_map(|input| input.values_mut()) {
                    if value == stands_for {
                        *value = known.into();
                    }
                }
            }
            Self::Say(_) | Self::Think(_) | Self::Hold(_) | Self::Fail(_) => {}
        }
    }
}

/// In a call's input, stands for the file that an agent in plan mode tells its model to write the plan to.
pub const PLAN_FILE: &str = "$PLAN_FILE";

/// In a call's input, stands for the `interaction_id` that the model was told last.
pub const INTERACTION_ID: &str = "$INTERACTION_ID";

/// A `tool_use` block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Without one, the call gets a new one each time it is made, as a real model's do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    pub input: Value,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn reply(mut self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.replies.push(parts.into_iter().collect());
        self
    }

    /// As a model does that tries again until it has what it wants.
    #[must_use]
    pub fn until(mut self, words: impl Into<String>) -> Self {
        self.until = Some(words.into());
        self
    }

    /// What comes at this position, after the model was told all this. Nothing: the script has ended.
    pub(crate) fn reply_at(&self, position: usize, told: &[Told]) -> Option<&Vec<Part>> {
        let has_it =
            self.until.as_ref().is_some_and(|words| told.iter().any(|told| told.words().contains(words)));
        self.replies.get(position).filter(|_| !has_it)
    }
}

pub fn say(text: impl Into<String>) -> Part {
    Part::Say(text.into())
}

pub fn think(text: impl Into<String>) -> Part {
    Part::Think(text.into())
}

pub fn call(name: impl Into<String>, input: Value) -> Part {
    Part::Call(Call { id: None, name: name.into(), input })
}

/// The line of a prompt that picks a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Picked {
    Named(String),
    Carried { name: String, script: Script },
}

#[derive(Deserialize)]
struct Carried {
    name: String,
    replies: Script,
}

impl Picked {
    /// The error is what is wrong with the script that the text carries.
    pub(crate) fn from_text(text: &str) -> Option<Result<Self, String>> {
        let picked = text.lines().rev().find_map(|line| line.trim().strip_prefix("script: "))?;
        if !picked.starts_with('{') {
            return Some(Ok(Self::Named(picked.to_owned())));
        }
        Some(match serde_json::from_str(picked) {
            Ok(Carried { name, replies }) => Ok(Self::Carried { name, script: replies }),
            Err(error) => Err(format!("the script in the prompt cannot be read: {error}")),
        })
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Carried { name, .. } => name,
        }
    }
}
