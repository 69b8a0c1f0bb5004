//! Starts Claude Code.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdstead_protocol::{Capabilities, PermissionMode, SessionId};
use holdstead_protocol::{Meaning, Shell};

use super::conversation::Conversation;
use super::keeper::Keeper;
use super::kept::Kept;
use super::launch_files::{LaunchFiles, TOKEN_VARIABLE};
use super::other_hooks::other_hooks;
use super::policy;
use super::project::Remembered;
use super::terminal::{self, ClaudeTerminal};
use super::terms::Terms;
use crate::account::{Account, with_rights_of};
use crate::bash::bash;
use crate::boxes::Needs;
use crate::host::Host;
use crate::meaning;
use crate::private::{Private, is_in, real};
use crate::process::{self, Spawn};
use crate::regular::{self, Links, Regular};
use crate::{
    Agent, Driver, DriverCapabilities, FoundFiles, Introduced, Launch, Program, ProjectFiles, Reasks,
    ResumeAt, StartError, Terminal, ToolServer, TurnEnds,
};

const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";
const HINT: &str =
    "install it with `npm install -g @anthropic-ai/claude-code`, or say where it is in the settings";
/// How long the first rows of a conversation may take to be in its transcript.
const FIRST_ROWS: Duration = Duration::from_secs(1);
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
/// Those of them that lead to our own home. An agent with another account has a home of its own.
const OF_A_HOME: [&str; 4] =
    ["CLAUDE_CONFIG_DIR", "GOOGLE_APPLICATION_CREDENTIALS", "SHELL", "XDG_CONFIG_HOME"];
/// Set for agents that we host.
pub const HOSTED: &str = "HOLDSTEAD_HOSTED";
const NEEDED_PREFIXES: [&str; 3] = ["ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_"];

#[derive(Debug, Clone)]
pub struct ClaudeCodeDriver {
    host: Host,
    program: String,
    launches: PathBuf,
    conversations: PathBuf,
    remembered: Arc<Remembered>,
}

impl ClaudeCodeDriver {
    /// `program` is a name to be looked for, or a path. In `launches` a process finds what it is started with and others
    /// must not read: everything there may be deleted. In `conversations` are our copies of conversations.
    pub fn new(host: Host, program: String, launches: PathBuf, conversations: PathBuf) -> Self {
        let remembered = Arc::default();
        Self { host, program, launches: real(&launches), conversations, remembered }
    }

    fn copies(&self) -> Kept {
        Kept {
            copies: self.conversations.clone(),
            projects: self.user_folder().map(|folder| folder.join("projects")),
            private: self.host.private().to_vec(),
            account: self.host.account().cloned(),
        }
    }

    fn home(&self) -> Option<PathBuf> {
        match self.host.account() {
            Some(account) => Some(account.home().clone()),
            None => std::env::var_os("HOME").map(PathBuf::from),
        }
    }

    /// Where the program keeps what is its user's.
    fn user_folder(&self) -> Option<PathBuf> {
        match self.host.account() {
            Some(account) => Some(account.home().join(".claude")),
            None => user_folder(),
        }
    }

    fn terms(&self, launch: &Launch) -> Terms {
        let home = self.home();
        let tools = launch.tool_server.iter().flat_map(|server| &server.tools);
        Terms {
            own_tools: tools.map(|tool| policy::own_tool(tool)).collect(),
            private: Private::new(self.host.private(), &launch.cwd, home.as_deref()),
            plans: self.user_folder().map(|folder| folder.join("plans")),
            read: read_text,
            is_written,
            other_hooks: other_hooks(launch.project_files, &launch.cwd, self.user_folder().as_deref()),
            account: self.host.account().cloned(),
        }
    }
}

/// The shell that the program runs lines with: its user's, if that is bash or zsh; otherwise zsh before bash, as it finds
/// them.
fn shell(account: Option<&Account>) -> Shell {
    let set = |name: &str| std::env::var(name).ok().filter(|set| !set.is_empty());
    let usual =
        || account.map_or_else(|| set("SHELL"), |account| Some(account.shell().display().to_string()));
    let named = set("CLAUDE_CODE_SHELL").or_else(usual).unwrap_or_default();
    match Path::new(&named).file_name().and_then(|name| name.to_str()) {
        Some("bash") => bash(&named),
        Some("zsh") => Shell::Zsh,
        Some(_) | None if find("zsh").is_ok() => Shell::Zsh,
        Some(_) | None => bash("bash"),
    }
}

/// Where the program keeps what is its user's.
pub fn user_folder() -> Option<PathBuf> {
    let set = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|set| !set.is_empty());
    set.map(PathBuf::from).or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".claude")))
}

#[async_trait]
impl Driver for ClaudeCodeDriver {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn meaning(&self, tool: &str) -> Meaning<'static> {
        meaning::usual(tool, shell(self.host.account()))
    }

    fn built_in_rules(&self) -> &'static str {
        policy::BUILT_IN
    }

    fn program(&self) -> Option<Program> {
        Some(Program { product: "Claude Code", name: self.program.clone(), install: INSTALL })
    }

    fn is_private(&self, cwd: &Path) -> bool {
        self.host.is_private(cwd)
    }

    fn capabilities(&self) -> DriverCapabilities {
        DriverCapabilities {
            ask: Capabilities { reason: true, edit_input: true, scopes: true },
            parks: true,
            reasks: Reasks::Parked,
            ends: TurnEnds::Asked,
        }
    }

    fn project_files(&self, cwd: &Path) -> Option<FoundFiles> {
        self.remembered.found(cwd, self.user_folder().as_deref())
    }

    fn introduced(&self, said: &str) -> Option<Introduced> {
        terminal::introduced(said)
    }

    fn terminal(&self, launch: &Launch, in_turn: bool) -> Option<Box<dyn Terminal>> {
        Some(Box::new(ClaudeTerminal::new(self.terms(launch), in_turn)))
    }

    fn kept(&self) -> Vec<SessionId> {
        self.copies().sessions()
    }

    fn discard(&self, session: SessionId) -> std::io::Result<()> {
        self.copies().discard(session)
    }

    async fn start(&self, launch: Launch) -> Result<Agent, StartError> {
        // Its files may lie on a disk that is slow, or be what an agent put there: nothing else waits for them.
        let (driver, program) = (self.clone(), self.program_of(&launch));
        let prepared = tokio::task::spawn_blocking(move || driver.prepare(launch)).await;
        process::spawn(prepared.map_err(|failed| StartError::Io { program, source: failed.into() })??)
    }
}

