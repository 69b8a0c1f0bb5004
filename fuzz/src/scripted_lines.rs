//! What the scripted agent says, line by line.

use super::text;

pub fn run(bytes: &[u8]) {
    holdstead_agents::fuzzing::scripted(text(bytes));
}
