//! The real Claude Code, hosted by a real gateway, with a model that plays scripts.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdstead_protocol::api::{FolderFiles, Interaction, Session};
use holdstead_protocol::{AgentState, Event, EventBody, ResponseDraft, Trust};
use holdstead_scripted_model::{Model, Part, Script, Told, call};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::client::Client;
use crate::gateway_process::{AGENTS_USER, Environment, GatewayProcess};
use crate::{Result, ensure, processes};

const PATIENCE: Duration = Duration::from_secs(60);
/// A file in the folder of a session to which commands add lines.
pub(crate) const MARKS: &str = "marks.txt";
const LOOK: Duration = Duration::from_millis(25);

/// A gateway with nothing in its environment but what Claude Code needs to reach the scripted model.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) gateway: GatewayProcess,
    pub(crate) person: Client,
    home: TempDir,
    program: String,
    _temporary: Option<TempDir>,
}

/// Which box its agents shall have, and what the machine offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boxed {
    pub(crate) setting: &'static str,
    /// There is no bubblewrap and no Landlock.
    pub(crate) bare: bool,
}

/// A session whose model plays a script, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) session: String,
    pub(crate) folder: PathBuf,
}

impl Scene {
    /// What commands left in the folder of the session, a line for each time they ran.
    pub(crate) fn marks(&self) -> String {
        std::fs::read_to_string(self.folder.join(MARKS)).unwrap_or_default()
    }
}

/// A call of Bash that leaves a line in `marks.txt` and says so.
pub(crate) fn mark(name: &str) -> Value {
    json!({ "command": format!("echo {name} >> {MARKS} && echo {name} is done"), "description": "Leaves a mark" })
}

/// A call that asks one question, of which one answer is chosen.
pub(crate) fn question(question: &str, options: [&str; 2]) -> Part {
    let options = options.map(|label| json!({ "label": label, "description": "" }));
    let question =
        json!({ "question": question, "header": "Choice", "multiSelect": false, "options": options });
    call("AskUserQuestion", json!({ "questions": [question] }))
}

/// How many asks are in this journal.
pub(crate) fn asks(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count()
}

impl Stage {
    /// `hold` is how long an agent is kept waiting before it is parked.
    pub(crate) async fn new(hold: &str) -> Result<Self> {
        Self::reached_at(hold, "").await
    }

    /// The same, also reached under this name.
    pub(crate) async fn reached_at(hold: &str, name: &str) -> Result<Self> {
        let (program, model, home) = (claude()?, Model::start().await?, TempDir::new()?);
        let mut variables = variables(home.path(), &model, &program, hold)?;
        variables.push(("HOLDSTEAD_ALLOWED_HOSTS", name.to_owned()));
        variables.push(("TMPDIR", home.path().display().to_string()));
        let gateway = GatewayProcess::serve_in(Environment::Only(variables)).await?;
        let person = gateway.person()?;
        Ok(Self { model, gateway, person, home, program, _temporary: None })
    }

    /// As people have it: the gateway's folder is in the agent's own home, and temporary files are elsewhere.
    pub(crate) async fn boxed(hold: &str, boxed: Boxed) -> Result<Self> {
        let here = std::env::current_exe()?;
        let home = TempDir::new_in(here.parent().ok_or("this program is in no folder")?)?;
        Self::boxed_at(home, hold, boxed, Vec::new()).await
    }

