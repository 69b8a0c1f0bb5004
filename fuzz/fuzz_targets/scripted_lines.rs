//! What the scripted agent says, line by line.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| holdstead_agents::fuzzing::scripted(text));