impl ClaudeCodeDriver {
    fn program_of(&self, launch: &Launch) -> String {
        launch.program.clone().unwrap_or_else(|| self.program.clone())
    }

    /// Reads and writes files.
    fn prepare(&self, launch: Launch) -> Result<Spawn, StartError> {
        let program = self.program_of(&launch);
        let mut command = vec![find(&program)?];
        let terms = self.terms(&launch);
        let files = LaunchFiles::write(&self.launches, &launch, &terms.private, self.host.account())
            .map_err(|source| StartError::Io { program: program.clone(), source })?;
        command.extend(arguments(&launch, &files));
        if let Some(folder) = self.user_folder() {
            // Where it keeps its conversations. In some boxes it could not make it by itself, and would forget them.
            let made = with_rights_of(self.host.account(), || std::fs::create_dir_all(folder)).flatten();
            made.map_err(|source| StartError::Io { program: program.clone(), source })?;
        }
        let keeper = Keeper::begin(self.copies(), &launch)
            .map_err(|source| StartError::NotPutBack { program, source })?;
        let needs = Needs { read: vec![files.folder.0.clone()], ..Needs::default() };
        Ok(Spawn {
            hosted: self.host.command(&launch.life, command, &launch.cwd, &needs)?,
            env: environment(launch.tool_server.as_ref(), self.host.account()),
            cwd: launch.cwd,
            hint: HINT,
            wire: Box::new(Conversation::new(terms).kept_by(keeper)),
            files: Some(files.folder),
        })
    }
}

fn arguments(launch: &Launch, files: &LaunchFiles) -> Vec<String> {
    let mut words: Vec<String> = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"]
        .into_iter()
        .chain(["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"])
        // Servers come from our file alone: nobody else's can have our name.
        .chain(["--strict-mcp-config"])
        .map(str::to_owned)
        .collect();
    let mode = match launch.permission_mode {
        // Ours: the program asks as ever, and a rule answers. It works for root, too.
        PermissionMode::Default | PermissionMode::Auto => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
    };
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match launch.project_files {
        // Neither settings, hooks and rules of the folder, nor its servers, skills, commands, agents and styles.
        ProjectFiles::Closed => option("--setting-sources", "user".to_owned()),
        ProjectFiles::Trusted => option("--setting-sources", "user,project,local".to_owned()),
    }
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
    if let Some(turns) = launch.max_turns {
        option("--max-turns", turns.to_string());
    }
    // Everybody on the machine can read a command line: what may be secret is in files.
    let named = |file: &Path| file.display().to_string();
    option("--settings", named(&files.settings));
    option("--mcp-config", named(&files.servers));
    if let Some(prompt) = &files.prompt {
        option("--append-system-prompt-file", named(prompt));
    }
    words
}

/// Its own settings and keys, and nothing of ours but the token for our tools.
fn environment(server: Option<&ToolServer>, account: Option<&Account>) -> Vec<(String, String)> {
    let needed = |name: &str| {
        let known = NEEDED.contains(&name) || NEEDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        known && !(account.is_some() && OF_A_HOME.contains(&name))
    };
    let token = server.map(|server| (TOKEN_VARIABLE.to_owned(), server.token.clone()));
    // A person's own connection of their terminals must not take it for one.
    let hosted = (HOSTED.to_owned(), "1".to_owned());
    std::env::vars().filter(|(name, _)| needed(name)).chain(token).chain([hosted]).collect()
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

/// The program writes the first rows of a conversation a moment after it said them.
fn is_written(transcript: &str) -> bool {
    // Nothing of it is read.
    let there = || Regular::open(Path::new(transcript), Links::Refuse, |_| true).is_ok();
    let begin = Instant::now();
    while !there() {
        if begin.elapsed() > FIRST_ROWS {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A preview shows what the agent's account can read: the agent sees it, too.
fn read_text(path: &str, private: &[PathBuf], account: Option<&Account>) -> Option<String> {
    let may_be = |real: &Path| !is_in(private, real);
    let read = || regular::read(Path::new(path), Links::Follow, READABLE, may_be).ok();
    String::from_utf8(with_rights_of(account, read).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_shows_files_and_nothing_of_the_gateways_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "one\n").unwrap();
        assert_eq!(read_text(file.to_str().unwrap(), &[], None), Some("one\n".to_owned()));
        assert_eq!(read_text("/proc/self/environ", &[], None).unwrap_or_default(), "");
        assert_eq!(read_text("/nowhere", &[], None), None);
        let private = [folder.path().canonicalize().unwrap()];
        assert_eq!(read_text(file.to_str().unwrap(), &private, None), None, "a file of the gateway's own");
        // What an agent can put there instead.
        let at = |name: &str| folder.path().join(name).display().to_string();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        std::fs::File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
        for other in [at("pipe"), at("link"), at("huge"), at(""), "/dev/zero".to_owned()] {
            assert_eq!(read_text(&other, &[], None), None, "{other}");
        }
    }
}
