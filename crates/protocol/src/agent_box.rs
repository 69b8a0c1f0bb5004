//! What keeps a hosted agent from the gateway's own files and memory.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The box that an agent's process runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentBox {
    /// Namespaces of its own: the gateway's folders are empty there, and its process is not to be seen.
    Bubblewrap,
    /// The kernel refuses it the gateway's files and the memory of whatever it did not start.
    Landlock,
    /// It can read what the gateway's account can read.
    None {
        /// Why there is none, in words.
        why: String,
    },
}

impl std::fmt::Display for AgentBox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bubblewrap => formatter.write_str("bubblewrap"),
            Self::Landlock => formatter.write_str("Landlock"),
            Self::None { why } => write!(formatter, "none: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionStatus;

    #[test]
    fn a_status_from_before_there_were_boxes_is_written_as_it_was_read() {
        for data in [
            r#"{"agent":"idle","incarnation":1,"pid":7}"#,
            r#"{"agent":"idle","incarnation":1,"pid":7,"box":{"kind":"bubblewrap"}}"#,
            r#"{"agent":"idle","incarnation":1,"pid":7,"box":{"kind":"none","why":"no kernel"}}"#,
        ] {
            let status: SessionStatus = serde_json::from_str(data).unwrap();
            assert_eq!(serde_json::to_string(&status).unwrap(), data);
        }
        assert_eq!(AgentBox::None { why: "no kernel".to_owned() }.to_string(), "none: no kernel");
    }
}
