//! Starts Claude Code.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use holdstead_protocol::{Capabilities, PermissionMode};
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::policy;
use crate::host::Host;
use crate::process::{self, Spawn};
use crate::{Agent, Driver, DriverCapabilities, Launch, Reasks, ResumeAt, StartError, ToolServer};

const HINT: &str =
    "install it with `npm install -g @anthropic-ai/claude-code`, or say where it is in the settings";
/// The longest file whose change is shown as a diff.
const READABLE: u64 = 1024 * 1024;
/// What it may need of our environment to reach its model.
const NEEDED: [&str; 12] = [
    "CLAUDE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "SHELL",
    "AWS_PROFILE",
    "AWS_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "XDG_CONFIG_HOME",
];
/// Where it finds the token for our tools.
const TOKEN_VARIABLE: &str = "HOLDSTEAD_AGENT_TOKEN";
const NEEDED_PREFIXES: [&str; 3] = ["ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_"];

#[derive(Debug, Clone)]
pub struct ClaudeCodeDriver {
    host: Host,
    program: String,
}

impl ClaudeCodeDriver {
    /// `program` is a name to be looked for, or a path.
    pub fn new(host: Host, program: String) -> Self {
        Self { host, program }
    }
}

#[async_trait]
impl Driver for ClaudeCodeDriver {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self) -> DriverCapabilities {
        DriverCapabilities {
            ask: Capabilities { reason: true, edit_input: true, scopes: true },
            parks: true,
            reasks: Reasks::Parked,
        }
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        let program = launch.program.clone().unwrap_or_else(|| self.program.clone());
        let mut command = vec![find(&program)?];
        command.extend(arguments(&launch));
        let env = environment(launch.tool_server.as_ref());
        let conversation = Conversation::new(launch.permission_mode, launch.allowed_tools, read_text);
        let conversation =
            if launch.tool_server.is_some() { conversation.with_own_tools() } else { conversation };
        process::spawn(Spawn {
            command: self.host.command(&launch.life, command),
            cwd: launch.cwd,
            env,
            hint: HINT,
            wire: Box::new(conversation),
        })
    }
}

fn arguments(launch: &Launch) -> Vec<String> {
    let mut words: Vec<String> = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"]
        .into_iter()
        .chain(["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"])
        .map(str::to_owned)
        .collect();
    let mode = match launch.permission_mode {
        // Ours: the program asks as ever, and a rule answers. It works for root, too.
        PermissionMode::Default | PermissionMode::Auto => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
    };
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--permission-mode", mode.to_owned());
    if let Some(resume) = &launch.resume {
        // With no message it goes on at the call that it was parked at; with one, it begins a new turn.
        match resume.at {
            ResumeAt::OpenAsks | ResumeAt::NextMessage => option("--resume", resume.agent_ref.clone()),
        }
    }
    if let Some(model) = &launch.model {
        option("--model", model.clone());
    }
    if let Some(prompt) = &launch.system_prompt {
        option("--append-system-prompt", prompt.clone());
    }
    if let Some(turns) = launch.max_turns {
        option("--max-turns", turns.to_string());
    }
    let servers = mcp_servers(launch);
    if !servers.is_empty() {
        option("--mcp-config", json!({"mcpServers": servers}).to_string());
    }
    words
}

/// Those of its session, and ours. Everybody on the machine can read a command line, so the token is not in it: the
/// program puts the variable's value in its place.
fn mcp_servers(launch: &Launch) -> Map<String, Value> {
    let mut servers = launch.mcp_servers.clone();
    if let Some(server) = &launch.tool_server {
        let token = format!("Bearer ${{{TOKEN_VARIABLE}}}");
        let ours = json!({"type": "http", "url": server.url, "headers": {"Authorization": token}});
        servers.insert(policy::OWN_SERVER.to_owned(), ours);
    }
    servers
}

/// Its own settings and keys, and nothing of ours but the token for our tools.
fn environment(server: Option<&ToolServer>) -> Vec<(String, String)> {
    let needed =
        |name: &str| NEEDED.contains(&name) || NEEDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let token = server.map(|server| (TOKEN_VARIABLE.to_owned(), server.token.clone()));
    std::env::vars().filter(|(name, _)| needed(name)).chain(token).collect()
}

/// The host starts it, and could only say that it failed: so it is looked for here.
fn find(program: &str) -> Result<String, StartError> {
    let is_file = |path: &Path| path.is_file();
    let found = if program.contains(std::path::MAIN_SEPARATOR) {
        std::path::absolute(program).ok().filter(|path| is_file(path))
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(program))
            .find(|path: &PathBuf| is_file(path))
    };
    found
        .map(|path| path.to_string_lossy().into_owned())
        .ok_or_else(|| StartError::NotFound { program: program.to_owned(), hint: HINT })
}

fn read_text(path: &str) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    if !file.is_file() || file.len() > READABLE {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
