//! The plugin with which Claude Code in a person's terminal tells us what it does.

use serde_json::{Value, json};

/// What it is called, with the market place that it comes from.
pub const PLUGIN: &str = "holdstead@holdstead";
pub const MARKET: &str = "holdstead";

/// A week, in seconds: a person may be away. Its dialog stands in the terminal meanwhile.
const HELD: u64 = 7 * 24 * 60 * 60;
/// What tells the runner, and waits for its reply for a second at most.
const TELLING: u64 = 5;

/// The files of a folder that is a market place with one plugin. `command` starts our program with the word `hook`.
pub fn plugin_files(command: &str) -> Vec<(&'static str, String)> {
    let about = "Shows what Claude Code asks on every screen of Holdstead. The dialog stays in the terminal; the first answer counts.";
    let market = json!({
        "name": MARKET,
        "description": about,
        "owner": { "name": "Holdstead" },
        "plugins": [{ "name": "holdstead", "source": "./holdstead", "description": about }],
    });
    let plugin = json!({
        "name": "holdstead",
        "version": env!("CARGO_PKG_VERSION"),
        "description": about,
        "author": { "name": "Holdstead" },
    });
    vec![
        (".claude-plugin/marketplace.json", pretty(&market)),
        ("holdstead/.claude-plugin/plugin.json", pretty(&plugin)),
        ("holdstead/hooks/hooks.json", pretty(&json!({ "hooks": hooks(command) }))),
    ]
}

/// Only events that every version of the program has that knows plugins: one that it does not know opens a warning at each
/// start.
fn hooks(command: &str) -> Value {
    let tells = |matcher: bool| {
        let hook = json!({ "type": "command", "command": command, "timeout": TELLING });
        entry(matcher, vec![hook])
    };
    // It stays as long as the program does: a gateway that was restarted hears of the program by it.
    let waiter = json!({
        "type": "command",
        "command": format!("{command} --wait"),
        "asyncRewake": true,
        "timeout": HELD,
    });
    let and_waits = |hook: Value| entry(false, vec![hook, waiter.clone()]);
    let telling = json!({ "type": "command", "command": command, "timeout": TELLING });
    let held = json!({ "type": "command", "command": command, "timeout": HELD });
    json!({
        "SessionStart": and_waits(telling.clone()),
        "UserPromptSubmit": tells(false),
        "PreToolUse": tells(true),
        "PostToolUse": tells(true),
        "PermissionRequest": entry(true, vec![held]),
        "SubagentStart": tells(false),
        "SubagentStop": tells(false),
        "Stop": and_waits(telling),
        "SessionEnd": tells(false),
    })
}

fn entry(matcher: bool, hooks: Vec<Value>) -> Value {
    if matcher { json!([{ "matcher": "*", "hooks": hooks }]) } else { json!([{ "hooks": hooks }]) }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
