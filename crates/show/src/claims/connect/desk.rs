//! A person's home with one of the programs in a terminal, connected to a gateway.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holdstead_protocol::api::{Decision, DecisionPage, Interaction, SessionPage};
use holdstead_protocol::{AskState, Delivery, InTerminal, KnownBy, Settlement, TerminalAnswer};
use holdstead_scripted_model::{Model, Script};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use super::kind::Kind;
use crate::claims::terminal::tmux::Tmux;
use crate::claude;
use crate::client::Client;
use crate::gateway_process::{Environment, GatewayProcess, program, signal};
use crate::processes::with_home;
use crate::{Result, ensure};

const LOOK: Duration = Duration::from_millis(20);
/// How often it looks before it gives up: 40 s.
const LOOKS: u32 = 2_000;
/// How long what a record says may come after the card is closed: 2 s.
const CLOSED_LOOKS: u32 = 100;
/// The program takes letters and a following Enter for something pasted if they come at once.
const TYPED: Duration = Duration::from_millis(300);

/// What a person needs to read a dialog.
const REST: Duration = Duration::from_millis(900);

/// `holdstead answer …` while it runs.
pub(super) struct Answering(Child);

impl Answering {
    /// Its exit code, and what it said.
    pub(super) fn ends(self) -> Result<(Option<i32>, String)> {
        let output = self.0.wait_with_output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&said).into_owned()))
    }
}

pub(super) struct Desk {
    pub(super) kind: Kind,
    pub(super) model: Model,
    pub(super) gateway: GatewayProcess,
    pub(super) person: Client,
    pub(super) tmux: Tmux,
    home: TempDir,
    variables: Vec<(&'static str, String)>,
    program: String,
    settings: Option<Vec<u8>>,
    terminals: u32,
    /// How many there were, in all terminals.
    conversations: usize,
    /// Turns of this one.
    turns: usize,
    scripts: u32,
}

impl Desk {
    pub(super) async fn new(kind: Kind, program: String) -> Result<Self> {
        let (model, home) = (Model::start().await?, TempDir::new()?);
        let mut variables = claude::variables(home.path(), &model, &program, "10m")?;
        variables.push(("TMPDIR", home.path().display().to_string()));
        variables.push(("TERM", "xterm-256color".to_owned()));
        variables.extend(kind.variables());
        std::fs::create_dir_all(home.path().join("project"))?;
        kind.prepare(home.path(), &model.base_url())?;
        let settings = kind.settings(home.path()).map(std::fs::read).transpose()?;
        let gateway = GatewayProcess::serve_in(Environment::Only(variables.clone())).await?;
        let person = gateway.person()?;
        let tmux = Tmux::start(home.path(), variables.clone())?;
        let mut desk = Self {
            kind,
            model,
            gateway,
            person,
            tmux,
            home,
            variables,
            program,
            settings,
            terminals: 0,
            conversations: 0,
            turns: 0,
            scripts: 0,
        };
        desk.holdstead(&["connect", kind.name(), "--yes"])?;
        desk.begin_again().await?;
        Ok(desk)
    }

    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        self.variables.clone()
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.project().join(file).exists()
    }

    pub(super) fn lines_in(&self, file: &str) -> usize {
        std::fs::read_to_string(self.project().join(file)).map_or(0, |text| text.lines().count())
    }

    /// Waits until this file is there.
    pub(super) async fn appears(&self, file: &str) -> Result<()> {
        for _ in 0..LOOKS {
            if self.has(file) {
                return Ok(());
            }
            sleep(LOOK).await;
        }
        Err(format!("{file} never came").into())
    }

    /// Fails unless the command that writes a line to this file ran once.
    pub(super) fn ran_once(&self, file: &str) -> Result<()> {
        let ran = self.lines_in(file);
        ensure!(ran == 1, "it ran {ran} times");
        Ok(())
    }

    /// `holdstead …`, as a person types it.
    pub(super) fn holdstead(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(program()?);
        command.args(args).arg("--dir").arg(self.gateway.folder());
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output()?;
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        ensure!(output.status.success(), "holdstead {args:?}: {}", words(&output.stderr));
        Ok(words(&output.stdout))
    }

    /// The same, with its exit code, whatever it is.
    pub(super) fn tries(&self, args: &[&str]) -> Result<(Option<i32>, String)> {
        self.answering(args)?.ends()
    }

