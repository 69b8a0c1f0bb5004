//! What Claude Code says, line by line, with our own words in between: every line means something.

use super::text;

pub fn run(bytes: &[u8]) {
    holdstead_agents::fuzzing::claude_code(text(bytes));
}
