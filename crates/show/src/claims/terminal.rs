//! The real Claude Code at a real terminal: tmux types what a person would, and what they would not mean. The tests of the
//! `holdstead` crate type the rest at a pseudo-terminal.

mod scenes;
pub(crate) mod tmux;

use std::path::PathBuf;
use std::pin::Pin;

use holdstead_protocol::api::{Interaction, InteractionPage, SessionPage};
use holdstead_scripted_model::{Model, Script};
use serde_json::Value;
use tempfile::TempDir;

use self::tmux::Tmux;
use crate::Result;
use crate::claude;
use crate::client::Client;
use crate::gateway_process::{is_alive, program};
use crate::scenes::Scenes;

type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

/// A home in which nothing runs until a person starts it.
struct Place {
    model: Model,
    tmux: Tmux,
    home: TempDir,
}

impl Place {
    async fn new() -> Result<Self> {
        let (model, home) = (Model::start().await?, TempDir::new()?);
        let claude = claude::claude()?;
        let mut variables = claude::variables(home.path(), &model, &claude, "10m")?;
        variables.push(("TMPDIR", home.path().display().to_string()));
        variables.push(("HOLDSTEAD_LISTEN", "127.0.0.1:0".to_owned()));
        let tmux = Tmux::start(home.path(), variables)?;
        Ok(Self { model, tmux, home })
    }

    /// A folder to work in.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.home.path().join("projects").join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn data(&self, file: &str) -> PathBuf {
        self.home.path().join(".local/share/holdstead").join(file)
    }

    /// The model plays this where somebody says `script: NAME`.
    fn script(&self, name: &str, script: Script) {
        self.model.script(name, script);
    }

    /// `holdstead …` at a terminal of its own.
    fn holdstead(&self, terminal: &str, folder: &str, args: &[&str]) -> Result<()> {
        let program = program()?.display().to_string();
        self.tmux.open(terminal, &self.folder(folder)?, &[&[program.as_str()], args].concat())
    }

    /// Claude Code, with this for its first message.
    fn run_claude(&self, terminal: &str, folder: &str, script: &str) -> Result<()> {
        let message = format!("Please go on.\nscript: {script}");
        self.holdstead(terminal, folder, &["run", "claude", &message, "--no-open"])
    }

    /// Whoever runs the gateway, over its API.
    fn person(&self) -> Result<Client> {
        let running: Value = serde_json::from_slice(&std::fs::read(self.data("gateway.json"))?)?;
        let token = std::fs::read_to_string(self.home.path().join(".config/holdstead/token"))?;
        Client::new(running["url"].as_str().ok_or("the gateway wrote no address")?, token.trim())
    }

    async fn open(&self) -> Result<Vec<Interaction>> {
        let page: InteractionPage = self.person()?.get("/v1/interactions?state=open").await?;
        Ok(page.interactions)
    }

    /// Waits until so many are open.
    async fn opened(&self, count: usize) -> Result<Vec<Interaction>> {
        for _ in 0..600 {
            let open = self.open().await?;
            if open.len() == count {
                return Ok(open);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Err(format!("{} asks are open, not {count}", self.open().await?.len()).into())
    }

    /// The session that works in this folder.
    async fn session(&self, folder: &str) -> Result<String> {
        let page: SessionPage = self.person()?.get("/v1/sessions").await?;
        let found = page
            .sessions
            .iter()
            .find(|session| session.cwd.as_deref().is_some_and(|cwd| cwd.ends_with(folder)));
        Ok(found.ok_or("there is no such session")?.session_id.to_string())
    }
}

impl Drop for Place {
    /// A show that failed leaves no gateway in the background.
    fn drop(&mut self) {
        let holder = std::fs::read_to_string(self.data("gateway.lock")).unwrap_or_default();
        if let Ok(pid) = holder.trim().parse::<u32>()
            && is_alive(pid)
        {
            drop(std::process::Command::new("kill").arg(pid.to_string()).status());
        }
    }
}

pub(crate) async fn show() -> Result<String> {
    let place = Place::new().await?;
    let mut scenes = Scenes::new();
    let played: Vec<(&str, Played<'_>)> = vec![
        ("`run`: Enter, other words and pasted text approve nothing", Box::pin(scenes::accidents(&place))),
        ("`run`: a marked command wants its word", Box::pin(scenes::marked(&place))),
        ("`run`: a question is answered by its number", Box::pin(scenes::numbered(&place))),
        ("`run`: Esc stops the turn, and the agent takes a next message", Box::pin(scenes::escaped(&place))),
        ("`inbox --watch`: nothing is approved by accident", Box::pin(scenes::watched_accidents(&place))),
        ("`inbox --watch`: approve, deny, a marked and long command", Box::pin(scenes::watched(&place))),
        ("`stop` ends the gateway, and the ask stays open", Box::pin(scenes::stopped(&place))),
        ("`answer` after a kill says what the agent is told", Box::pin(scenes::killed(&place))),
    ];
    for (name, scene) in played {
        // Each goes on where the one before it ended.
        if !scenes.add(name, scene.await) {
            break;
        }
    }
    let count = scenes.end()?;
    Ok(format!("{count} of {count} hold at a real terminal"))
}