    /// The same with this home, and with more settings.
    pub(crate) async fn boxed_at(
        home: TempDir,
        hold: &str,
        boxed: Boxed,
        more: Vec<(&'static str, String)>,
    ) -> Result<Self> {
        let (program, model) = (claude()?, Model::start().await?);
        let temporary = TempDir::new()?;
        let data = home.path().join(".local/share");
        std::fs::create_dir_all(&data)?;
        let mut variables = variables(home.path(), &model, &program, hold)?;
        variables.push(("TMPDIR", temporary.path().display().to_string()));
        variables.push(("HOLDSTEAD_AGENTS_BOX", boxed.setting.to_owned()));
        variables.extend(more);
        let environment = if boxed.bare {
            let programs = without_bubblewrap(temporary.path())?;
            variables.retain(|(name, _)| *name != "PATH");
            variables.push(("PATH", programs.display().to_string()));
            Environment::WithoutLandlock(variables)
        } else {
            Environment::Only(variables)
        };
        let gateway = GatewayProcess::serve_below(environment, &data).await?;
        let person = gateway.person()?;
        Ok(Self { model, gateway, person, home, program, _temporary: Some(temporary) })
    }

    /// The home of everything that this gateway starts: no other process has it.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// A folder for a project of this name.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.home().join("projects").join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Opens a session, and sends the message that makes its model play this script.
    pub(crate) async fn play(&self, name: &str, mode: &str, script: Script) -> Result<Scene> {
        self.play_in(name, mode, script, &self.folder(name)?).await
    }

    /// The same in this folder.
    pub(crate) async fn play_in(
        &self,
        name: &str,
        mode: &str,
        script: Script,
        folder: &Path,
    ) -> Result<Scene> {
        let open = json!({ "agent": "claude", "cwd": folder, "permissionMode": mode, "title": name });
        self.open(name, &open, script).await
    }

    /// The same with these settings.
    pub(crate) async fn open(&self, name: &str, open: &Value, script: Script) -> Result<Scene> {
        let session: Session = self.person.post("/v1/sessions", open).await?;
        let folder = PathBuf::from(session.cwd.unwrap_or_default());
        let scene = Scene { name: name.to_owned(), session: session.session_id.to_string(), folder };
        self.send(&scene, name, script).await?;
        Ok(scene)
    }

    /// Where Claude Code is.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Another message, with another script.
    pub(crate) async fn send(&self, scene: &Scene, name: &str, script: Script) -> Result<()> {
        self.model.script(name, script);
        self.person.say(&scene.session, &format!("Please go on.\nscript: {name}")).await
    }

    /// What the model was told in this conversation, without what the program adds on its own.
    pub(crate) fn told(&self, name: &str) -> Vec<Told> {
        let mut told = self.model.told(name);
        told.retain(|told| !matches!(told, Told::Reminder { .. }));
        told
    }

    /// Whether the gateway ended its process while it waits for an answer.
    pub(crate) async fn is_parked(&self, scene: &Scene) -> Result<bool> {
        let session: Session = self.person.get(&format!("/v1/sessions/{}", scene.session)).await?;
        Ok(session.state == AgentState::Parked)
    }

    /// Waits until the session is parked, and returns its open ask.
    pub(crate) async fn until_parked(&self, scene: &Scene) -> Result<Interaction> {
        let begin = Instant::now();
        while !self.is_parked(scene).await? {
            ensure!(begin.elapsed() < PATIENCE, "{} was not parked", scene.name);
            sleep(LOOK).await;
        }
        self.person.open_asks(&scene.session, 1).await?.pop().ok_or_else(|| "no ask is open".into())
    }

    /// Waits for the one open approval of the session, and answers it.
    pub(crate) async fn decide(&self, scene: &Scene, response: ResponseDraft) -> Result<Interaction> {
        let ask = self.person.open_ask(&scene.session, "approval").await?;
        self.person.win(&ask, response).await?;
        Ok(ask)
    }

    /// The same ask as it is now.
    pub(crate) async fn now(&self, ask: &Interaction) -> Result<Interaction> {
        self.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await
    }

    /// Trusts the files of this folder as they are.
    pub(crate) async fn trust(&self, agent: &str, folder: &Path) -> Result<Trust> {
        let path = format!("/v1/trusts/folder?agent={agent}&folder={}", folder.display());
        let files: FolderFiles = self.person.get(&path).await?;
        let body = json!({ "agent": agent, "folder": files.folder, "digest": files.digest });
        self.person.post("/v1/trusts", &body).await
    }

    /// `kill -9` of the gateway, and another one in its place.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.gateway.kill_now().await?;
        self.gateway.serve_again().await?;
        self.person.ready().await
    }

    /// How many processes the gateway has started.
    pub(crate) fn agents(&self) -> Result<usize> {
        let all = processes::with_home(self.home())?;
        Ok(all.iter().filter(|process| Some(process.pid) != self.gateway.pid()).count())
    }

    /// Ends the session, and with it its process.
    pub(crate) async fn end(&self, scene: &Scene) -> Result<()> {
        self.person.tell(Method::DELETE, &format!("/v1/sessions/{}", scene.session)).await
    }

    /// Waits for the end of the session's only turn, ends the session, and returns its journal.
    pub(crate) async fn finish(&self, scene: &Scene) -> Result<Vec<Event>> {
        let events = self.person.done(&scene.session).await?;
        self.end(scene).await?;
        Ok(events)
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.gateway.stop().await
    }
}

pub(crate) fn claude() -> Result<String> {
    let program = std::env::args().nth(2).ok_or("say where Claude Code is: `scripts/agents claude` knows")?;
    ensure!(Path::new(&program).is_file(), "there is no program {program}");
    Ok(program)
}

pub(crate) fn variables(
    home: &Path,
    model: &Model,
    program: &str,
    hold: &str,
) -> Result<Vec<(&'static str, String)>> {
    let mut variables = vec![
        ("HOME", home.display().to_string()),
        ("PATH", std::env::var("PATH")?),
        ("LANG", "C.UTF-8".to_owned()),
        ("SHELL", "/bin/bash".to_owned()),
        ("ANTHROPIC_BASE_URL", model.base_url()),
        ("ANTHROPIC_API_KEY", "sk-fake".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("HOLDSTEAD_AGENTS_CLAUDE_PROGRAM", program.to_owned()),
        ("HOLDSTEAD_HOLD_AFTER", hold.to_owned()),
    ];
    if processes::as_root() {
        variables.push((AGENTS_USER, "root".to_owned()));
    }
    Ok(variables)
}

/// A folder with every program of the PATH but bubblewrap.
fn without_bubblewrap(folder: &Path) -> Result<PathBuf> {
    let programs = folder.join("programs");
    std::fs::create_dir(&programs)?;
    for place in std::env::split_paths(&std::env::var("PATH")?) {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                // The first of a name is the one that is found.
                drop(std::os::unix::fs::symlink(entry.path(), programs.join(entry.file_name())));
            }
        }
    }
    Ok(programs)
}
