//! `claude -p`, connected and not connected in turns, in every state of the gateway: the same output, in the same time.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use holdstead_protocol::api::SessionPage;
use holdstead_scripted_model::{Script, say};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::desk::Desk;
use super::kind::Kind;
use crate::gateway_process::signal;
use crate::{Result, ensure};

/// What a connection may cost a run, in milliseconds: the median of all pairs in one state of the gateway.
const LIMIT: f64 = 200.0;
/// A run takes about a second.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many pairs of each form there are in each state.
const ROUNDS: usize = 2;

/// How it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Tool,
    DeniedTool,
    Pipe,
    /// Without a terminal, in another folder, with next to nothing in the environment.
    Cron,
}

const FORMS: [Form; 5] = [Form::Plain, Form::Tool, Form::DeniedTool, Form::Pipe, Form::Cron];

/// What a run printed and left behind, how it ended, and how long it took in milliseconds.
struct Run {
    seen: (String, Option<i32>, usize),
    took: f64,
}

pub(super) async fn as_unconnected(desk: &mut Desk) -> Result<String> {
    let unconnected = TempDir::new()?;
    std::fs::create_dir_all(unconnected.path().join("project"))?;
    Kind::Claude.prepare(unconnected.path(), &desk.model.base_url())?;
    desk.model.script("plain", Script::new().reply([say("Good morning.")]));
    desk.model.script("tool", Kind::Claude.runs("echo once >> printed.txt && echo is made"));
    let before = sessions(desk).await?;
    let mut costs = vec![pairs(desk, unconnected.path(), "up").await?];
    let pid = desk.gateway.pid().ok_or("no gateway runs")?;
    signal("-STOP", pid)?;
    let stopped = pairs(desk, unconnected.path(), "stopped").await;
    signal("-CONT", pid)?;
    costs.push(stopped?);
    ensure!(sessions(desk).await? == before, "an unattended run became a session");
    desk.gateway.stop_for_now().await?;
    costs.push(pairs(desk, unconnected.path(), "down").await?);
    // It accepts and never answers.
    let socket = desk.gateway.folder().join("hooks.sock");
    std::fs::write(socket.with_extension("secret"), format!("{:064}\n", 0))?;
    let hung = UnixListener::bind(&socket)?;
    costs.push(pairs(desk, unconnected.path(), "hung").await?);
    drop(hung);
    std::fs::remove_file(&socket)?;
    std::fs::remove_file(socket.with_extension("secret"))?;
    desk.gateway.serve_again().await?;
    desk.person.ready().await?;
    desk.begin_again().await?;
    Ok(format!("{} forms, the median cost of a connection: {}", FORMS.len(), costs.join(", ")))
}

async fn sessions(desk: &Desk) -> Result<usize> {
    Ok(desk.person.get::<SessionPage>("/v1/sessions").await?.sessions.len())
}

/// Runs each form in both homes, and compares them.
async fn pairs(desk: &Desk, unconnected: &Path, state: &str) -> Result<String> {
    let mut costs = Vec::new();
    for form in FORMS.repeat(ROUNDS) {
        let plain = run(desk, form, unconnected).await?;
        let connected = run(desk, form, desk.home()).await?;
        ensure!(
            plain.seen == connected.seen,
            "with the gateway {state}, {form:?}: {:?}, unconnected: {:?}",
            connected.seen,
            plain.seen
        );
        costs.push(connected.took - plain.took);
    }
    costs.sort_by(f64::total_cmp);
    let median = costs[costs.len() / 2];
    let words = format!("{median:.0} ms {state}");
    ensure!(median <= LIMIT, "{words} (limit {LIMIT} ms), of {costs:.0?}");
    Ok(words)
}

async fn run(desk: &Desk, form: Form, home: &Path) -> Result<Run> {
    let project = home.join("project");
    let made = project.join("printed.txt");
    let script = match form {
        Form::Plain | Form::Pipe | Form::Cron => "plain",
        Form::Tool | Form::DeniedTool => "tool",
    };
    let prompt = format!("script: {script}");
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(desk.program()).arg("-p").env_clear().envs(variables(desk, form, home));
    command.current_dir(if form == Form::Cron { home.to_owned() } else { project });
    match form {
        Form::Tool => command.args([&prompt, "--allowedTools", "Bash"]),
        Form::Plain | Form::DeniedTool | Form::Cron => command.arg(&prompt),
        Form::Pipe => &mut command,
    };
    let input = if form == Form::Pipe { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let begin = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(prompt.as_bytes()).await?;
    }
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    let took = begin.elapsed().as_secs_f64() * 1000.0;
    let output = output.map_err(|_| format!("{form:?} in {} hangs", home.display()))??;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).replace(&home.display().to_string(), "HOME");
    let lines = std::fs::read_to_string(&made).map_or(0, |text| text.lines().count());
    ensure!(lines == usize::from(form == Form::Tool), "{form:?} left {lines} lines: {printed}");
    if lines > 0 {
        std::fs::remove_file(made)?;
    }
    Ok(Run { seen: (printed, output.status.code(), lines), took })
}

fn variables(desk: &Desk, form: Form, home: &Path) -> Vec<(&'static str, String)> {
    let needed = |name: &str| name.starts_with("ANTHROPIC_") || ["HOME", "PATH"].contains(&name);
    let mut variables = desk.variables();
    variables.retain(|(name, _)| form != Form::Cron || needed(name));
    for (name, value) in &mut variables {
        if *name == "HOME" {
            *value = PathBuf::from(home).display().to_string();
        }
    }
    variables
}
