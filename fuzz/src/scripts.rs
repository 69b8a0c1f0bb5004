//! Scripts of the scripted agent: taken, or refused with the line that is wrong.

use holdstead_agents::scripted::script::Script;

use super::text;

pub fn run(bytes: &[u8]) {
    let text = text(bytes);
    if let Err(error) = Script::parse(text) {
        assert!(!error.to_string().is_empty());
    }
}
