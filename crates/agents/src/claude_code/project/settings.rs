//! Which texts of a file are commands that Claude Code runs: in settings, lists of servers and plugins, and in the words of
//! agents, commands and skills.

use std::path::Path;

use serde_json::{Map, Value};

use super::commands::Named;

/// Files whose commands count. Any other JSON is data.
const SETTINGS: [&str; 6] =
    [".mcp.json", ".lsp.json", "hooks.json", "plugin.json", "settings.json", "settings.local.json"];
/// Settings that are a command end like this: `apiKeyHelper`, `awsAuthRefresh`, `awsCredentialExport`.
const COMMANDS: [&str; 3] = ["Helper", "Refresh", "Export"];
/// Programs in it are started without a shell.
const SERVERS: [&str; 2] = ["mcpServers", "lspServers"];
const DEPTH: usize = 64;

/// What this file names.
pub(super) fn read(file: &Path, bytes: &[u8], named: &mut Named) {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    if kind == "json" {
        match serde_json::from_slice(bytes) {
            Ok(settings) => json(&settings, name.ends_with(".lsp.json"), DEPTH, named),
            Err(_) if SETTINGS.contains(&name) && !bytes.is_empty() => {
                named.unresolved.push("text that is no JSON".to_owned());
            }
            Err(_) => {}
        }
    } else if kind == "md" {
        markdown(&String::from_utf8_lossy(bytes), named);
    }
}

fn json(value: &Value, in_servers: bool, depth: usize, named: &mut Named) {
    match value {
        Value::Object(fields) if depth > 0 => {
            object(fields, in_servers, named);
            for (name, value) in fields {
                json(value, in_servers || SERVERS.contains(&name.as_str()), depth - 1, named);
            }
        }
        Value::Array(items) if depth > 0 => {
            items.iter().for_each(|item| json(item, in_servers, depth - 1, named));
        }
        Value::Object(_) | Value::Array(_) => named.unresolved.push("text that is too deep".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn object(fields: &Map<String, Value>, in_servers: bool, named: &mut Named) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let arguments = fields.get("args").and_then(Value::as_array);
        let words: Vec<&str> = arguments.into_iter().flatten().filter_map(Value::as_str).collect();
        if in_servers || arguments.is_some() {
            named.program(command, &words, text("cwd"));
        } else {
            named.line(command);
        }
    }
    for (name, value) in fields {
        match value {
            Value::String(line) if COMMANDS.iter().any(|end| name.ends_with(end)) => named.line(line),
            Value::Object(variables) if name == "env" => {
                for (name, value) in variables {
                    named.value(name, value.as_str().unwrap_or_default());
                }
            }
            // Where plugins come from.
            Value::Object(source) if name == "source" => {
                if let Some(folder) = source.get("path").and_then(Value::as_str) {
                    named.folder(folder);
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
    }
}

/// Hooks and servers in the head of the text, and lines that run when it is read.
fn markdown(text: &str, named: &mut Named) {
    let head = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
    if let Some((head, _)) = head {
        yaml(head, named);
    }
    let body = head.map_or(text, |(_, body)| body);
    for part in body.split("!`").skip(1) {
        named.line(part.split('`').next().unwrap_or_default());
    }
    for part in body.split("```!").skip(1) {
        named.line(part.split("```").next().unwrap_or_default());
    }
}

/// Enough of YAML for commands: a scalar on its line, or a block below it. Other words count if they name a file.
fn yaml(head: &str, named: &mut Named) {
    named.text(head);
    let lines: Vec<&str> = head.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.trim_start_matches([' ', '\t', '-', '{']).trim_matches(['"', '\'']) != "command" {
            continue;
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let value = value.trim();
        if value.is_empty() || value.starts_with(['|', '>']) {
            let block = lines[at + 1..].iter().take_while(|below| indent(below) > indent(line));
            named.line(&block.map(|line| line.trim()).collect::<Vec<_>>().join("\n"));
            continue;
        }
        match value.chars().next() {
            Some('"') => match serde_json::from_str::<String>(value) {
                Ok(text) => named.line(&text),
                Err(_) => named.unresolved.push(value.to_owned()),
            },
            Some('\'') => named.line(&value.trim_matches('\'').replace("''", "'")),
            Some(_) | None => named.line(value),
        }
    }
}
