//! Where things lie on this machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use holdstead_gateway::SecretsKey;
use holdstead_store::{AuditKey, NodeId, Notary, owners_alone};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::stop_report::StopReport;

/// The two folders: what a person writes, and what the gateway writes.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    config: PathBuf,
    data: PathBuf,
}

/// Where a running gateway says how it is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) pid: u32,
    /// The journal it uses, as its address: a password may stand in it, so the file is its owner's alone.
    #[serde(default)]
    pub(crate) store: Option<String>,
}

/// What a process that hosts agents has for itself, and others must not read.
#[derive(Debug)]
pub(crate) struct AgentFolders {
    /// What agents' processes are started with.
    pub(crate) launches: PathBuf,
    /// Our copies of agents' conversations.
    pub(crate) conversations: PathBuf,
}

impl Places {
    /// One folder for both, or those of this desktop.
    pub(crate) fn new(dir: Option<&Path>) -> Result<Self, Failure> {
        if let Some(dir) = dir {
            return Ok(Self { config: dir.to_owned(), data: dir.to_owned() });
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let place = |variable: &str, below: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| Some(home.as_ref()?.join(below))).map(|path| path.join("holdstead"))
        };
        let config = place("XDG_CONFIG_HOME", ".config");
        let data = place("XDG_DATA_HOME", ".local/share");
        match (config, data) {
            (Some(config), Some(data)) => Ok(Self { config, data }),
            _ => {
                Err(Failure::Usage("There is no home folder. Say where to keep things: --dir DIR".to_owned()))
            }
        }
    }

    pub(crate) fn make(&self) -> Result<(), Failure> {
        for dir in [&self.config, &self.data] {
            std::fs::create_dir_all(dir).and_then(|()| set_mode(dir, 0o700)).map_err(|source| {
                Failure::Io { what: format!("make the folder {}", dir.display()), source }
            })?;
        }
        Ok(())
    }

    /// What the gateway writes, and no agent in a box can reach.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// What a gateway in the background has to say.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.data.join("gateway.log")
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The organisation's rules.
    pub(crate) fn rules_file(&self) -> PathBuf {
        self.config.join("rules")
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.config.join("token")
    }

    pub(crate) fn database(&self) -> String {
        format!("sqlite:{}", self.data.join("holdstead.db").display())
    }

    /// Where the scripted agent keeps its conversations.
    pub(crate) fn scripted_state(&self) -> PathBuf {
        self.data.join("scripted")
    }

    /// For the gateway of this folder.
    pub(crate) fn gateway_folders(&self) -> AgentFolders {
        AgentFolders { launches: self.data.join("launches"), conversations: self.data.join("conversations") }
    }

    /// For the runner of this folder: a gateway may run here as well.
    pub(crate) fn runner_folders(&self) -> AgentFolders {
        AgentFolders {
            launches: self.data.join("runner-launches"),
            conversations: self.data.join("runner-conversations"),
        }
    }

    /// Where the terminal reaches the gateway of this folder.
    pub(crate) fn gateway_socket(&self) -> PathBuf {
        self.data.join("gateway.sock")
    }

    /// Where a person can forward the socket of a gateway on another machine to.
    pub(crate) fn forwarded_socket(&self) -> PathBuf {
        self.data.join("elsewhere.sock")
    }

    /// Where hooks of programs in people's own terminals come.
    pub(crate) fn hooks_socket(&self) -> PathBuf {
        self.data.join("hooks.sock")
    }

    /// What Claude Code is connected by.
    pub(crate) fn claude_plugin(&self) -> PathBuf {
        self.data.join("claude-plugin")
    }

    /// That Codex is connected, and where its daemon listens.
    pub(crate) fn codex_connected(&self) -> PathBuf {
        self.data.join("codex.connected")
    }

    /// Claude Code's settings as they were before that.
    pub(crate) fn claude_settings_before(&self) -> PathBuf {
        self.data.join("claude-settings.before")
    }

    pub(crate) fn write_claude_settings_before(&self, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.claude_settings_before();
        let written =
            owners_alone().create(true).truncate(true).open(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
    }

    /// The folder that somebody named for everything.
    pub(crate) fn in_one_folder(&self) -> Option<&Path> {
        (self.config == self.data).then_some(&self.data)
    }

    /// Where sessions go that ended long ago.
    pub(crate) fn offloaded(&self) -> PathBuf {
        self.data.join("offloaded")
    }

    /// What no agent may read or change: tokens, keys, settings, the journal, and what went from it.
    pub(crate) fn private(&self, store: &str, offloaded: Option<PathBuf>) -> Vec<PathBuf> {
        let mut private = vec![self.config.clone(), self.data.clone()];
        private.extend(offloaded);
        // SQLite's other files begin with the same name; those of its folder that are not its own are left alone.
        if let Some(file) =
            crate::store::file(store).filter(|file| !file.is_empty() && !file.starts_with(':'))
        {
            private.extend(["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{file}{end}"))));
        }
        private.dedup();
        private
    }

    /// What a journal that is restored needs besides itself, as far as it is there.
    pub(crate) fn beside_the_journal(&self) -> Vec<PathBuf> {
        let all = [
            self.secrets_key_file(),
            self.audit_key_file(),
            self.marked_file(),
            self.checkpoints_file(),
            self.config_file(),
            self.rules_file(),
        ];
        all.into_iter().filter(|path| path.exists()).collect()
    }

    /// What was signed, beside the database and not in it.
    pub(crate) fn checkpoints_file(&self) -> PathBuf {
        self.data.join("checkpoints.log")
    }

    fn audit_key_file(&self) -> PathBuf {
        self.config.join("audit.key")
    }

    /// The key that signs, if this machine has one.
    pub(crate) fn audit_key(&self) -> Result<Option<AuditKey>, Failure> {
        let path = self.audit_key_file();
        match std::fs::read_to_string(&path) {
            Ok(text) => AuditKey::from_secret_text(&text)
                .map(Some)
                .map_err(|error| Failure::Config(format!("{}: {error}", path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Failure::Io { what: format!("read {}", path.display()), source }),
        }
    }

    /// Signs with this machine's key, which is made if there is none.
    pub(crate) fn notary(&self) -> Result<Notary, Failure> {
        let path = self.audit_key_file();
        let io = |source| Failure::Io { what: format!("write the key to {}", path.display()), source };
        let key = match self.audit_key()? {
            Some(key) => key,
            None => {
                let key = AuditKey::generate();
                // Never over another one: what it signed could not be checked any more.
                let mut file = owners_alone().create_new(true).open(&path).map_err(io)?;
                writeln!(file, "{}", key.to_secret_text()).map_err(io)?;
                key
            }
        };
        Ok(Notary::new(key, self.checkpoints_file()))
    }

    /// What secret answers are sealed with: this machine's key, which is made if there is none.
    pub(crate) fn secrets_key(&self) -> Result<SecretsKey, Failure> {
        let path = self.secrets_key_file();
        let io =
            |source| Failure::Io { what: format!("read or write the key in {}", path.display()), source };
        match std::fs::read_to_string(&path) {
            Ok(text) => SecretsKey::from_secret_text(&text)
                .map_err(|error| Failure::Config(format!("{}: {error}", path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let key = SecretsKey::generate();
                let mut file = owners_alone().create_new(true).open(&path).map_err(io)?;
                writeln!(file, "{}", key.to_secret_text()).map_err(io)?;
                Ok(key)
            }
            Err(source) => Err(io(source)),
        }
    }

    /// Which node this folder's gateway is among several on one database.
    pub(crate) fn node(&self) -> Result<NodeId, Failure> {
        let path = self.data.join("node.id");
        let io = |source| Failure::Io { what: format!("read or write {}", path.display()), source };
        match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| {
                Failure::Config(format!("{} has no id of a node in it: remove the file", path.display()))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let node = NodeId::generate();
                let mut file = owners_alone().create_new(true).open(&path).map_err(io)?;
                writeln!(file, "{node}").map_err(io)?;
                Ok(node)
            }
            Err(source) => Err(io(source)),
        }
    }

    pub(crate) fn secrets_key_file(&self) -> PathBuf {
        self.config.join("secrets.key")
    }

    /// Set once the rows that let somebody in were marked with the key of this folder.
    fn marked_file(&self) -> PathBuf {
        self.config.join("row-macs.enabled")
    }

    pub(crate) fn rows_are_marked(&self) -> bool {
        self.marked_file().exists()
    }

    pub(crate) fn write_rows_are_marked(&self) -> Result<(), Failure> {
        let path = self.marked_file();
        let words = "Rows of people and devices carry a mark by secrets.key. Without this file, those without one would be \
                     taken over.";
        write_private(&path, words)
            .map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.data.join("gateway.lock")
    }

    /// Whether a gateway runs here at this moment.
    pub(crate) fn is_locked(&self) -> bool {
        is_held(&self.lock_file())
    }

    /// The process that holds the lock, while one does.
    pub(crate) fn lock_holder(&self) -> Option<u32> {
        let holder = std::fs::read_to_string(self.lock_file()).ok().filter(|_| self.is_locked())?;
        holder.trim().parse().ok()
    }

    /// Held by the runner of this folder.
    pub(crate) fn runner_lock_file(&self) -> PathBuf {
        self.data.join("runner.lock")
    }

    fn runner_name_file(&self) -> PathBuf {
        self.data.join("runner-name")
    }

    /// What the gateway calls the runner of this folder, while one runs.
    pub(crate) fn runner_name(&self) -> Option<String> {
        read_secret(&self.runner_name_file()).filter(|_| is_held(&self.runner_lock_file()))
    }

    pub(crate) fn write_runner_name(&self, name: &str) -> Result<(), Failure> {
        let path = self.runner_name_file();
        write_private(&path, name)
            .map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
    }

    fn running_file(&self) -> PathBuf {
        self.data.join("gateway.json")
    }

    pub(crate) fn read_token(&self) -> Option<String> {
        read_secret(&self.token_file())?.lines().next().map(|line| line.trim().to_owned())
    }

    /// The gateway that the token is for, if its file names one in its second line. Otherwise it is that of this folder.
    pub(crate) fn token_for(&self) -> Option<String> {
        let file = read_secret(&self.token_file())?;
        let url = file.lines().nth(1).map(|line| line.trim().trim_end_matches('/').to_owned());
        url.filter(|url| !url.is_empty())
    }

    fn mcp_token_file(&self) -> PathBuf {
        self.config.join("mcp-token")
    }

    /// The token with which agents that we do not host ask.
    pub(crate) fn read_mcp_token(&self) -> Option<String> {
        read_secret(&self.mcp_token_file())
    }

    /// Readable by its owner only, from the first byte.
    pub(crate) fn write_token(&self, token: &str) -> Result<(), Failure> {
        write_secret(&self.token_file(), token)
    }

    pub(crate) fn write_mcp_token(&self, token: &str) -> Result<(), Failure> {
        write_secret(&self.mcp_token_file(), token)
    }

    /// What this person was shown, for short ids to mean just that.
    fn listed_file(&self) -> PathBuf {
        self.data.join("listed.json")
    }

    pub(crate) fn read_listed(&self) -> Option<Vec<u8>> {
        std::fs::read(self.listed_file()).ok()
    }

    pub(crate) fn write_listed(&self, text: &str) -> Result<(), Failure> {
        self.make()?;
        write_at_once(&self.listed_file(), text)
    }

    fn stop_report_file(&self) -> PathBuf {
        self.data.join("stopped.json")
    }

    pub(crate) fn write_stop_report(&self, report: &StopReport) -> Result<(), Failure> {
        let text = serde_json::to_string(report).map_err(|error| Failure::Strange(error.to_string()))?;
        write_at_once(&self.stop_report_file(), &text)
    }

    /// What this process said of its agents when it stopped. It is printed once.
    pub(crate) fn take_stop_report(&self, pid: u32) -> Option<StopReport> {
        let report: StopReport =
            serde_json::from_slice(&std::fs::read(self.stop_report_file()).ok()?).ok()?;
        if report.pid != pid {
            return None;
        }
        self.forget_stop_report();
        Some(report)
    }

    /// A process that has the same number as an earlier one says nothing in its place.
    pub(crate) fn forget_stop_report(&self) {
        // Usually there is none.
        drop(std::fs::remove_file(self.stop_report_file()));
    }

    /// The gateway that runs now: a process has its lock.
    pub(crate) fn running_now(&self) -> Option<Running> {
        self.running().filter(|_| self.is_locked())
    }

    /// The last one.
    pub(crate) fn running(&self) -> Option<Running> {
        serde_json::from_slice(&std::fs::read(self.running_file()).ok()?).ok()
    }

    pub(crate) fn write_running(&self, running: &Running) -> Result<(), Failure> {
        let path = self.running_file();
        let text = serde_json::to_string(running).map_err(|error| Failure::Strange(error.to_string()))?;
        write_private(&path, &text)
            .map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
    }
}

/// Whether a process has this lock at this moment.
fn is_held(lock: &Path) -> bool {
    let file = std::fs::File::open(lock);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}

fn read_secret(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let token = text.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

fn write_secret(path: &Path, token: &str) -> Result<(), Failure> {
    write_private(path, token)
        .map_err(|source| Failure::Io { what: format!("write the token to {}", path.display()), source })
}

/// A process that reads it meanwhile has the old text or the new one.
fn write_at_once(path: &Path, text: &str) -> Result<(), Failure> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    write_private(&new, text)
        .and_then(|()| std::fs::rename(&new, path))
        .map_err(|source| Failure::Io { what: format!("write {}", path.display()), source })
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = owners_alone().create(true).truncate(true).open(path)?;
    set_mode(path, 0o600)?;
    writeln!(file, "{text}")
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}

/// Whether others on this machine could read the token.
#[cfg(unix)]
pub(crate) fn readable_by_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn readable_by_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}
