//! What Claude Code says, line by line, with our own words in between: every line means something.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| holdstead_agents::fuzzing::claude_code(text));
