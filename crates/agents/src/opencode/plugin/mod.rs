//! The plugin with which opencode in a person's terminal tells us what it does.

use serde_json::Value;

/// Where it lies in the folder of the program's settings.
pub const PLUGIN_FILE: &str = "plugin/holdstead.js";

/// One file for the program: how we are reached, and what it tells us.
const SOURCE: &str = concat!(include_str!("reach.js"), include_str!("events.js"));

/// What the file says. `socket` is where it finds us, and `agent` whose program it says it is.
pub fn plugin_source(socket: &str, agent: &str) -> String {
    // What JSON writes is a string of JavaScript's, too, whatever is in it.
    let quoted = |text: &str| Value::from(text).to_string();
    SOURCE.replacen("\"@AGENT@\"", &quoted(agent), 1).replacen("\"@SOCKET@\"", &quoted(socket), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_more_than_a_path_in_it() {
        let source = plugin_source("/people/a\"; process.exit(); \"/h\\s.sock", "opencode");
        assert!(source.contains(r#"const SOCKET = "/people/a\"; process.exit(); \"/h\\s.sock""#));
        assert!(source.contains(r#"const AGENT = "opencode""#));
    }
}
