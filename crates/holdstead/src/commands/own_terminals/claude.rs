//! Claude Code: a plugin whose hooks are ours, from a folder of ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use holdstead_agents::claude_code::{MARKET, PLUGIN, plugin_files, user_folder};
use serde_json::{Map, Value};

use super::{Connection, agreed, write};
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::safe_line;

/// What the program writes about plugins, and leaves behind empty.
const PLUGIN_KEYS: [&str; 2] = ["enabledPlugins", "extraKnownMarketplaces"];

pub(super) fn connect(places: &Places, config: &Config, yes: bool) -> Result<(), Failure> {
    let program = &config.agents.claude.program;
    let version = claude_says(program, &["--version"])?;
    let (folder, settings) = (places.claude_plugin(), settings_file()?);
    println!("Claude Code {} will ask here, too, from its next start on.", safe_line(version.trim()));
    println!("  installs the plugin {PLUGIN} from {}", folder.display());
    println!(
        "  adds two entries to {}; `holdstead disconnect claude` takes them out again",
        settings.display()
    );
    println!(
        "The dialog stays in your terminal, and the first answer counts. In its mode `auto` Claude Code asks little."
    );
    agreed(yes)?;
    if !places.claude_settings_before().exists() {
        let before = std::fs::read(&settings).unwrap_or_default();
        places.write_claude_settings_before(&before)?;
    }
    for (name, text) in plugin_files(&command(places)?) {
        write(&folder.join(name), &text)?;
    }
    claude_says(program, &["plugin", "marketplace", "add", &folder.to_string_lossy()])?;
    claude_says(program, &["plugin", "install", PLUGIN])?;
    println!("✓ Connected. Start the gateway (`holdstead open`), then `claude` as ever.");
    Ok(())
}

pub(super) fn disconnect(places: &Places, config: &Config) -> Result<(), Failure> {
    let program = &config.agents.claude.program;
    claude_says(program, &["plugin", "uninstall", PLUGIN])?;
    claude_says(program, &["plugin", "marketplace", "remove", MARKET])?;
    restore(&settings_file()?, &places.claude_settings_before())?;
    drop(std::fs::remove_dir_all(places.claude_plugin()));
    println!("✓ Disconnected. Claude Code's settings are as they were.");
    Ok(())
}

pub(super) fn connection(places: &Places) -> Connection {
    let settings = settings_file().ok().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    let settings: Value = serde_json::from_slice(&settings).unwrap_or_default();
    if settings["enabledPlugins"][PLUGIN] != Value::Bool(true) {
        return Connection::Not;
    }
    let made = plugin_files(&command(places).unwrap_or_default());
    let as_made = |(name, text): &(&str, String)| {
        std::fs::read_to_string(places.claude_plugin().join(name)).is_ok_and(|now| now == *text)
    };
    if made.iter().all(as_made) { Connection::Made } else { Connection::Broken }
}

/// What the program left behind goes; the rest stays as somebody else may have changed it meanwhile.
fn restore(settings: &Path, before: &Path) -> Result<(), Failure> {
    let io = |what: &Path, source| Failure::Io { what: format!("write {}", what.display()), source };
    let was = std::fs::read(before).unwrap_or_default();
    let read = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
    let Ok(now) = std::fs::read(settings) else { return Ok(()) };
    let (old, mut new) = (read(&was), read(&now));
    for key in PLUGIN_KEYS {
        let left = new.get(key).is_some_and(|value| value == &Value::Object(Map::new()));
        if left && !old.contains_key(key) {
            new.remove(key);
        }
    }
    if new == old && was.is_empty() {
        std::fs::remove_file(settings).map_err(|source| io(settings, source))?;
    } else if new == old {
        std::fs::write(settings, was).map_err(|source| io(settings, source))?;
    } else {
        let text = format!("{:#}\n", Value::Object(new));
        std::fs::write(settings, text).map_err(|source| io(settings, source))?;
    }
    drop(std::fs::remove_file(before));
    Ok(())
}

/// How the program starts us, for its shell.
fn command(places: &Places) -> Result<String, Failure> {
    let own = std::env::current_exe()
        .map_err(|source| Failure::Io { what: "find this program".to_owned(), source })?;
    let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
    let mut command = format!("{} hook claude", quoted(&own));
    if let Some(folder) = places.in_one_folder() {
        command.push_str(&format!(" --dir {}", quoted(folder)));
    }
    Ok(command)
}

fn settings_file() -> Result<PathBuf, Failure> {
    let folder = user_folder().ok_or_else(|| Failure::Usage("There is no home folder.".to_owned()))?;
    Ok(folder.join("settings.json"))
}

fn claude_says(program: &str, args: &[&str]) -> Result<String, Failure> {
    let output = Command::new(program).args(args).output().map_err(|source| {
        Failure::Usage(format!(
            "`{program}` could not be run ({source}): install Claude Code, or say where it is in the settings"
        ))
    })?;
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(words(&output.stdout));
    }
    let said = format!("{} {}", words(&output.stdout), words(&output.stderr));
    Err(Failure::Usage(format!("`{program} {}` failed: {}", args.join(" "), safe_line(said.trim()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let (settings, before) = (folder.path().join("settings.json"), folder.path().join("before"));
        let left = r#"{"a": 1, "enabledPlugins": {}, "extraKnownMarketplaces": {}}"#;
        let cases = [
            ("{\n  \"a\":   1\n}\n", left, Some("{\n  \"a\":   1\n}\n")),
            ("", r#"{"enabledPlugins": {}, "extraKnownMarketplaces": {}}"#, None),
            // Somebody changed something, or uses other plugins: that stays.
            (r#"{"a":1}"#, r#"{"a":2,"enabledPlugins":{}}"#, Some("{\n  \"a\": 2\n}\n")),
            (
                r#"{"a":1,"enabledPlugins":{}}"#,
                r#"{"a":1,"enabledPlugins":{}}"#,
                Some(r#"{"a":1,"enabledPlugins":{}}"#),
            ),
            (
                "",
                r#"{"enabledPlugins":{"b@c":true}}"#,
                Some("{\n  \"enabledPlugins\": {\n    \"b@c\": true\n  }\n}\n"),
            ),
        ];
        for (was, now, expected) in cases {
            std::fs::write(&before, was).unwrap();
            std::fs::write(&settings, now).unwrap();
            restore(&settings, &before).unwrap();
            assert_eq!(std::fs::read_to_string(&settings).ok().as_deref(), expected, "{was} {now}");
        }
    }
}