    /// The same, without waiting for its end.
    pub(super) fn answering(&self, args: &[&str]) -> Result<Answering> {
        let mut command = Command::new(program()?);
        command.args(args).arg("--dir").arg(self.gateway.folder());
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(Answering(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// What the history says of an ask that is over.
    pub(super) async fn decided(&self, ask: &Interaction) -> Result<Decision> {
        let page: DecisionPage = self.person.get("/v1/decisions?limit=20").await?;
        let id = ask.request.interaction_id;
        let found = page.decisions.into_iter().find(|decision| decision.interaction_id == id);
        found.ok_or_else(|| format!("the history does not have {id}").into())
    }

    pub(super) fn terminal(&self) -> String {
        format!("{}{}", self.kind.name(), self.terminals)
    }

    /// The program in a new terminal, ready to be written to.
    pub(super) async fn begin_again(&mut self) -> Result<()> {
        if self.terminals > 0 {
            // It may be gone.
            drop(self.tmux.close(&self.terminal()));
        }
        self.terminals += 1;
        self.begins_another();
        let name = self.terminal();
        self.tmux.open(&name, &self.project(), &[self.program.clone().as_str()])?;
        self.tmux.shows(&name, self.kind.ready()).await?;
        match self.kind {
            Kind::Claude => self.session().await.map(drop),
            // They appear with their first message.
            Kind::Codex | Kind::Opencode => Ok(()),
        }
    }

    /// The same terminal has another conversation from now on.
    pub(super) fn begins_another(&mut self) {
        self.conversations += 1;
        self.turns = 0;
    }

    pub(super) fn key(&self, key: &str) -> Result<()> {
        self.tmux.key(&self.terminal(), key)
    }

    pub(super) async fn types(&self, text: &str) -> Result<()> {
        self.tmux.letters(&self.terminal(), text)?;
        sleep(TYPED).await;
        Ok(())
    }

    /// The program takes no key for an answer right after its dialog appeared.
    pub(super) async fn rests(&self) {
        sleep(REST).await;
    }

    /// Goes through the program's modes until it shows this one.
    pub(super) async fn turns_to(&self, mode: &str) -> Result<()> {
        for _ in 0..8 {
            if self.tmux.screen(&self.terminal())?.contains(mode) {
                return Ok(());
            }
            self.key("BTab")?;
            self.rests().await;
        }
        Err(format!("it has no {mode}").into())
    }

    /// One of a dialog's choices.
    pub(super) async fn chooses(&self, choice: &str) -> Result<()> {
        self.rests().await;
        self.types(choice).await
    }

    /// A yes in the dialog that asks about a command.
    pub(super) async fn says_yes(&self) -> Result<()> {
        self.rests().await;
        self.key(self.kind.yes())
    }

    /// Waits until it asks in its terminal.
    pub(super) async fn asks(&self) -> Result<()> {
        self.shows(self.kind.dialog()).await.map(drop)
    }

    /// Waits until these words are on its screen.
    pub(super) async fn shows(&self, words: &str) -> Result<String> {
        self.tmux.shows(&self.terminal(), words).await
    }

    /// A person writes what makes the model play this.
    pub(super) async fn plays(&mut self, script: Script) -> Result<String> {
        self.scripts += 1;
        let name = format!("scene{}", self.scripts);
        self.model.script(&name, script);
        self.begins_turn();
        let line = format!("script: {name}");
        // The letter of an answer that came too late stands where messages are written.
        self.key("BSpace")?;
        // Right after a dialog was closed, keys may be lost.
        for _ in 0..3 {
            self.types(&line).await?;
            for _ in 0..250 {
                if self.tmux.screen(&self.terminal())?.contains(&line) {
                    self.key("Enter")?;
                    return Ok(name);
                }
                sleep(LOOK).await;
            }
        }
        Err(format!("`{line}` could not be typed").into())
    }

    /// The newest session: that of the terminal.
    pub(super) async fn session(&self) -> Result<String> {
        for _ in 0..LOOKS {
            let page: SessionPage = self.person.get("/v1/sessions").await?;
            let mut ours: Vec<_> = page.sessions.iter().filter(|session| session.in_terminal).collect();
            ours.sort_by_key(|session| session.opened_at);
            if let Some(session) = ours.get(self.conversations - 1) {
                return Ok(session.session_id.to_string());
            }
            sleep(LOOK).await;
        }
        Err("its session did not appear".into())
    }

    /// The session, as it is listed.
    pub(super) async fn view(&self) -> Result<Value> {
        self.person.get(&format!("/v1/sessions/{}", self.session().await?)).await
    }

    /// Waits for the one card.
    pub(super) async fn card(&self, kind: &str) -> Result<Interaction> {
        self.person.open_ask(&self.session().await?, kind).await
    }

    /// The model wants to run a command that adds a line to this file: the terminal and the card ask about it.
    pub(super) async fn touches(&mut self, file: &str) -> Result<Interaction> {
        self.runs(&format!("echo once >> {file}")).await
    }

    /// The same with this command.
    pub(super) async fn runs(&mut self, command: &str) -> Result<Interaction> {
        self.plays(self.kind.runs(command)).await?;
        self.asks().await?;
        self.card("approval").await
    }

    /// It was decided on the card, and the program's own record says that this counted.
    pub(super) async fn counted(&self, ask: &Interaction, settlement: Settlement) -> Result<()> {
        let over = self.over(ask).await?;
        ensure!(has_counted(&over, settlement), "the receipt is {:?}, {:?}", over.state, over.delivery);
        self.idle().await
    }

    /// The card was withdrawn because of this answer in the terminal. Says how that is known.
    pub(super) async fn closed(&self, ask: &Interaction, answer: TerminalAnswer) -> Result<KnownBy> {
        self.over(ask).await?;
        self.idle().await?;
        // Its record may have said more since.
        let path = format!("/v1/interactions/{}", ask.request.interaction_id);
        let mut last = None;
        for _ in 0..CLOSED_LOOKS {
            let over: Interaction = self.person.get(&path).await?;
            if let (AskState::Closed { .. }, Some(InTerminal { answer: said, known_by })) =
                (&over.state, over.in_terminal)
                && said == answer
            {
                return Ok(known_by);
            }
            last = Some((over.state, over.in_terminal));
            sleep(LOOK).await;
        }
        Err(format!("the card says {last:?}").into())
    }

    /// Waits until nothing more is to come of an ask.
    pub(super) async fn over(&self, ask: &Interaction) -> Result<Interaction> {
        let id = ask.request.interaction_id;
        let path = format!("/v1/interactions/{id}");
        for _ in 0..LOOKS {
            let ask: Interaction = self.person.get(&path).await?;
            let over = match &ask.state {
                AskState::Closed { .. } => true,
                AskState::Settled { .. } => ask.delivery.as_ref().is_some_and(Delivery::is_final),
                AskState::Open | AskState::Submitted { .. } | AskState::Queued => false,
            };
            if over {
                return Ok(ask);
            }
            sleep(LOOK).await;
        }
        Err(format!("nothing came of {id}").into())
    }

    /// Waits until these words were sent to the model.
    pub(super) async fn model_reads(&self, words: &str) -> Result<()> {
        for _ in 0..LOOKS {
            if self.model.bodies().iter().any(|body| body.to_string().contains(words)) {
                return Ok(());
            }
            sleep(LOOK).await;
        }
        Err(format!("the model was not told `{words}`").into())
    }

    /// One more turn of this conversation begins.
    pub(super) fn begins_turn(&mut self) {
        self.turns += 1;
    }

    /// Waits until all turns of this conversation are over.
    pub(super) async fn idle(&self) -> Result<()> {
        self.person.turns(&self.session().await?, self.turns).await.map(drop)
    }

    pub(super) fn disconnect(&mut self) -> Result<String> {
        drop(self.tmux.close(&self.terminal()));
        self.holdstead(&["disconnect", self.kind.name()])?;
        let settings = self.kind.settings(self.home.path()).map(std::fs::read).transpose()?;
        ensure!(settings == self.settings, "its settings are {:?}", settings.map(String::from_utf8));
        ensure!(!self.kind.plugin(self.home.path()).exists(), "its plugin is still there");
        Ok("its settings are the same bytes as before".to_owned())
    }

    pub(super) async fn stop(mut self) -> Result<()> {
        self.tmux.end();
        self.gateway.stop_for_now().await
    }
}

pub(super) fn has_counted(ask: &Interaction, settlement: Settlement) -> bool {
    ask.state == AskState::Settled { settlement } && ask.delivery == Some(Delivery::Acknowledged)
}

pub(super) fn too_late(ask: &Interaction, answer: TerminalAnswer) -> bool {
    matches!(&ask.delivery, Some(Delivery::Undeliverable { in_terminal: Some(how), .. }) if how.answer == answer)
}

impl Drop for Desk {
    /// Also what a program leaves running when its terminal closes.
    fn drop(&mut self) {
        for process in with_home(self.home.path()).unwrap_or_default() {
            // It may be gone.
            drop(signal("-KILL", process.pid));
        }
    }
}
