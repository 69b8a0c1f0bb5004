//! A gateway as a process of its own: started by its binary, ended by its id.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use holdstead_client::{Http, requests_to};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::client::Client;
pub(crate) use crate::processes::is_alive;
use crate::waiting::until;
use crate::{Result, ensure, processes};

/// How long the process may take to say where it listens, and to go.
const PATIENCE: Duration = Duration::from_secs(30);
const LOG: &str = "log.txt";
/// How many of its lines are shown where something failed.
const LOG_END: usize = 20;

#[derive(Debug)]
pub(crate) struct GatewayProcess {
    program: PathBuf,
    /// Gone when it was stopped.
    child: Option<Child>,
    lines: mpsc::UnboundedReceiver<Value>,
    folder: TempDir,
    store: Option<String>,
    environment: Environment,
    pub(crate) url: String,
    /// The first line of its output.
    pub(crate) started: Value,
}

/// What the process finds in its environment.
#[derive(Debug, Clone)]
pub(crate) enum Environment {
    /// That of the show.
    Ours,
    /// The same, and these settings.
    With(Vec<(&'static str, String)>),
    /// These variables and no other: agents get nothing that a developer has set.
    Only(Vec<(&'static str, String)>),
    /// These variables and no other, on a kernel that knows nothing of Landlock.
    WithoutLandlock(Vec<(&'static str, String)>),
    /// That of the show, and no more than so many open files.
    WithFiles(u32),
}

/// What a new token is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenFor<'a> {
    Person,
    Viewer,
    /// An agent, and the session it asks in.
    Agent(&'a str),
    /// An agent that we do not host.
    Guest,
    /// A machine that runs agents.
    Runner,
    /// A program that reads metrics.
    Metrics,
}

impl GatewayProcess {
    /// `holdstead serve` on a free port. Without a store it has a file in its own folder.
    pub(crate) async fn serve(store: Option<&str>) -> Result<Self> {
        Self::start("serve", &[], store, Environment::Ours).await
    }

    /// Another one on the same store, in a folder of its own with the same key.
    pub(crate) async fn beside(&self) -> Result<Self> {
        self.beside_in(self.store.as_deref(), self.environment.clone()).await
    }

    /// The same, by another way to the store and in another environment.
    pub(crate) async fn beside_in(&self, store: Option<&str>, environment: Environment) -> Result<Self> {
        let folder = TempDir::new()?;
        std::fs::copy(self.folder().join("secrets.key"), folder.path().join("secrets.key"))?;
        Self::start_in(folder, "serve", &[], store, environment).await
    }

    /// The same, in this environment.
    pub(crate) async fn serve_on(store: &str, environment: Environment) -> Result<Self> {
        Self::start("serve", &[], Some(store), environment).await
    }

    /// The same, with a log of this level.
    pub(crate) async fn serve_logging(store: &str, level: &str) -> Result<Self> {
        Self::start("serve", &[], Some(store), Environment::With(vec![("HOLDSTEAD_LOG", level.to_owned())]))
            .await
    }

    /// `holdstead serve` on a free port, with a file in its own folder.
    pub(crate) async fn serve_in(environment: Environment) -> Result<Self> {
        Self::start("serve", &[], None, environment).await
    }

    /// The same in a folder of its own below this one.
    pub(crate) async fn serve_below(environment: Environment, parent: &Path) -> Result<Self> {
        Self::start_in(TempDir::new_in(parent)?, "serve", &[], None, environment).await
    }

    /// The same in this folder, with what lies there.
    pub(crate) async fn serve_from(
        folder: TempDir,
        store: Option<&str>,
        environment: Environment,
    ) -> Result<Self> {
        Self::start_in(folder, "serve", &[], store, environment).await
    }

    /// `holdstead demo` on a free port.
    pub(crate) async fn demo() -> Result<Self> {
        Self::start("demo", &["--no-open"], None, Environment::Ours).await
    }

    async fn start(verb: &str, more: &[&str], store: Option<&str>, environment: Environment) -> Result<Self> {
        Self::start_in(TempDir::new()?, verb, more, store, environment).await
    }

    async fn start_in(
        folder: TempDir,
        verb: &str,
        more: &[&str],
        store: Option<&str>,
        environment: Environment,
    ) -> Result<Self> {
        let (program, listen) = (program()?, "127.0.0.1:0");
        let (child, lines, started) =
            spawn(&program, verb, more, store, folder.path(), listen, &environment).await?;
        let url = started["url"].as_str().ok_or("the first line has no url")?.to_owned();
        let store = store.map(str::to_owned);
        Ok(Self { program, child: Some(child), lines, folder, store, environment, url, started })
    }

    /// Its number. Nothing, when it was stopped.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    /// What it has in memory, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        processes::memory(self.pid().ok_or("the gateway is gone")?)
    }

    /// Whether its account may read whatever it likes.
    pub(crate) fn runs_as_root(&self) -> Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        Ok(std::fs::metadata(self.folder())?.uid() == 0)
    }

    /// `kill -9`; returns when it is gone.
    pub(crate) async fn kill_now(&mut self) -> Result<()> {
        match self.child.take() {
            Some(mut child) => Ok(child.kill().await?),
            None => Err("the gateway is gone already".into()),
        }
    }

    /// `holdstead serve` again: in the same folder, on the same store, at the same address.
    pub(crate) async fn serve_again(&mut self) -> Result<()> {
        let listen = self.url.trim_start_matches("http://");
        let (store, folder) = (self.store.as_deref(), self.folder.path());
        let (child, lines, started) =
            spawn(&self.program, "serve", &[], store, folder, listen, &self.environment).await?;
        (self.child, self.lines, self.started) = (Some(child), lines, started);
        Ok(())
    }

    /// What serves again after this is another version.
    pub(crate) fn replace(&mut self, program: PathBuf) {
        self.program = program;
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines of its log, over all its lives.
    pub(crate) fn log_end(&self) -> String {
        log_end(self.folder())
    }

    /// The person whose gateway it is.
    pub(crate) fn person(&self) -> Result<Client> {
        Client::new(&self.url, &self.own_token()?)
    }

    /// The same person, by the client library.
    pub(crate) fn http(&self) -> Result<Http> {
        Ok(Http::new(self.url.clone(), self.own_token()?))
    }

    /// What is said there, to the person whose gateway it is.
    pub(crate) async fn text(&self, path: &str) -> Result<String> {
        let http = requests_to(&self.url).build()?;
        let request = http.get(format!("{}{path}", self.url)).bearer_auth(self.own_token()?);
        Ok(request.send().await?.error_for_status()?.text().await?)
    }

    /// The token of this machine's own person, who is an admin.
    pub(crate) fn own_token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder().join("token"))?.trim().to_owned())
    }

    /// Makes a token with the binary, as an administrator does.
    pub(crate) async fn token(&self, name: &str, whose: TokenFor<'_>) -> Result<String> {
        let mut command = Command::new(program()?);
        command.arg("token").arg("--dir").arg(self.folder()).args(["--name", name, "--role"]);
        match whose {
            TokenFor::Person => command.arg("person"),
            TokenFor::Viewer => command.arg("viewer"),
            TokenFor::Guest => command.arg("agent"),
            TokenFor::Runner => command.arg("runner"),
            TokenFor::Metrics => command.arg("metrics"),
            TokenFor::Agent(session) => command.args(["agent", "--session", session]),
        };
        if let Some(store) = &self.store {
            command.args(["--store", store]);
        }
        let output = command.stdin(Stdio::null()).output().await?;
        let words = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`holdstead token` failed: {words}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// What `holdstead doctor` finds here.
    pub(crate) async fn doctor(&self) -> Result<Vec<Value>> {
        let mut command = command(&self.program, &self.environment, self.folder())?;
        command.arg("doctor").arg("--dir").arg(self.folder()).arg("--json").stdin(Stdio::null());
        Ok(serde_json::from_slice(&command.output().await?.stdout)?)
    }

    /// A command of the binary, in the environment that this gateway has.
    pub(crate) fn command_here(&self, verb: &str) -> Result<Command> {
        let mut command = command(&self.program, &self.environment, self.folder())?;
        command.arg(verb);
        Ok(command)
    }

    /// Runs the binary in this gateway's folder, as somebody at a terminal does.
    pub(crate) async fn holdstead(&self, args: &[&str]) -> Result<std::process::Output> {
        let mut command = Command::new(program()?);
        command.args(args).arg("--dir").arg(self.folder()).env_remove("HOLDSTEAD_TOKEN");
        Ok(command.stdin(Stdio::null()).output().await?)
    }

    /// The next line of its output that has this field.
    pub(crate) async fn line_with(&mut self, field: &str) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(Some(line)) = tokio::time::timeout_at(deadline, self.lines.recv()).await {
            if line.get(field).is_some() {
                return Ok(line);
            }
        }
        Err(format!("no line with `{field}` came: {}", log_end(self.folder())).into())
    }

    /// Asks it to go, and waits until it is gone.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.stop_for_now().await
    }

    /// The same, until it serves again.
    pub(crate) async fn stop_for_now(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        if let Some(pid) = child.id() {
            signal("-TERM", pid)?;
        }
        match timeout(PATIENCE, child.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => {
                child.kill().await?;
                let log = log_end(self.folder());
                Err(format!("the gateway did not go when it was asked to: {log}").into())
            }
        }
    }
}

impl Drop for GatewayProcess {
    /// On the way out of a show that failed. Asked to go, a supervisor takes its gateway with it.
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let Some(pid) = child.id() else { return };
        if signal("-TERM", pid).is_err() {
            return;
        }
        for _ in 0..100 {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Starts the binary, and waits for the first line of its output.
async fn spawn(
    program: &Path,
    verb: &str,
    more: &[&str],
    store: Option<&str>,
    folder: &Path,
    listen: &str,
    environment: &Environment,
) -> Result<(Child, mpsc::UnboundedReceiver<Value>, Value)> {
    let mut command = command(program, environment, folder)?;
    command.arg(verb).arg("--dir").arg(folder).args(["--listen", listen, "--json"]).args(more);
    if let Some(store) = store {
        command.args(["--store", store]);
    }
    let log = File::options().create(true).append(true).open(folder.join(LOG))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
    let mut child = command.spawn()?;
    let (sender, mut lines) = mpsc::unbounded_channel();
    let stdout = child.stdout.take().ok_or("the gateway has no output")?;
    tokio::spawn(forward(stdout, sender));
    let Ok(Some(started)) = timeout(PATIENCE, lines.recv()).await else {
        return Err(format!("`holdstead {verb}` did not start: {}", log_end(folder)).into());
    };
    Ok((child, lines, started))
}

/// The variable of the account that agents run as.
pub(crate) const AGENTS_USER: &str = "HOLDSTEAD_AGENTS_USER";

/// The binary in its environment. Where the show runs as root, so do agents, if the environment does not say otherwise.
fn command(program: &Path, environment: &Environment, folder: &Path) -> Result<Command> {
    let mut command = command_in(program, environment, folder)?;
    let said = |variables: &[(&str, String)]| variables.iter().any(|(name, _)| *name == AGENTS_USER);
    let says_so = match environment {
        Environment::Ours | Environment::WithFiles(_) => false,
        Environment::With(variables)
        | Environment::Only(variables)
        | Environment::WithoutLandlock(variables) => said(variables),
    };
    if processes::as_root() && !says_so {
        command.env(AGENTS_USER, "root");
    }
    Ok(command)
}

fn command_in(program: &Path, environment: &Environment, folder: &Path) -> Result<Command> {
    let through_shell = |script: String| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(program);
        shell
    };
    Ok(match environment {
        Environment::Ours => Command::new(program),
        Environment::With(settings) => {
            let mut command = Command::new(program);
            command.envs(settings.iter().map(|(name, value)| (name, value)));
            command
        }
        Environment::Only(variables) => {
            let mut command = Command::new(program);
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
            command
        }
        Environment::WithoutLandlock(variables) => {
            let filter = folder.join("filter");
            std::fs::write(&filter, without_landlock())?;
            let bubblewrap = "/usr/bin/bwrap --die-with-parent --dev-bind / / --seccomp 3";
            let filter = filter.display();
            let mut command = through_shell(format!("exec {bubblewrap} \"$0\" \"$@\" 3< '{filter}'"));
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
            command
        }
        Environment::WithFiles(files) => through_shell(format!("ulimit -n {files} && exec \"$0\" \"$@\"")),
    })
}

/// A filter for system calls: to make a Landlock ruleset is unknown, everything else is as ever.
fn without_landlock() -> Vec<u8> {
    const CREATE_RULESET: u32 = 444;
    const UNKNOWN: u32 = 0x0005_0000 | 38;
    const ALLOW: u32 = 0x7fff_0000;
    // Load the number of the call; compare it; if it is another one, skip a step.
    let steps: [(u16, u8, u8, u32); 4] =
        [(0x20, 0, 0, 0), (0x15, 0, 1, CREATE_RULESET), (0x06, 0, 0, UNKNOWN), (0x06, 0, 0, ALLOW)];
    let bytes = |(code, then, otherwise, value): (u16, u8, u8, u32)| {
        [&code.to_ne_bytes()[..], &[then, otherwise], &value.to_ne_bytes()].concat()
    };
    steps.into_iter().flat_map(bytes).collect()
}

/// Kills the process, and waits until it is gone.
pub(crate) async fn kill(pid: u32) -> Result<()> {
    signal("-KILL", pid)?;
    until(&format!("process {pid} is gone"), async || Ok((!is_alive(pid)).then_some(()))).await
}

pub(crate) fn signal(name: &str, pid: u32) -> Result<()> {
    processes::signal(name, &[pid])
}

/// The `holdstead` that was built with this program.
pub(crate) fn program() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("holdstead");
    ensure!(path.exists(), "{} is not there: run `cargo build --release -p holdstead`", path.display());
    Ok(path)
}

async fn forward(stdout: ChildStdout, lines: mpsc::UnboundedSender<Value>) {
    let mut stdout = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = stdout.next_line().await {
        // Whoever read them may be gone; the pipe is emptied all the same.
        if let Ok(value) = serde_json::from_str(&line) {
            let _nobody = lines.send(value);
        }
    }
}

fn log_end(folder: &Path) -> String {
    let log = std::fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_END)..].join("\n")
}
