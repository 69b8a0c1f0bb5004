//! Scripts of the scripted agent: taken, or refused with the line that is wrong.
#![no_main]

use holdstead_agents::scripted::script::Script;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Script::parse(text) {
        assert!(!error.to_string().is_empty());
    }
});
