//! For `fuzz/`: what agents say, without their processes. Not part of what this crate offers.

use holdstead_protocol::ToolCallId;

use crate::process::{Effect, Wire};
use crate::scripted::ScriptedWire;
use crate::{AgentEvent, Outgoing, Resolution, TurnEnd, claude_code};

/// Hears every line of a text.
pub fn claude_code(text: &str) {
    hear(claude_code::wire_alone(), text);
}

/// Hears every line of a text.
pub fn scripted(text: &str) {
    hear(ScriptedWire, text);
}

/// Whatever is asked is refused, so that what follows a decision is gone through as well.
fn hear(mut wire: impl Wire, text: &str) {
    wire.open();
    for line in text.lines() {
        let mut asked: Vec<ToolCallId> = Vec::new();
        for effect in wire.hear(line) {
            match effect {
                Effect::Event(AgentEvent::Ask(ask)) => asked.push(ask.tool_call_id),
                Effect::Write(written) => assert!(!written.contains('\n'), "a line is one line"),
                Effect::Event(_) | Effect::Parked | Effect::End => {}
            }
        }
        for tool_call_id in asked {
            let resolution = Resolution::Closed { message: "no".to_owned() };
            wire.say(&Outgoing::Resolve { tool_call_id, resolution });
        }
    }
    wire.say(&Outgoing::TurnEnd(TurnEnd::Blocked { words: "no".to_owned() }));
    wire.say(&Outgoing::Interrupt);
}
