//! The end of a turn of Claude Code's, and the words before its first one.

use super::conversation::{Conversation, line};
use super::{convert, wire};
use crate::process::Effect;
use crate::{AgentEvent, TurnEnd};

impl Conversation {
    /// The program asks its hook before it ends the turn.
    pub(super) fn wants_to_end(&mut self, request_id: String) -> Vec<Effect> {
        // A person stopped it: no rule keeps it going.
        if self.interrupted {
            return vec![ends(&request_id)];
        }
        let earlier = self.ending.replace(request_id);
        earlier.map(|id| ends(&id)).into_iter().chain([Effect::Event(AgentEvent::TurnEnding)]).collect()
    }

    pub(super) fn end(&mut self, end: &TurnEnd) -> Vec<Effect> {
        let Some(request_id) = self.ending.take() else { return Vec::new() };
        match end {
            TurnEnd::Blocked { words } if !self.interrupted => {
                vec![line(&wire::response(&request_id, &convert::end_blocked(words)))]
            }
            TurnEnd::Blocked { .. } | TurnEnd::Ends => vec![ends(&request_id)],
        }
    }
}

fn ends(request_id: &str) -> Effect {
    line(&wire::response(request_id, &convert::hook_pass()))
}

/// Words of rules, marked so that the model does not take them for the person's.
pub(super) fn from_holdstead(context: &str) -> String {
    format!(
        "From Holdstead, the gateway of this session, and not from the person who writes to you:\n{context}"
    )
}
