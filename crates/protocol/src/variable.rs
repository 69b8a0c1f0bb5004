//! Variables of a session: facts that people set, for rules to ask about.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// By name, without the `$` that rules write before it.
pub type Variables = BTreeMap<String, VariableValue>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a variable is a text, a whole number, true or false")]
pub enum VariableValue {
    Flag(bool),
    Number(i64),
    Text(String),
}

impl VariableValue {
    /// A text that is written as a number is one, so that it does not matter how somebody's program wrote it.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Flag(_) => None,
        }
    }
}

/// As a rule writes it. Two values that are written alike are the same to a rule.
impl fmt::Display for VariableValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(out),
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => out.write_str(text),
        }
    }
}
