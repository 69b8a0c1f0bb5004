//! What each fuzz target does with one input. `fuzz_targets/` gives these to libFuzzer; `crates/server/tests/it/fuzzing.rs`
//! includes this file and runs them over the committed inputs, in the build that the other tests use.

pub mod answers;
pub mod bodies;
pub mod claude_lines;
mod face;
pub mod http;
pub mod json;
pub mod mcp;
pub mod places;
pub mod rule_lines;
pub mod schema;
pub mod scripted_lines;
pub mod scripts;
pub mod shell_lines;
pub mod signatures;
pub mod verdicts;

/// The text at the beginning of these bytes.
fn text(bytes: &[u8]) -> &str {
    let end = std::str::from_utf8(bytes).map_or_else(|wrong| wrong.valid_up_to(), str::len);
    std::str::from_utf8(&bytes[..end]).unwrap_or_default()
}
