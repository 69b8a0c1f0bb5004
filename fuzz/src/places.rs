//! Cursors and ids: what is taken is written as it was given.

use holdstead_gateway::cursor;
use holdstead_protocol::{InteractionId, OwnerId, PromptId, SessionId, ToolCallId};

use super::text;

pub fn run(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok((at, id)) = cursor::parse::<InteractionId>(text) {
        let written = cursor::place(at, id);
        assert_eq!(cursor::parse::<InteractionId>(&written).ok(), Some((at, id)));
    }
    if let Ok((at, id)) = cursor::parse::<SessionId>(text) {
        assert_eq!(cursor::parse::<SessionId>(&cursor::place(at, id)).ok(), Some((at, id)));
    }
    if let Ok(id) = text.parse::<PromptId>() {
        assert_eq!(id.to_string().parse().ok(), Some(id));
    }
    if let Ok(id) = ToolCallId::new(text) {
        assert_eq!(id.as_str(), text);
    }
    if let Ok(owner) = OwnerId::new(text) {
        assert_eq!(owner.as_str(), text);
    }
}
